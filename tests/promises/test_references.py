"""What people can type and read is in its reference page, and the page has nothing else."""

import ast
import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from culture import __version__
from culture.config.agent.budgets import AgentBudgetsConfig, BudgetsConfig, PriceConfig
from culture.config.agent.loop_guard import LoopGuardConfig
from culture.config.agent.permissions import PermissionRule, PermissionsConfig
from culture.config.agent.supervisor import HeartbeatConfig, SupervisorConfig
from culture.config.agent.trust import TrustConfig
from culture.config.agent.webhooks import WebhooksConfig
from culture.config.agents import AgentConfig, AgentsConfig, ServerConfig, TurnsConfig
from culture.config.bridge import BridgeClient, BridgeConfig, BridgeLimits, BridgeTls
from culture.config.fleet.model import DefaultsConfig, FleetConfig, FleetLinkConfig, HostConfig
from culture.config.ircd import AccountsConfig, IrcdConfig, Limits, OidcConfig, OperConfig, Sts, Tls
from culture.config.links import LinkConfig, MeshConfig
from culture.config.skills import BUILT_IN, HistoryConfig, LoggerConfig
from culture.ctl.main import VERBS
from culture.ircd.commands.table import COMMANDS
from culture.protocol import numerics
from culture.protocol.capabilities import Cap
from culture.skills.table import open_skills
from culture.systemd.journal import FIELDS, MESSAGE_IDS

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "culture-ircd": ("culture.daemons.ircd", "culture-ircd.8.rst"),
    "culture-agent": ("culture.daemons.agent", "culture-agent.8.rst"),
    "culture-ledger": ("culture.daemons.ledger", "culture-ledger.8.rst"),
    "culture-bridge": ("culture.daemons.bridge", "culture-bridge.8.rst"),
    "culture-rehearsal": ("culture.daemons.rehearsal", "culture-rehearsal.8.rst"),
    "culturectl": ("culture.ctl.main", "culturectl.1.rst"),
    "irc": ("culture.agent.skill.irc", "culture-irc.1.rst"),
}


