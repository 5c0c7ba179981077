"""Find WebSocket frame boundaries (RFC 6455 section 5.2)."""

from typing import Final

_FINAL: Final = 0x80
_CONTROL: Final = 0x08
_MASKED: Final = 0x80
_LENGTH: Final = 0x7F
_EXTENDED_BYTES: Final = {126: 2, 127: 8}
_MASK_BYTES: Final = 4
_SHORTEST_BYTES: Final = 2
_HEADER_BYTES: Final = 14
# Most bytes that are kept of an incomplete message: more than the longest line, even in fragments.
MOST_BYTES: Final = 8192


def partial_frame_end(data: bytes | bytearray, start: int, sent: int) -> int:
    """Return where the frame that contains byte `sent` ends, given that a frame begins at `start`."""
    while start < sent:
        header = data[start : start + _HEADER_BYTES]
        start += _header_size(header) + _payload_size(header)
    return start


def _header_size(header: bytes | bytearray) -> int:
    """Return the size of the header, as far as the bytes so far tell."""
    if len(header) < _SHORTEST_BYTES:
        return _SHORTEST_BYTES
    extended = _EXTENDED_BYTES.get(header[1] & _LENGTH, 0)
    return _SHORTEST_BYTES + extended + (_MASK_BYTES if header[1] & _MASKED else 0)


def _payload_size(header: bytes | bytearray) -> int:
    length = header[1] & _LENGTH
    if extended := _EXTENDED_BYTES.get(length):
        return int.from_bytes(header[_SHORTEST_BYTES : _SHORTEST_BYTES + extended], "big")
    return length


class PartialMessage:
    """Keeps the raw bytes of an incomplete message, unless it is too long."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._header = bytearray()
        # Payload bytes of the current frame that have not arrived yet.
        self._missing = 0
        self._is_open = False

    @property
    def data(self) -> bytes | None:
        """Return the bytes of the incomplete message, or None if it is too long."""
        return bytes(self._data) if len(self._data) <= MOST_BYTES else None

    def feed(self, data: bytes) -> None:
        """Process input, and forget messages that it completes."""
        while data:
            size = self._missing or _header_size(self._header) - len(self._header)
            part, data = data[:size], data[size:]
            if len(self._data) <= MOST_BYTES:
                self._data += part
            if self._missing:
                self._missing -= len(part)
            else:
                self._header += part
                if len(self._header) < _header_size(self._header):
                    continue
                self._missing = _payload_size(self._header)
            if not self._missing:
                self._end_frame()

    def _end_frame(self) -> None:
        first = self._header[0]
        self._header.clear()
        # A control frame may stand between the parts of a message (section 5.5).
        if not first & _CONTROL:
            self._is_open = not first & _FINAL
        if not self._is_open:
            self._data.clear()
