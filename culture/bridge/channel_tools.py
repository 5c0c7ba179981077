"""The five tools for channels: send, read, create, list, members."""

from datetime import datetime
from typing import Annotated, Final

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from culture.bridge.access import check_channel_allowed, check_sender, may_use
from culture.bridge.calls import Caller, reported
from culture.client.transport.checks import check_channel
from culture.client.transport.transport import DEFAULT_LIMIT, MAX_LIMIT, Transport
from culture.errors import UsageError

_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

Channel = Annotated[str, Field(description="The channel, such as #project-app.")]
Sender = Annotated[
    str, Field(description="The nick to act as, if your token allows several. Default: your own.")
]


class MessageRow(TypedDict):
    """One message."""

    channel: str
    sender: str
    text: str
    timestamp: str


def add_channel_tools(server: MCPServer[None], transport: Transport, caller: Caller) -> None:
    """Register the tools."""

    @server.tool(annotations=_WRITES)
    @reported
    async def send_message(
        channel: Channel,
        text: Annotated[str, Field(description="The text, of up to 64 KiB and any number of lines.")],
        sender: Sender = "",
    ) -> str:
        """Post a message to a channel."""
        client = caller.admit()
        check_channel_allowed(client, check_channel(channel))
        nick = check_sender(client, sender)
        await transport.send(channel, text, nick)
        return f"sent to {channel} as {nick}"

    @server.tool(annotations=_READS)
    @reported
    async def read_messages(
        channel: Channel,
        since: Annotated[
            str, Field(description="Only messages after this time, such as 2026-11-18T13:05:00Z.")
        ] = "",
        limit: Annotated[
            int, Field(description=f"How many messages at most, 1 to {MAX_LIMIT}.")
        ] = DEFAULT_LIMIT,
    ) -> list[MessageRow]:
        """Read recent messages from a channel, the newest first."""
        client = caller.admit()
        check_channel_allowed(client, check_channel(channel))
        found = await transport.read(channel, _parse_time(since), limit)
        return [
            MessageRow(
                channel=each.channel,
                sender=each.sender,
                text=each.text,
                timestamp=each.timestamp.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            )
            for each in found
        ]

    @server.tool(annotations=_WRITES)
    @reported
    async def create_channel(
        name: Annotated[str, Field(description="The name of the new channel, such as #work-42.")],
    ) -> str:
        """Create a new channel. Nothing happens if it exists."""
        client = caller.admit()
        check_channel_allowed(client, check_channel(name))
        await transport.create_channel(name)
        return f"{name} exists"

    @server.tool(annotations=_READS)
    @reported
    async def list_channels() -> list[str]:
        """List the active channels that you may use."""
        client = caller.admit()
        return [name for name in await transport.list_channels() if may_use(client, name)]

    @server.tool(annotations=_READS)
    @reported
    async def get_members(channel: Channel) -> list[str]:
        """List who is in a channel."""
        client = caller.admit()
        check_channel_allowed(client, check_channel(channel))
        return await transport.get_members(channel)


def _parse_time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        hint = "write it as 2026-11-18T13:05:00Z"
        raise UsageError(f"'since': {text[:40]!r} is not a time", hint=hint) from None
