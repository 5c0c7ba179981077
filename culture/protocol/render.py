"""A line in the forms that its readers negotiated, each rendered once however many they are."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import IntFlag

from culture.protocol.framing import CRLF
from culture.protocol.tags import format_tags


class Form(IntFlag):
    """What a reader understands besides the bare line."""

    BARE = 0
    TAGS = 1
    TIME = 2
    ACCOUNT = 4


def format_time(at: float) -> str:
    """The value of the `time` tag (IRCv3 server-time)."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class Rendered:
    """One line to many readers."""

    __slots__ = ("_account", "_at", "_forms", "_line", "_tags")

    def __init__(self, line: str, at: float, tags: Mapping[str, str], account: str | None = None) -> None:
        self._line = line
        self._at = at
        self._tags = tags
        self._account = account
        self._forms: dict[Form, bytes] = {}

    def form(self, form: Form) -> bytes:
        data = self._forms.get(form)
        if data is None:
            data = self._forms[form] = self._render(form)
        return data

    def _render(self, form: Form) -> bytes:
        tags: dict[str, str] = {}
        if Form.TIME in form:
            tags["time"] = format_time(self._at)
        if Form.TAGS in form:
            tags |= self._tags
        if Form.ACCOUNT in form and self._account:
            tags["account"] = self._account
        prefix = f"@{format_tags(tags)} " if tags else ""
        return f"{prefix}{self._line}".encode() + CRLF
