"""Bytes to whole lines, however the network cut them."""

from typing import Final

BODY_BYTES: Final = 512
"""The longest line without its tags, with CR and LF (RFC 2812 section 2.3)."""
CLIENT_TAG_BYTES: Final = 4096
"""The longest tag section that a client may send, with `@` and the space (message-tags, size limit)."""
SERVER_TAG_BYTES: Final = 8191
"""The longest tag section that a server may send."""

CRLF: Final = b"\r\n"

OVERLONG: Final = b""
"""Stands among the lines where one was too long. An empty line is never passed on, so it cannot be one."""
OVERLONG_LINE: Final = b"." * BODY_BYTES
"""What becomes OVERLONG when it is fed to a buffer."""


class LineBuffer:
    """Collects bytes and gives back lines without their end. An over-long line is dropped whole."""

    __slots__ = ("_line_bytes", "_rest", "_skipping", "_tag_bytes")

    def __init__(self, tag_bytes: int = CLIENT_TAG_BYTES) -> None:
        self._tag_bytes = tag_bytes
        self._line_bytes = 0
        self._rest = b""
        self._skipping = False

    @property
    def is_inside_line(self) -> bool:
        """Whether the next byte belongs to a line that has begun."""
        return self._skipping or self._rest != b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, with OVERLONG in the place of each that was too long."""
        *ended, rest = ((self._rest + data) if self._rest else data).split(b"\n")
        lines = []
        for raw in ended:
            if self._skipping or (len(raw) >= BODY_BYTES and self._is_overlong(raw)):
                lines.append(OVERLONG)
                self._skipping = False
            elif line := raw.rstrip(b"\r"):
                lines.append(line)
        if self._skipping or (len(rest) >= BODY_BYTES and self._is_overlong(rest)):
            # Nothing of it is kept but the fact, so that its tail is never taken for a command.
            self._skipping, rest = True, b""
        self._rest = rest
        return lines

    def widen(self, line_bytes: int) -> None:
        """From now on a line may have so many, whatever is in it."""
        self._line_bytes = line_bytes

    @property
    def half(self) -> bytes:
        """What to feed to another buffer so that it goes on where this one is."""
        return OVERLONG_LINE if self._skipping else self._rest

    def _is_overlong(self, raw: bytes) -> bool:
        if self._line_bytes:
            return len(raw) >= self._line_bytes
        if not raw.startswith(b"@"):
            return True
        tags, space, body = raw.partition(b" ")
        return len(tags) + len(space) > self._tag_bytes or len(body) >= BODY_BYTES