def first_column(page: str, section: str) -> set[str]:
    """What stands in backticks in the first column of the table in a section."""
    text = (ROOT / "docs/reference" / page).read_text()
    body = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return {
        name
        for row in re.findall(r"^\| (`.+?) \|", body, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }


def test_the_irc_reference_is_as_the_server_has_it():
    command = [sys.executable, ROOT / "scripts/documents/reference.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def test_every_irc_command_is_documented():
    assert first_column("irc.md", "Commands") == set(COMMANDS)


def test_every_command_of_a_skill_is_documented(tmp_path: Path):
    config = IrcdConfig(name="spark", skills=BUILT_IN)
    skills = open_skills(config, tmp_path, lambda text: None, lambda name, error: None)
    skills.close()
    assert first_column("irc.md", "Commands of skills") == skills.commands.keys()


def test_every_capability_is_documented():
    assert first_column("irc.md", "Capabilities") == set(Cap)


def test_every_numeric_is_documented():
    codes = {value for name, value in vars(numerics).items() if re.match(r"(RPL|ERR)_", name)}
    assert first_column("irc.md", "Numerics") == codes


def test_every_numeric_is_used():
    used = "".join(
        path.read_text() for path in (ROOT / "culture").rglob("*.py") if path.name != "numerics.py"
    )
    unused = [name for name in vars(numerics) if re.match(r"(RPL|ERR)_", name) and name not in used]
    assert unused == []


def failure_codes(path: Path) -> set[str]:
    """What a module refuses by a word: `Failure("CODE", …)`, `fail(session, command, "CODE", …)`."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    said = [call.args[:3] for call in calls if re.fullmatch(r"Failure|ircd\.fail", ast.unparse(call.func))]
    words = [word.value for words in said for word in words if isinstance(word, ast.Constant)]
    return {word for word in words if re.fullmatch(r"[A-Z]+(_[A-Z0-9]+)+", str(word))}


def test_every_refusal_by_a_word_is_documented():
    modules = [*(ROOT / "culture/ircd").rglob("*.py"), *(ROOT / "culture/skills").rglob("*.py")]
    codes = set().union(*map(failure_codes, modules))
    text = (ROOT / "docs/reference/irc.md").read_text()
    body = text.partition("\n## Refusals by a word\n")[2].partition("\n## ")[0]
    assert codes
    assert codes <= set(re.findall(r"`([^`]+)`", body))


def test_every_log_field_and_kind_of_entry_is_documented():
    assert first_column("journal.md", "Fields") == set(FIELDS)
    assert first_column("journal.md", "Entries") == set(MESSAGE_IDS)
    text = (ROOT / "docs/reference/journal.md").read_text()
    assert all(value in text for value in MESSAGE_IDS.values())


ARCHITECTURE = ROOT / "docs/architecture.md"


def rooms_in_the_tree() -> set[str]:
    """The directories in the tree of the architecture page, as paths below the repository."""
    tree = ARCHITECTURE.read_text().partition("\nculture/\n")[2].partition("\n```\n")[0]
    parents, rooms = ["culture"], set()
    for spaces, name in re.findall(r"^( +)([\w-]+)/ ", tree, re.MULTILINE):
        parents[len(spaces) // 2 :] = [name]
        rooms.add("/".join(parents))
    return rooms


def test_the_architecture_has_every_room_and_no_other():
    directories = [path for path in (ROOT / "culture").rglob("*") if path.is_dir()]
    rooms = {str(path.relative_to(ROOT)) for path in directories if path.name != "__pycache__"}
    migrations = "culture/store/migrations/"
    assert rooms_in_the_tree() == {room for room in rooms if not room.startswith(migrations)}


def test_every_module_that_the_architecture_names_exists():
    packages = "|".join(path.name for path in (ROOT / "culture").iterdir() if path.is_dir())
    text = re.sub(r"\]\([^)]+\)|/run/\S+", "", ARCHITECTURE.read_text())
    named = re.findall(rf"(?<![\w/])((?:{packages})/[\w/]*\w)", text)
    assert named
    for name in named:
        path = ROOT / "culture" / name
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "culture").rglob("*.md")]


def headings(page: Path) -> set[str]:
    """As a link names them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    for link in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", page.read_text()):
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not heading or heading in headings(target), link


def man_terms(page: str) -> set[str]:
    """The terms of the definition lists in a man page's source."""
    text = (ROOT / "docs/man" / page).read_text()
    terms = re.findall(r"^\*\*.+\*\*$", text, re.MULTILINE)
    return {name for term in terms for name in re.findall(r"\*\*([^*]+)\*\*", term)}


@pytest.mark.parametrize(
    ("page", "models"),
    [
        (
            "culture-ircd.yaml.5.rst",
            [
                IrcdConfig,
                AccountsConfig,
                HistoryConfig,
                Limits,
                LinkConfig,
                LoggerConfig,
                MeshConfig,
                OidcConfig,
                OperConfig,
                Sts,
                Tls,
            ],
        ),
        (
            "culture-bridge.yaml.5.rst",
            [BridgeConfig, BridgeClient, BridgeLimits, BridgeTls, OidcConfig, ServerConfig],
        ),
        ("culture-fleet.yaml.5.rst", [FleetConfig, DefaultsConfig, FleetLinkConfig, HostConfig]),
        (
            "culture-agents.yaml.5.rst",
            [
                AgentsConfig,
                ServerConfig,
                TurnsConfig,
                LoopGuardConfig,
                WebhooksConfig,
                SupervisorConfig,
                HeartbeatConfig,
                BudgetsConfig,
                AgentBudgetsConfig,
                PriceConfig,
                AgentConfig,
                PermissionRule,
                PermissionsConfig,
                TrustConfig,
            ],
        ),
    ],
)
def test_every_key_is_in_its_man_page(page: str, models: list[type[Any]]):
    keys = {field.name for model in models for field in dataclasses.fields(model)}
    assert man_terms(page) == keys


def help_text(module: str, *verb: str) -> str:
    command = [sys.executable, "-m", module, *verb, "--help"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_option_is_in_the_man_page_and_the_other_way_round(program: str):
    module, page = PROGRAMS[program]
    told = help_text(module)
    if program == "culturectl":
        told += "".join(help_text(module, verb) for verb in VERBS)
    option = r"(?<![\w-])--[a-z][a-z-]+"
    options = set(re.findall(option, told)) - {"--help"}
    text = (ROOT / "docs/man" / page).read_text()
    assert options <= set(re.findall(option, text))
    explained = re.findall(r"^\s*(?:-\w, )?(--[a-z][a-z-]+)", text, re.MULTILINE)
    assert set(explained) - {"--help"} <= options


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs/man").glob("*.rst")))
def test_man_pages_are_well_formed(page: str):
    docutils = pytest.importorskip("docutils.core", reason="docutils is not installed")
    docutils.publish_string(
        (ROOT / "docs/man" / page).read_text(),
        writer_name="manpage",
        settings_overrides={"halt_level": 1, "report_level": 1, "input_encoding": "unicode"},
    )


def test_one_version_everywhere():
    changelog = (ROOT / "debian/changelog").read_text()
    assert changelog.startswith(f"culture ({__version__}")
    assert f"\n## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_links_between_documents_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "culture").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page} links to {target}"


def test_decisions_are_short():
    for page in (ROOT / "docs/decisions").glob("*.md"):
        assert len(page.read_text().splitlines()) <= 60, f"{page} is longer than 60 lines"
