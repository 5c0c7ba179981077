"""A line in the forms that its readers negotiated, each rendered once however many they are."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NewType

from culture.protocol.framing import CRLF
from culture.protocol.line import NO_TAGS
from culture.protocol.tags import format_tags

Form = NewType("Form", int)
"""What a reader understands besides the bare line: a sum of the following. A plain number, as an enum's
arithmetic would cost more than the rest of rendering."""
BARE: Final = Form(0)
TAGS: Final = Form(1)
TIME: Final = Form(2)
ACCOUNT: Final = Form(4)


def format_time(at: float) -> str:
    """The value of the `time` tag (IRCv3 server-time)."""
    return _format_ms(int(at * 1000))


@lru_cache(maxsize=1)
def _format_ms(ms: int) -> str:
    at = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class Rendered:
    """One line to many readers. What only some of them understand is put together when one asks."""

    __slots__ = ("_account", "_at", "_forms", "_line", "_msgid", "_tags")

    def __init__(
        self,
        line: str,
        at: float,
        tags: Mapping[str, str] = NO_TAGS,
        *,
        msgid: str = "",
        account: str | None = None,
    ) -> None:
        self._line = line
        self._at = at
        self._tags = tags
        self._msgid = msgid
        self._account = account
        self._forms: dict[Form, bytes] = {}

    def form(self, form: Form) -> bytes:
        data = self._forms.get(form)
        if data is None:
            data = self._forms[form] = self._render(form)
        return data

    def _render(self, form: Form) -> bytes:
        tags: dict[str, str] = {}
        if form & TIME:
            tags["time"] = format_time(self._at)
        if form & TAGS:
            tags |= self._tags
            if self._msgid:
                tags["msgid"] = self._msgid
        if form & ACCOUNT and self._account:
            tags["account"] = self._account
        line = f"@{format_tags(tags)} {self._line}" if tags else self._line
        return line.encode() + CRLF
