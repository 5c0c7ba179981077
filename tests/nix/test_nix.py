"""The package and the NixOS module, against a nixpkgs of our own that refuses what it does not know."""

import base64
import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from culture.config import loader
from culture.config.agents import AgentConfig, AgentsConfig
from culture.config.bridge import BridgeClient, BridgeConfig
from culture.config.ircd import IrcdConfig

ROOT = Path(__file__).resolve().parents[2]
NIX = ROOT / "nix"
UNITS = ROOT / "units"

pytestmark = pytest.mark.skipif(
    shutil.which("nix-instantiate") is None, reason="nix-instantiate is not on PATH: apt install nix-bin"
)


def nix(*arguments: str) -> "subprocess.CompletedProcess[str]":
    # The dummy store keeps nothing: neither a store nor a database is made on this machine.
    command = ["nix-instantiate", "--store", "dummy://", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def evaluated(expression: str) -> Any:
    stub = f"let nixpkgs = import {ROOT}/tests/nix/nixpkgs.nix; in "
    done = nix("--eval", "--strict", "--json", "--expr", stub + expression)
    if done.returncode:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def host(culture: str) -> Any:
    """What NixOS is told by a host with this `services.culture`; of the files in /etc, their text."""
    return evaluated(
        f"let made = nixpkgs.evaluate {NIX}/module.nix {culture}; in made // {{ etc = "
        "builtins.mapAttrs (name: file: file.source.text or file.source) (made.environment.etc or { }); "
        "scripts = map (each: each.script or null) (made.systemd.packages or [ ]); }"
    )


def package(attribute: str) -> Any:
    return evaluated(f"(nixpkgs.pkgs.callPackage {NIX}/package.nix {{ }}).{attribute}")


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNITS / name)
    return parser


SPARK = """{
  enable = true;
  ircd.settings = { name = "spark"; limits.targets = 4; };
  agents.settings = {
    server.name = "spark";
    agents = [ { nick = "spark-claude"; channels = [ "#ops" ]; } { nick = "spark-ramona"; } ];
  };
  agents.environment.ANTHROPIC_BASE_URL = "http://127.0.0.1:8645";
  agents.path = [ nixpkgs.pkgs.git ];
  bridge.settings.clients = [ { name = "laptop"; nick = "spark-ori-laptop"; subject = "ori"; } ];
}"""


@pytest.mark.parametrize(
    "path", [*sorted(NIX.glob("*.nix")), ROOT / "tests/nix/nixpkgs.nix"], ids=lambda p: p.name
)
def test_every_file_parses(path: Path):
    done = nix("--parse", str(path))
    assert done.returncode == 0, done.stderr


# ---- the module ------------------------------------------------------------------------------------------


def test_a_host_that_does_not_enable_it_is_told_nothing():
    assert host("{ }") == {"etc": {}, "scripts": []}


def test_the_settings_become_files_that_the_programs_accept():
    etc = host(SPARK)["etc"]
    ircd = loader.parse(etc["culture/ircd.yaml"], IrcdConfig, where="ircd.yaml")
    agents = loader.parse(etc["culture/agents.yaml"], AgentsConfig, where="agents.yaml")
    bridge = loader.parse(etc["culture/bridge.yaml"], BridgeConfig, where="bridge.yaml")
    assert bridge.clients == (BridgeClient("laptop", "spark-ori-laptop", subject="ori"),)
    assert (ircd.name, ircd.limits.targets) == ("spark", 4)
    assert agents.server.name == "spark"
    assert agents.agents == (
        AgentConfig(nick="spark-claude", channels=("#ops",)),
        AgentConfig(nick="spark-ramona"),
    )


def test_without_settings_everything_is_at_its_default():
    etc = host("{ enable = true; }")["etc"]
    assert loader.parse(etc["culture/ircd.yaml"], IrcdConfig, where="ircd.yaml") == IrcdConfig()
    assert loader.parse(etc["culture/agents.yaml"], AgentsConfig, where="agents.yaml") == AgentsConfig()
    assert loader.parse(etc["culture/bridge.yaml"], BridgeConfig, where="bridge.yaml") == BridgeConfig()


def test_there_is_a_bridge_only_with_settings_for_it():
    assert host(SPARK)["systemd"]["sockets"]["culture-bridge"]["wantedBy"] == ["sockets.target"]
    assert host("{ enable = true; }")["systemd"]["sockets"]["culture-bridge"]["wantedBy"] == []


def test_every_agent_in_the_settings_is_started():
    wants = host(SPARK)["systemd"]["targets"]["culture-agents"]["wants"]
    assert wants == ["culture-agent@spark-claude.service", "culture-agent@spark-ramona.service"]
    assert host("{ enable = true; }")["systemd"]["targets"]["culture-agents"]["wants"] == []


