"""Split a byte stream into lines."""

from typing import Final

# The longest line without its tags, including CR LF (RFC 2812 section 2.3).
BODY_BYTES: Final = 512
# The longest tag section that a client may send, including `@` and the space (message-tags, size limit).
CLIENT_TAG_BYTES: Final = 4096
# The longest tag section that a server may send.
SERVER_TAG_BYTES: Final = 8191

CRLF: Final = b"\r\n"

# Marks an over-long line: it replaces the parameters, and follows tags and command where these fit. No
# other line ends with it.
OVERLONG: Final = b"\r"
# The longest command that is kept of an over-long line.
COMMAND_BYTES: Final = 32


class LineBuffer:
    """Buffers bytes and returns lines without CR LF. An over-long line is dropped whole."""

    __slots__ = ("_line_bytes", "_rest", "_skipped", "_tag_bytes")

    def __init__(self, tag_bytes: int = CLIENT_TAG_BYTES) -> None:
        self._tag_bytes = tag_bytes
        self._line_bytes = 0
        self._rest = b""
        # What feed() returns for the current over-long line when it ends.
        self._skipped = b""

    @property
    def is_inside_line(self) -> bool:
        """Return whether the buffer holds the beginning of a line."""
        return self._skipped != b"" or self._rest != b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are now complete; an over-long one ends in OVERLONG."""
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
            # Discard the rest of this line, so that its tail is never taken for a command.
            self._skipped = self._remains(rest)
        self._rest = b"" if self._skipped else rest
        return lines

    def widen(self, line_bytes: int) -> None:
        """Accept lines of up to this many bytes from now on, with or without tags."""
        self._line_bytes = line_bytes

    @property
    def half(self) -> bytes:
        """Return the bytes that put another buffer into the same state when they are fed to it."""
        return lengthened(self._skipped) if self._skipped else self._rest

    def _is_overlong(self, raw: bytes) -> bool:
        if self._line_bytes:
            return len(raw) >= self._line_bytes
        if not raw.startswith(b"@"):
            return True
        tags, space, body = raw.partition(b" ")
        return len(tags) + len(space) > self._tag_bytes or len(body) >= BODY_BYTES

    def _remains(self, raw: bytes) -> bytes:
        """Return the tags and the command of an over-long line, which the error reply needs, and OVERLONG."""
        tags, space, body = raw.partition(b" ") if raw.startswith(b"@") else (b"", b"", raw)
        if len(tags) + len(space) > self._tag_bytes:
            return OVERLONG
        command, gap, _ = body.partition(b" ")
        is_kept = command and gap and len(command) <= COMMAND_BYTES
        return tags + space + (command + gap if is_kept else b"") + OVERLONG


def lengthened(line: bytes) -> bytes:
    """Return bytes that feed() turns into this line: a line that ends in OVERLONG is made over-long again."""
    return line[:-1] + b"." * BODY_BYTES if line.endswith(OVERLONG) else line
