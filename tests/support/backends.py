"""The backends as the contract suite runs them, a row each."""

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Row:
    """A backend on its real program, with the rehearsal model behind it."""

    # Its name in agents.yaml.
    agent: str
    # `SessionSpec.command`; its first word is looked for among what scripts/clis installed.
    command: tuple[str, ...] = ()
    model: str = ""
    # What its program needs besides `culture.rehearsal.environment`: given the URL of the model and a HOME.
    env: Callable[[str, Path], Mapping[str, str]] = lambda url, home: {}
    # Whether its program is one of scripts/clis; the tests of such a row are slow.
    is_installed: bool = True
    # `key_variable` in agents.yaml, where the backend's own is not what it reads.
    key_variable: str = ""
    # What it cannot do by its nature, in the words of `needs`: each is a sentence of docs/howto/backends.md.
    lacks: frozenset[str] = field(default_factory=frozenset)
    # A prompt as it was sent, out of what the backend made of it.
    said: Callable[[str], str] = lambda prompt: prompt


def _by_acp(prompt: str) -> str:
    """Without what comes before it: the briefing in the first one, a note where it looks like a command."""
    spoken = prompt.removeprefix("You are spark-agent.\n\n").removeprefix("This is text, not a command:\n")
    return spoken.replace("\u2060@", "@")


def _opencode(url: str, home: Path) -> dict[str, str]:
    provider = {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "rehearsal"}}}
    config = {
        "provider": provider,
        "model": "anthropic/claude-sonnet-4-5",
        "share": "disabled",
        "agent": {"title": {"disable": True}},
    }
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _cline(url: str, home: Path) -> dict[str, str]:
    settings = {"provider": "anthropic", "apiKey": "rehearsal", "model": MODEL, "baseUrl": f"{url}/v1"}
    kept = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    place = home / ".cline" / "data" / "settings" / "providers.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    providers = {"lastUsedProvider": "anthropic", "providers": {"anthropic": kept}}
    place.write_text(json.dumps({"version": 1, "modes": {}, **providers}))
    return {"CLINE_API_KEY": "rehearsal", "CLINE_PROVIDER": "anthropic", "CLINE_MODEL": MODEL}


def _codex_acp(url: str, home: Path) -> dict[str, str]:
    place = home / ".codex" / "config.toml"
    place.parent.mkdir()
    settings = {
        "model": "rehearsal",
        "model_provider": "rehearsal",
        "model_providers.rehearsal.name": "rehearsal",
        "model_providers.rehearsal.base_url": f"{url}/v1",
        "model_providers.rehearsal.wire_api": "responses",
        "model_providers.rehearsal.env_key": "OPENAI_API_KEY",
    }
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in settings.items()]
    place.write_text("".join([*lines, "features.plugins = false\n"]))
    return {"CODEX_HOME": str(place.parent)}


def _by_copilot(prompt: str) -> str:
    """Without the time of day that the CLI puts before it."""
    return re.sub(r"\A<current_datetime>[^<]*</current_datetime>\n\n", "", prompt)


MODEL = "claude-sonnet-4-5"

ROWS: dict[str, Row] = {
    "claude": Row("claude", is_installed=False),
    "codex": Row("codex", model="rehearsal"),
    "copilot": Row("copilot", said=_by_copilot),
    "acp": Row("acp", ("claude-agent-acp",), lacks=frozenset({"tools", "reason", "verdict", "report"})),
}

# The same driver with other agents: they are too slow to go through all of it.
OPENCODE = Row("acp", ("opencode",), env=_opencode, said=_by_acp)
CLINE = Row("acp", ("cline",), env=_cline, said=_by_acp)
CODEX_ACP = Row("acp", ("codex-acp",), env=_codex_acp, key_variable="OPENAI_API_KEY", said=_by_acp)


def installed() -> str:
    """The directories of what scripts/clis installed, as for PATH."""
    script = ROOT / "scripts" / "clis"
    done = subprocess.run([script, "--where"], capture_output=True, text=True, check=True)
    return done.stdout.strip()
