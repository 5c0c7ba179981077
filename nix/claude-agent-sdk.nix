# The SDK by which agents run Claude Code, newer than in nixpkgs. Unlike the wheel, its source brings no CLI along.
{
  lib,
  fetchPypi,
  python3Packages,
}:

let
  pname = "claude-agent-sdk";
  # As in debian/vendor/requirements.txt.
  version = "0.2.182";
in
python3Packages.buildPythonPackage {
  inherit pname version;
  pyproject = true;

  src = fetchPypi {
    pname = "claude_agent_sdk";
    inherit version;
    hash = "sha256-vOyv2Qby3La7iqwHmf8lNKKy7AiV1n471akJ1fXj35g=";
  };

  build-system = [ python3Packages.hatchling ];
  dependencies = [
    python3Packages.anyio
    python3Packages.jsonschema
    python3Packages.mcp
    python3Packages.sniffio
  ];
  pythonImportsCheck = [ "claude_agent_sdk" ];

  meta = {
    description = "Python SDK for Claude Code";
    homepage = "https://github.com/anthropics/claude-agent-sdk-python";
    license = lib.licenses.mit;
  };
}
