"""Convert the settings of a session to those with which the CLI creates or resumes one."""

from collections.abc import Mapping
from typing import Any, Final

from culture.agent.contract import SessionSpec

# The CLI reads these by itself when it talks to a person, and not when it talks to a program.
_PROVIDER: Final = {
    "COPILOT_PROVIDER_BASE_URL": "baseUrl",
    "COPILOT_PROVIDER_TYPE": "type",
    "COPILOT_PROVIDER_WIRE_API": "wireApi",
    "COPILOT_PROVIDER_API_KEY": "apiKey",
    "COPILOT_PROVIDER_BEARER_TOKEN": "bearerToken",
}
_SHELL: Final = "bash"


def make_settings(spec: SessionSpec, env: Mapping[str, str], *, toolless: bool = False) -> dict[str, Any]:
    """Return the settings of a session; `env` is the environment of the CLI. A toolless one only answers."""
    settings: dict[str, Any] = {
        "workingDirectory": str(spec.directory),
        "systemMessage": {"mode": "append", "content": spec.briefing},
        # Also if everything is allowed: somebody has to say so.
        "requestPermission": True,
        # A reply that breaks off is asked for again, and only the whole one is told.
        "streaming": False,
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in spec.tools
        ],
    }
    if model := spec.model or env.get("COPILOT_MODEL"):
        settings["model"] = model
    if provider := {key: env[name] for name, key in _PROVIDER.items() if env.get(name)}:
        settings["provider"] = {"type": "openai", **provider}
    if spec.judge is not None:
        # Files in the directory could bring tools, and hooks that run programs of their own.
        settings |= {"enableConfigDiscovery": False, "enableFileHooks": False}
        if spec.is_locked:
            settings["availableTools"] = [_SHELL, *(tool.name for tool in spec.tools)]
    if toolless:
        settings |= {
            "availableTools": [],
            "systemMessage": {"mode": "replace", "content": spec.briefing},
            "skipCustomInstructions": True,
        }
    return settings
