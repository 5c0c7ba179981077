"""Bytes to whole lines, however the network cut them."""

from typing import Final

BODY_BYTES: Final = 512
"""The longest line without its tags, with CR and LF (RFC 2812 section 2.3)."""
CLIENT_TAG_BYTES: Final = 4096
"""The longest tag section that a client may send, with `@` and the space (message-tags, size limit)."""
SERVER_TAG_BYTES: Final = 8191
"""The longest tag section that a server may send."""

CRLF: Final = b"\r\n"

OVERLONG: Final = b"\r"
"""Stands in the place of what was too long, behind the tags if these were not. No line ends with it."""


class LineBuffer:
    """Collects bytes and gives back lines without their end. An over-long line is dropped whole."""

    __slots__ = ("_line_bytes", "_rest", "_skipped", "_tag_bytes")

    def __init__(self, tag_bytes: int = CLIENT_TAG_BYTES) -> None:
        self._tag_bytes = tag_bytes
        self._line_bytes = 0
        self._rest = b""
        # What is passed on of an over-long line when it ends.
        self._skipped = b""

    @property
    def is_inside_line(self) -> bool:
        """Whether the next byte belongs to a line that has begun."""
        return self._skipped != b"" or self._rest != b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, with OVERLONG in the place of each that was too long."""
        *ended, rest = ((self._rest + data) if self._rest else data).split(b"\n")
        lines = []
        for raw in ended:
            if self._skipped:
                lines.append(self._skipped)
                self._skipped = b""
            elif len(raw) >= BODY_BYTES and self._is_overlong(raw):
                lines.append(self._remains(raw))
            elif line := raw.rstrip(b"\r"):
                lines.append(line)
        if not self._skipped and len(rest) >= BODY_BYTES and self._is_overlong(rest):
            # Its body is not kept, so that its tail is never taken for a command.
            self._skipped = self._remains(rest)
        self._rest = b"" if self._skipped else rest
        return lines

    def widen(self, line_bytes: int) -> None:
        """From now on a line may have so many, whatever is in it."""
        self._line_bytes = line_bytes

    @property
    def half(self) -> bytes:
        """What to feed to another buffer so that it goes on where this one is."""
        return lengthened(self._skipped) if self._skipped else self._rest

    def _is_overlong(self, raw: bytes) -> bool:
        if self._line_bytes:
            return len(raw) >= self._line_bytes
        if not raw.startswith(b"@"):
            return True
        tags, space, body = raw.partition(b" ")
        return len(tags) + len(space) > self._tag_bytes or len(body) >= BODY_BYTES

    def _remains(self, raw: bytes) -> bytes:
        """Of an over-long line: who sent it may wait for an answer that bears its label."""
        tags, space, _ = raw.partition(b" ")
        is_kept = raw.startswith(b"@") and len(tags) + len(space) <= self._tag_bytes
        return tags + space + OVERLONG if is_kept else OVERLONG


def lengthened(line: bytes) -> bytes:
    """What comes back as this line when it is fed to a buffer: one that was too long is so again."""
    return line[:-1] + b"." * BODY_BYTES if line.endswith(OVERLONG) else line
