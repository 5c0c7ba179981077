"""Offer the daemon's own tools to the model by an MCP server in this process."""

from collections.abc import Iterable
from typing import Any, Final

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server

from culture.agent.contract import Tool
from culture.errors import CultureError

SERVER: Final = "culture"
# How the CLI spells the name of such a tool.
_PREFIX: Final = f"mcp__{SERVER}__"


def make_server(tools: Iterable[Tool]) -> McpSdkServerConfig:
    return create_sdk_mcp_server(SERVER, tools=[_as_mcp(tool) for tool in tools])


def own_name(name: str) -> str:
    """Return the contract's name of a tool, from the CLI's name of it."""
    return name.removeprefix(_PREFIX)


def _as_mcp(tool: Tool) -> SdkMcpTool[Any]:
    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return _content(await tool.run(arguments))
        except CultureError as error:
            return {**_content(error.with_hint), "is_error": True}

    return SdkMcpTool(tool.name, tool.description, dict(tool.parameters), run)


def _content(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}