def test_units_are_those_of_the_package_and_are_wanted_by_what_their_install_section_says():
    systemd = host(SPARK)["systemd"]
    assert systemd["packages"][:1] == systemd["tmpfiles"]["packages"]
    assert systemd["packages"][:1] == host(SPARK)["environment"]["systemPackages"]
    enabled = {
        f"{name}.{kind}": settings["wantedBy"]
        for kind in ("service", "socket", "target")
        for name, settings in systemd[f"{kind}s"].items()
        if "wantedBy" in settings
    }
    assert enabled == {name: unit(name)["Install"]["WantedBy"].split() for name in enabled}
    assert enabled.keys() == {
        "culture.target", "culture-agents.target", "culture-ircd.service", "culture-ircd.socket",
        "culture-ledger.service", "culture-ledger.socket", "culture-bridge.socket",
    }  # fmt: skip


def test_every_unit_that_it_adds_to_is_one_of_ours():
    systemd = host(SPARK)["systemd"]
    for kind in ("service", "socket", "target"):
        for name in systemd[f"{kind}s"]:
            assert (UNITS / f"{name}.{kind}").is_file()


BOUNDED = """{
  enable = true;
  agents.settings.agents = [ { nick = "spark-claude"; memory_max = "4G"; } { nick = "spark-ramona"; } ];
}"""


@pytest.mark.parametrize(
    ("settings", "drop_ins"),
    [(BOUNDED, ["culture-agent@spark-claude.service.d"]), ("{ enable = true; }", [])],
)
def test_each_agent_has_the_drop_ins_that_culturectl_makes(
    tmp_path: Path, settings: str, drop_ins: list[str]
):
    told = host(settings)
    (tmp_path / "agents.yaml").write_text(told["etc"]["culture/agents.yaml"])
    culturectl = tmp_path / "culturectl"
    culturectl.write_text(f'#!/bin/sh\nexec {sys.executable} -m culture.ctl.main "$@"\n')
    culturectl.chmod(0o755)
    script = re.sub(r"/nix/store/culture-\S+/bin/culturectl", str(culturectl), told["scripts"][1])
    script = script.replace("/nix/store/agents.yaml", str(tmp_path / "agents.yaml"))

    env = {**os.environ, "out": str(tmp_path / "out")}
    subprocess.run(["bash", "-eu", "-c", script], env=env, stdout=subprocess.DEVNULL, check=True)

    # systemd.packages takes what is below etc/systemd/system, too.
    made = {path.parent.name for path in (tmp_path / "out/etc/systemd/system").glob("*/*.conf")}
    assert made == set(drop_ins)


def test_agents_have_their_variables_and_tools():
    agent = host(SPARK)["systemd"]["services"]["culture-agent@"]
    assert agent["environment"] == {"ANTHROPIC_BASE_URL": "http://127.0.0.1:8645"}
    assert agent["path"] == ["/nix/store/bash", "/nix/store/git"]


def test_a_changed_file_restarts_who_reads_it_and_leaves_the_sockets_open():
    services = host(SPARK)["systemd"]["services"]
    for name, file in [
        ("culture-ircd", "ircd.yaml"),
        ("culture-agent@", "agents.yaml"),
        ("culture-bridge", "bridge.yaml"),
    ]:
        assert services[name]["restartTriggers"] == [f"/nix/store/{file}"]
        assert services[name]["stopIfChanged"] is False
        assert f"/etc/culture/{file}" in unit(f"{name}.service")["Service"]["ExecStart"]


def test_the_users_are_those_of_the_other_distributions():
    users = host(SPARK)["users"]
    lines = [
        shlex.split(line, comments=True) for line in (UNITS / "culture.sysusers").read_text().splitlines()
    ]
    # And those that each agent's own unit makes.
    for nick in ("spark-claude", "spark-ramona"):
        command = unit("culture-agent-user@.service")["Service"]["ExecStart"].replace("%i", nick)
        lines += [shlex.split(rule) for rule in shlex.split(command)[2:]]
    made = {name: (words, home) for kind, name, _, words, home in (line for line in lines if len(line) == 5)}
    members = {(name, group) for kind, name, group in (line for line in lines if len(line) == 3)}
    assert {name: (user["description"], user["home"]) for name, user in users["users"].items()} == made
    assert {
        (name, group) for name, user in users["users"].items() for group in user.get("extraGroups", [])
    } == members
    for user in users["users"].values():
        assert user["isSystemUser"]
        assert user["group"] in users["groups"]


@pytest.mark.parametrize(
    ("culture", "refusal"),
    [
        ("{ enabled = true; }", "services.culture: unknown enabled"),
        ("{ enable = 1; }", "services.culture.enable: expected true or false"),
        (
            '{ enable = true; agents.path = [ "git" ]; }',
            "services.culture.agents.path[0]: expected a package",
        ),
        (
            "{ enable = true; agents.environment.DEBUG = 1; }",
            "services.culture.agents.environment.DEBUG: expected text",
        ),
        ("{ enable = true; ircd.name = 1; }", "services.culture.ircd: unknown name"),
    ],
)
def test_a_mistake_in_the_options_is_refused(culture: str, refusal: str):
    with pytest.raises(ValueError, match=re.escape(refusal)):
        host(culture)


# ---- the package -----------------------------------------------------------------------------------------


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def requirement_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^a-z0-9-]", requirement.lower())[0] for requirement in requirements}


