"""Render a line with the tags that each reader negotiated."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple, NewType

from culture.protocol.line import NO_TAGS
from culture.protocol.tags import escape_value, format_tags

# Bit set of what a reader understands besides the bare line. It is a plain int because the arithmetic of
# enum.Flag costs more than the rest of rendering.
Form = NewType("Form", int)
BARE: Final = Form(0)
TAGS: Final = Form(1)
TIME: Final = Form(2)
ACCOUNT: Final = Form(4)
MULTILINE: Final = Form(8)
RELAY: Final = Form(16)

# The nick of the bridge that relayed a message. A bridge recognises its own messages by this tag.
RELAY_TAG: Final = "draft/relaymsg"


def format_time(at: float) -> str:
    """Return the value of the `time` tag (IRCv3 server-time)."""
    return _format_ms(int(at * 1000))


@lru_cache(maxsize=1)
def _format_ms(ms: int) -> str:
    at = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class Rendered(NamedTuple):
    """One line and the tags that readers may get with it."""

    line: str
    at: float
    tags: Mapping[str, str] = NO_TAGS
    msgid: str = ""
    account: str | None = None

    def form(self, form: Form) -> bytes:
        """Return the bytes for readers of this form, with CR LF. Call it once per form, not per reader."""
        if not form:
            return f"{self.line}\r\n".encode()
        tags = []
        if form & TIME:
            tags.append(f"time={format_time(self.at)}")
        if form & TAGS and self.msgid:
            tags.append(f"msgid={self.msgid}")
        if form & ACCOUNT and self.account:
            tags.append(f"account={escape_value(self.account)}")
        if form & TAGS and self.tags:
            # Tags of clients follow those of the server (IRCv3 message-tags, client-only tags).
            tags.append(format_tags(self.tags))
        elif form & RELAY and RELAY_TAG in self.tags:
            tags.append(format_tags({RELAY_TAG: self.tags[RELAY_TAG]}))
        return (f"@{';'.join(tags)} {self.line}\r\n" if tags else f"{self.line}\r\n").encode()
