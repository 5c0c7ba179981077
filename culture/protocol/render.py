"""A line in the forms that its readers negotiated."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple, NewType

from culture.protocol.line import NO_TAGS
from culture.protocol.tags import escape_value, format_tags

Form = NewType("Form", int)
"""What a reader understands besides the bare line: a sum of the following. A plain number, as an enum's
arithmetic would cost more than the rest of rendering."""
BARE: Final = Form(0)
TAGS: Final = Form(1)
TIME: Final = Form(2)
ACCOUNT: Final = Form(4)
MULTILINE: Final = Form(8)
RELAY: Final = Form(16)

RELAY_TAG: Final = "draft/relaymsg"
"""Who relayed a message. Bridges know their own words by it, whatever other tags they know."""


def format_time(at: float) -> str:
    """The value of the `time` tag (IRCv3 server-time)."""
    return _format_ms(int(at * 1000))


@lru_cache(maxsize=1)
def _format_ms(ms: int) -> str:
    at = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class Rendered(NamedTuple):
    """One line, and what goes along with it to readers who understand more than the bare line."""

    line: str
    at: float
    tags: Mapping[str, str] = NO_TAGS
    msgid: str = ""
    account: str | None = None

    def form(self, form: Form) -> bytes:
        """For readers of that form, with the end of the line. To be asked once for all of them."""
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
            # Behind what the server says itself (IRCv3 message-tags, client-only tags).
            tags.append(format_tags(self.tags))
        elif form & RELAY and RELAY_TAG in self.tags:
            tags.append(format_tags({RELAY_TAG: self.tags[RELAY_TAG]}))
        return (f"@{';'.join(tags)} {self.line}\r\n" if tags else f"{self.line}\r\n").encode()
