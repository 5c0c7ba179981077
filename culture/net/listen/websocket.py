"""Carry IRC over WebSocket (IRCv3 websocket): each message is one line without CRLF.

`WebSocket` sits between a transport and a `Connection`, to which it looks like a transport for lines.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from wsproto import ConnectionType, WSConnection
from wsproto.connection import Connection, ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Message,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from culture.net.connection import TURN_S, turn_away
from culture.net.listen.origin import Origin, origin_of
from culture.net.listen.websocket_frames import PartialMessage
from culture.net.sockets.socket_transport import PartialIoRecorder
from culture.protocol.framing import BODY_BYTES, CLIENT_TAG_BYTES, CRLF

if TYPE_CHECKING:
    from culture.net.driver import Driver

HANDSHAKE_S: Final = 10.0
TEXT: Final = "text.ircv3.net"
BINARY: Final = "binary.ircv3.net"
# Longest message that is kept. A longer one is cut here and is still long enough to be refused as a line.
MESSAGE_BYTES: Final = CLIENT_TAG_BYTES + BODY_BYTES
# Input is processed in pieces of this size, with a look at the clock in between.
PIECE_BYTES: Final = 1024
HEADERS_END: Final = b"\r\n\r\n"
SERVICE_UNAVAILABLE: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\r\n"
)
ANY_ORIGIN: Final = "*"


class Inside(Protocol):
    """The protocol that receives the lines, and is charged for input that completes none."""

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None: ...

    def data_received(self, data: bytes) -> None: ...

    def charge(self, size: int) -> None:
        """Charge the client for `size` bytes that completed no line."""

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def connection_lost(self, error: Exception | None) -> None: ...


class WebSocket(asyncio.Protocol):
    """The server side of one WebSocket connection."""

    def __init__(
        self, driver: "Driver", make_inside: Callable[[], Inside], allowed_origins: Sequence[str]
    ) -> None:
        self._driver = driver
        self._make_inside = make_inside
        self._allowed_origins = allowed_origins
        self._inside: Inside | None = None
        self._state = WSConnection(ConnectionType.SERVER)
        self.is_binary = False
        self._message = b""
        # Records incomplete messages, so that the next process can resume the connection.
        self.recorder: PartialIoRecorder | None = None
        self._request = b""
        self._partial_message = PartialMessage()
        # Input that is not processed yet. Reading pauses while there is any.
        self._unheard = b""
        # Frames that completed no line and are not charged yet.
        self._idle_frames = 0
        self._is_paused = False
        # Further input is ignored, and the transport closes once earlier input was processed.
        self.is_over = False
        self._deadline: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport
        self._origin: Origin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.begin(cast(asyncio.Transport, transport), origin_of(transport))

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None:
        """Start the handshake, unless the limits refuse the client."""
        if (why := self._driver.refusal(origin)) is not None:
            turn_away(transport, SERVICE_UNAVAILABLE % (len(why) + len(CRLF), why.encode()))
            return
        self._transport, self._origin = transport, origin
        # The handshake counts against the limits until the connection inside does.
        self._driver.admission.enter(origin)
        self._deadline = asyncio.get_running_loop().call_later(HANDSHAKE_S, transport.abort)

    def restore(self, transport: asyncio.Transport, *, is_binary: bool) -> "WebSocketTransport":
        """Continue an open WebSocket of the previous process, and return the transport for its lines."""
        self._transport, self.is_binary = transport, is_binary
        self._state.connection = Connection(ConnectionType.SERVER)
        return WebSocketTransport(self, transport)

    def data_received(self, data: bytes) -> None:
        self._unheard += data
        self._process_input()

    def pause(self) -> None:
        """Stop passing on lines, because the connection inside is throttled."""
        self._is_paused = True
        self._transport.pause_reading()

    def resume(self) -> None:
        """Pass on lines again."""
        self._is_paused = False
        if self.is_over:
            self._transport.close()
        elif self._unheard:
            self._driver.call_later(0.0, self._process_input)
        else:
            self._transport.resume_reading()

    def _process_input(self) -> None:
        """Process input for at most TURN_S: a frame of six bytes takes as long to process as a line."""
        ends_at, before, has_line = self._driver.now() + TURN_S, len(self._unheard), False
        while self._is_listening and self._unheard:
            piece, self._unheard = self._unheard[:PIECE_BYTES], self._unheard[PIECE_BYTES:]
            has_line = self._process_piece(piece) or has_line
            if self._driver.now() > ends_at:
                break
        if self._inside is not None and not self._transport.is_closing():
            # Record once per call: before the output is flushed, and not after every piece.
            self._record_partial_read()
            self._charge(self._inside, 0 if has_line else before - len(self._unheard))
        if self._is_listening and self._unheard:
            self._transport.pause_reading()
            self._driver.call_later(0.0, self._process_input)
        elif self._is_listening and not self._transport.is_reading():
            self._transport.resume_reading()
        elif self.is_over and not self._is_paused:
            self._transport.close()

    @property
    def _is_listening(self) -> bool:
        is_ended = self.is_over or self._transport.is_closing() or self._driver.has_left
        return not is_ended and not self._is_paused

    def _process_piece(self, data: bytes) -> bool:
        """Process a piece of input, and return whether it completed a line."""
        if self._inside is None:
            self._request += data
        else:
            self._partial_message.feed(data)
        lines = self._lines(data)
        if self._inside is not None and not self._transport.is_closing():
            self._pass_on(self._inside, lines)
        return bool(lines)

    def _lines(self, data: bytes) -> bytes:
        """Return the lines that the input completes, up to a closing frame."""
        lines = b""
        try:
            self._state.receive_data(data)
            for event in self._state.events():
                lines += self._handle_event(event)
                if self.is_over:
                    break
        except RemoteProtocolError as error:
            self._fail(error.event_hint)
        except UnicodeError:
            # wsproto decodes headers without checking them.
            self._fail(None)
        return lines

    def _pass_on(self, inside: Inside, lines: bytes) -> None:
        if self._request:
            # Frames may follow the request in the same read.
            self._partial_message.feed(self._request.partition(HEADERS_END)[2])
            self._request = b""
        if lines:
            # Pass all lines in one call, because reading can pause only between calls.
            inside.data_received(lines)

    def _record_partial_read(self) -> None:
        if self.recorder is not None:
            half = self._partial_message.data
            self.recorder.record_partial_read(half + self._unheard if half is not None else None)

    def _charge(self, inside: Inside, size: int) -> None:
        """Charge for a read that completed no line, and one line for each frame that completed none."""
        if size:
            size = max(size, len(self._partial_message.data or b""))
        if size or self._idle_frames:
            inside.charge(size + self._idle_frames * BODY_BYTES)
        self._idle_frames = 0

    def connection_lost(self, error: Exception | None) -> None:
        self._end_handshake()
        if self._inside is not None:
            self._inside.connection_lost(error)

    def pause_writing(self) -> None:
        if self._inside is not None:
            self._inside.pause_writing()

    def resume_writing(self) -> None:
        if self._inside is not None:
            self._inside.resume_writing()

    def send_line(self, line: bytes) -> bytes:
        """Return the frame for a line without CRLF."""
        if self._state.state is not ConnectionState.OPEN:
            return b""
        if self.is_binary:
            return self._state.send(BytesMessage(data=line))
        # A browser closes the connection on a text frame that is not UTF-8.
        return self._state.send(TextMessage(data=line.decode(errors="replace")))

    def send_close(self) -> None:
        """Send a closing frame."""
        if self._state.state is ConnectionState.OPEN:
            self._transport.write(self._state.send(CloseConnection(code=CloseReason.NORMAL_CLOSURE)))

    def carry(self, inside: Inside) -> None:
        """Set the protocol that receives the lines."""
        self._inside = inside

    def _handle_event(self, event: Any) -> bytes:
        """Handle one WebSocket event, and return the line that it completes, if any."""
        match event:
            case Request():
                self._answer(event)
            case TextMessage() | BytesMessage():
                return self._line(event)
            case Ping():
                self._idle_frames += 1
                self._transport.write(self._state.send(event.response()))
            case Pong():
                self._idle_frames += 1
            case CloseConnection():
                if self._state.state in (ConnectionState.OPEN, ConnectionState.REMOTE_CLOSING):
                    # wsproto also creates this event for a malformed frame, with the matching code.
                    self._transport.write(self._state.send(event.response()))
                self.is_over = True
        return b""

    def _line(self, event: Message[Any]) -> bytes:
        part = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
        self._message += part[: MESSAGE_BYTES + 1 - len(self._message)]
        if not event.message_finished:
            self._idle_frames += event.frame_finished
            return b""
        # A message is one line (IRCv3 websocket). A CR inside it is refused; a LF would begin another.
        line, self._message = self._message.rstrip(CRLF).replace(b"\n", b"\r") + CRLF, b""
        return line

    def _answer(self, request: Request) -> None:
        web_origin = next(
            (value.decode() for name, value in request.extra_headers if name == b"origin"), None
        )
        if (
            web_origin is not None
            and web_origin not in self._allowed_origins
            and ANY_ORIGIN not in self._allowed_origins
        ):
            # Otherwise any web web_origin in a local browser could act as that user.
            self._transport.write(self._state.send(RejectConnection(status_code=403)))
            self.is_over = True
            return
        chosen = next((name for name in request.subprotocols if name in (TEXT, BINARY)), None)
        self.is_binary = chosen == BINARY
        self._transport.write(self._state.send(AcceptConnection(subprotocol=chosen)))
        self._end_handshake()
        self._inside = self._make_inside()
        self._inside.begin(WebSocketTransport(self, self._transport), self._origin)

    def _fail(self, answer: Event | None) -> None:
        """Report a protocol error, in HTTP before the handshake and in WebSocket after it."""
        is_open = self._state.state is ConnectionState.OPEN
        refusal = (
            CloseConnection(code=CloseReason.PROTOCOL_ERROR) if is_open else RejectConnection(status_code=400)
        )
        # The state may not allow any reply.
        with contextlib.suppress(LocalProtocolError):
            self._transport.write(self._state.send(answer or refusal))
        self.is_over = True

    def _end_handshake(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            self._driver.admission.leave(self._origin, was_registered=False)


class WebSocketTransport(asyncio.Transport):
    """A transport that sends each line as one WebSocket message."""

    def __init__(self, websocket: WebSocket, below: asyncio.Transport) -> None:
        super().__init__()
        self._websocket = websocket
        self._below = below
        self._rest = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        *lines, self._rest = (self._rest + bytes(data)).split(CRLF)
        self._below.write(b"".join(map(self._websocket.send_line, lines)))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._websocket if name == "websocket" else self._below.get_extra_info(name, default)

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        if not self._below.is_closing():
            self._websocket.send_close()
            self._below.close()

    def abort(self) -> None:
        self._below.abort()

    def is_closing(self) -> bool:
        return self._below.is_closing()

    def pause_reading(self) -> None:
        self._websocket.pause()

    def resume_reading(self) -> None:
        self._websocket.resume()

    def is_reading(self) -> bool:
        return self._below.is_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._websocket.carry(cast(Inside, protocol))
