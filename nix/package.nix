# The programs, their manual pages, and the units of ../units with the store's paths in them.
{
  lib,
  callPackage,
  coreutils,
  installShellFiles,
  python3Packages,
  systemd,
}:

let
  claude-agent-sdk = callPackage ./claude-agent-sdk.nix { };
  written = builtins.match ".*__version__ = \"([^\"]+)\".*" (builtins.readFile ../culture/__init__.py);
in
python3Packages.buildPythonApplication {
  pname = "culture";
  version = lib.head written;
  pyproject = true;

  # Only what the build reads: an edit of a test or a page builds nothing again.
  src = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.unions [
      ../LICENSE
      ../README.md
      ../culture
      ../docs/man
      ../etc/motd
      ../pyproject.toml
      ../skel
      ../units
    ];
  };

  build-system = [ python3Packages.hatchling ];
  nativeBuildInputs = [
    installShellFiles
    python3Packages.docutils
  ];
  dependencies = [
    claude-agent-sdk
    python3Packages.aiohttp
    python3Packages.cryptography
    python3Packages.jinja2
    python3Packages.pyjwt
    python3Packages.pyyaml
    python3Packages.sdnotify
    # Older releases of nixpkgs have it by its shorter name.
    (python3Packages.systemd-python or python3Packages.systemd)
    python3Packages.uvloop
    python3Packages.wsproto
  ];
  pythonImportsCheck = [ "culture" ];

  postPatch = ''
    substituteInPlace culture/agent/backend/environment.py --replace-fail /usr/lib/culture/bin "$out/lib/culture/bin"
  '';

  postInstall = ''
    install -D -m 0644 -t "$out/lib/systemd/system" units/*.{service,slice,socket,target,timer}
    sed -i -E \
      -e "s,^(Exec[A-Za-z]+=[-+]*)/usr/bin/systemd-,\1${systemd}/bin/systemd-," \
      -e "s,^(Exec[A-Za-z]+=[-+]*)/usr/bin/,\1$out/bin/," \
      -e "s, /usr/bin/systemctl , ${systemd}/bin/systemctl ," \
      -e "s,^(Exec[A-Za-z]+=)/bin/kill ,\1${coreutils}/bin/kill ," \
      "$out"/lib/systemd/system/*
    install -D -m 0644 etc/motd "$out/share/culture/motd"
    install -D -m 0644 units/culture.tmpfiles "$out/lib/tmpfiles.d/culture.conf"
    for page in docs/man/*.rst; do
      name=$(basename "$page" .rst)
      rst2man "$page" "$name"
      installManPage "$name"
    done
  '';

  # As on Debian, only agents have irc on their PATH. What it wraps stays where the wrapper looks for it.
  postFixup = ''
    mkdir -p "$out/lib/culture/bin"
    mv "$out/bin/irc" "$out/lib/culture/bin/irc"
  '';

  meta = {
    description = "People and AI coding agents on one IRC network, on your own Linux hosts";
    license = lib.licenses.mit;
    mainProgram = "culturectl";
    platforms = lib.platforms.linux;
  };
}
