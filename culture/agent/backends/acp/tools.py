"""Offer the irc skill to an ACP agent as an MCP server: ACP has no tools in the client's process."""

import shutil
from typing import Any, Final

from culture.agent.backends.program import MARK
from culture.agent.contract import SessionSpec
from culture.agent.tools.whispers import PROOF_VARIABLE

SERVER: Final = "culture"
# How agents spell the name of such a tool: the first of these is that of Claude Code, the other opencode's.
_PREFIXES: Final = (f"mcp__{SERVER}__", f"{SERVER}_")
# Some agents give a server no more of their environment than this.
_NEEDED: Final = ("CULTURE_NICK", "CULTURE_SOCKET")


def servers(spec: SessionSpec, mark: str) -> list[dict[str, Any]]:
    """Return the MCP servers for session/new: none without tools, or without a way to reach the daemon."""
    program = shutil.which("irc", path=spec.env.get("PATH"))
    if not spec.tools or program is None or not all(name in spec.env for name in _NEEDED):
        return []
    own = {name: spec.env[name] for name in (*_NEEDED, PROOF_VARIABLE) if name in spec.env}
    env = {**own, MARK: mark}
    variables = [{"name": name, "value": value} for name, value in env.items()]
    return [{"name": SERVER, "command": program, "args": ["mcp"], "env": variables}]


def own_name(tool: str) -> str:
    """Return the daemon's name of a tool, from the agent's name of it."""
    for prefix in _PREFIXES:
        if tool.startswith(prefix):
            return tool.removeprefix(prefix)
    return tool