def test_the_version_is_that_of_the_code():
    assert f'__version__ = "{package("version")}"' in (ROOT / "culture/__init__.py").read_text()


def test_it_depends_on_what_the_project_says():
    extras = project()["optional-dependencies"]
    used = ("systemd", "claude", "rehearsal", "webhooks", "websocket", "oidc", "fast")
    wanted = project()["dependencies"] + [name for extra in used for name in extras[extra]]
    sdk = "claude-agent-sdk"
    names = {name.removeprefix("/nix/store/") for name in package("dependencies")}
    assert {sdk if name.startswith(sdk) else name for name in names} == requirement_names(wanted)


def test_the_sdk_is_the_one_that_the_debian_package_has():
    sdk = f"(nixpkgs.pkgs.callPackage {NIX}/claude-agent-sdk.nix {{ }})"
    pinned = (ROOT / "debian/vendor/requirements.txt").read_text()
    version, sri = evaluated(f"{sdk}.version"), evaluated(f"{sdk}.src.hash")
    assert f"claude-agent-sdk=={version} " in pinned
    assert f"sha256:{base64.b64decode(sri.removeprefix('sha256-')).hex()} " in pinned


# What the build of nixpkgs has at that point: the functions that the phases call, and the programs.
BUILDER = r"""
set -eu
substituteInPlace() {
  [[ $2 == --replace-fail ]]
  grep -qF "$3" "$1"
  sed -i "s|$3|$4|" "$1"
}
rst2man() { cp "$1" "$2"; }
installManPage() { install -D -m 0644 -t "$out/share/man/man${1##*.}" "$1"; }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the phases of the package make of the tree, where the build itself only leaves the programs."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("out")
    for name in ("culture/agent", "docs/man", "etc", "units"):
        shutil.copytree(ROOT / name, source / name)
    (out / "bin").mkdir()
    for program in project()["scripts"]:
        (out / "bin" / program).touch(mode=0o755)
    for phase in ("postPatch", "postInstall", "postFixup"):
        done = subprocess.run(
            ["bash", "-c", BUILDER + package(phase)],
            cwd=source,
            env={"out": str(out), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{phase}: {done.stderr}"
    shutil.copy(source / "culture/agent/backend/environment.py", out / "environment.py")
    return out


def test_every_unit_is_installed_and_starts_programs_that_are_there(built: Path):
    installed = built / "lib/systemd/system"
    kinds = (".service", ".slice", ".socket", ".target", ".timer")
    assert {path.name for path in installed.iterdir()} == {
        p.name for p in UNITS.iterdir() if p.suffix in kinds
    }
    started = {
        line.partition("=")[2].split()[0].lstrip("-+")
        for path in installed.glob("*.service")
        for line in path.read_text().splitlines()
        if line.startswith("Exec")
    }
    of_others = {"/nix/store/coreutils/bin/kill", "/nix/store/systemd/bin/systemd-sysusers"}
    # NixOS has no other program at the usual place (environment.binsh).
    of_others.add("/bin/sh")
    assert started - of_others <= {str(path) for path in (built / "bin").iterdir()}


def test_units_differ_from_the_shared_ones_only_in_the_paths_of_programs(built: Path):
    for path in (built / "lib/systemd/system").iterdir():
        back = path.read_text().replace(f"{built}/bin", "/usr/bin").replace("/nix/store/coreutils", "")
        back = back.replace("/nix/store/systemd/", "/usr/")
        assert back == (UNITS / path.name).read_text()


def test_the_message_of_the_day_is_that_of_the_other_distributions(built: Path):
    told = host(SPARK)
    (own,) = told["environment"]["systemPackages"]
    file = told["etc"]["culture/motd"].replace(own, str(built))

    assert Path(file).read_text() == (ROOT / "etc/motd").read_text()


def test_directories_and_manual_pages_are_installed(built: Path):
    assert (built / "lib/tmpfiles.d/culture.conf").read_text() == (UNITS / "culture.tmpfiles").read_text()
    pages = {page.stem for page in (ROOT / "docs/man").glob("*.rst")}
    assert {page.name for page in (built / "share/man").glob("*/*")} == pages


def test_only_agents_find_irc(built: Path):
    assert not (built / "bin/irc").exists()
    assert (built / "lib/culture/bin/irc").is_file()
    assert f'SYSTEM_BIN: Final = Path("{built}/lib/culture/bin")' in (built / "environment.py").read_text()


# ---- the flake -------------------------------------------------------------------------------------------


def test_the_flake_offers_the_package_and_the_module():
    outputs = f"((import {NIX}/flake.nix).outputs {{ inherit nixpkgs; self = {{ }}; }})"
    packages = evaluated(f"{outputs}.packages")
    assert packages.keys() == {"aarch64-linux", "x86_64-linux"}
    assert all(
        each["culture"] == each["default"] == "/nix/store/culture-" + package("version")
        for each in packages.values()
    )
    assert evaluated(f"builtins.mapAttrs (name: toString) {outputs}.nixosModules") == {
        "culture": str(NIX / "module.nix"),
        "default": str(NIX / "module.nix"),
    }
