"""IRC in WebSocket (IRCv3 websocket): each message is a line without its end.

`WebSocket` stands between a transport and a `Connection`, which takes it for a transport that carries lines.
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
from culture.net.frames import Unfinished
from culture.net.origin import Origin, origin_of
from culture.net.wire import Keep
from culture.protocol.framing import BODY_BYTES, CLIENT_TAG_BYTES, CRLF

if TYPE_CHECKING:
    from culture.net.driver import Driver

HANDSHAKE_S: Final = 10.0
TEXT: Final = "text.ircv3.net"
BINARY: Final = "binary.ircv3.net"
MESSAGE_BYTES: Final = CLIENT_TAG_BYTES + BODY_BYTES
"""A longer message is no line. What is beyond is not kept; the rest is long enough to be refused."""
PIECE_BYTES: Final = 1024
"""Of what was read, between looks at the clock."""
HEADERS_END: Final = b"\r\n\r\n"
NO_ROOM: Final = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\r\n"
ANY_ORIGIN: Final = "*"


class Inside(Protocol):
    """What hears the lines: an asyncio protocol that also pays for what ends none."""

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None: ...

    def data_received(self, data: bytes) -> None: ...

    def charge(self, size: int) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def connection_lost(self, error: Exception | None) -> None: ...


class WebSocket(asyncio.Protocol):
    def __init__(self, driver: "Driver", make_inside: Callable[[], Inside], pages: Sequence[str]) -> None:
        self._driver = driver
        self._make_inside = make_inside
        self._pages = pages
        self._inside: Inside | None = None
        self._state = WSConnection(ConnectionType.SERVER)
        self.is_binary = False
        self._message = b""
        self.keep: Keep | None = None
        """Who is told what was read in part, so that another process can go on with it."""
        self._request = b""
        self._unfinished = Unfinished()
        self._unheard = b""
        """What was read, and waits. Nothing more is read meanwhile."""
        self._idle_frames = 0
        """Those that brought no line, and were not paid for."""
        self._is_paused = False
        self.is_over = False
        """Nothing more is heard. It is closed once all that came before is."""
        self._deadline: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport
        self._origin: Origin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.begin(cast(asyncio.Transport, transport), origin_of(transport))

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None:
        if (why := self._driver.refusal(origin)) is not None:
            turn_away(transport, NO_ROOM % (len(why) + len(CRLF), why.encode()))
            return
        self._transport, self._origin = transport, origin
        # It has a place from now on, which goes to what is inside.
        self._driver.admission.enter(origin)
        self._deadline = asyncio.get_running_loop().call_later(HANDSHAKE_S, transport.abort)

    def go_on(self, transport: asyncio.Transport, *, is_binary: bool) -> "Carried":
        """Where another process stopped."""
        self._transport, self.is_binary = transport, is_binary
        self._state.connection = Connection(ConnectionType.SERVER)
        return Carried(self, transport)

    def data_received(self, data: bytes) -> None:
        self._unheard += data
        self._hear()

    def pause(self) -> None:
        """What is inside has enough for now."""
        self._is_paused = True
        self._transport.pause_reading()

    def resume(self) -> None:
        self._is_paused = False
        if self.is_over:
            self._transport.close()
        elif self._unheard:
            self._driver.call_later(0.0, self._hear)
        else:
            self._transport.resume_reading()

    def _hear(self) -> None:
        """Until others have their turn: a frame can be as short as six bytes, and takes as long as a line."""
        ends_at, before, has_line = self._driver.now() + TURN_S, len(self._unheard), False
        while self._is_listening and self._unheard:
            piece, self._unheard = self._unheard[:PIECE_BYTES], self._unheard[PIECE_BYTES:]
            has_line = self._hear_piece(piece) or has_line
            if self._driver.now() > ends_at:
                break
        if self._inside is not None and not self._transport.is_closing():
            # Once for all: before others read anything of it, and not so often as to fill a disk.
            self._be_kept()
            self._charge(self._inside, 0 if has_line else before - len(self._unheard))
        if self._is_listening and self._unheard:
            self._transport.pause_reading()
            self._driver.call_later(0.0, self._hear)
        elif self._is_listening and not self._transport.is_reading():
            self._transport.resume_reading()
        elif self.is_over and not self._is_paused:
            self._transport.close()

    @property
    def _is_listening(self) -> bool:
        is_ended = self.is_over or self._transport.is_closing() or self._driver.has_left
        return not is_ended and not self._is_paused

    def _hear_piece(self, data: bytes) -> bool:
        """Whether a line was in it."""
        if self._inside is None:
            self._request += data
        else:
            self._unfinished.feed(data)
        lines = self._lines(data)
        if self._inside is not None and not self._transport.is_closing():
            self._pass_on(self._inside, lines)
        return bool(lines)

    def _lines(self, data: bytes) -> bytes:
        """Those that frames complete, up to one that ends it all."""
        lines = b""
        try:
            self._state.receive_data(data)
            for event in self._state.events():
                lines += self._take(event)
                if self.is_over:
                    break
        except RemoteProtocolError as error:
            self._fail(error.event_hint)
        except UnicodeError:
            # The library decodes headers without looking.
            self._fail(None)
        return lines

    def _pass_on(self, inside: Inside, lines: bytes) -> None:
        if self._request:
            # Behind it there may be frames already.
            self._unfinished.feed(self._request.partition(HEADERS_END)[2])
            self._request = b""
        if lines:
            # Once for all of them: reading pauses between calls, not within one.
            inside.data_received(lines)

    def _be_kept(self) -> None:
        if self.keep is not None:
            half = self._unfinished.data
            self.keep.read(half + self._unheard if half is not None else None)

    def _charge(self, inside: Inside, size: int) -> None:
        """For a read that ended no line, and, as if it were one, for each frame that ended none."""
        if size:
            size = max(size, len(self._unfinished.data or b""))
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
        """The frame for a line, without its end."""
        if self._state.state is not ConnectionState.OPEN:
            return b""
        if self.is_binary:
            return self._state.send(BytesMessage(data=line))
        # A browser hangs up on a text that is not UTF-8.
        return self._state.send(TextMessage(data=line.decode(errors="replace")))

    def say_goodbye(self) -> None:
        if self._state.state is ConnectionState.OPEN:
            self._transport.write(self._state.send(CloseConnection(code=CloseReason.NORMAL_CLOSURE)))

    def carry(self, inside: Inside) -> None:
        self._inside = inside

    def _take(self, event: Any) -> bytes:
        """What a frame brings: the line that it completes, or nothing but an answer."""
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
                    # Also to a frame that was malformed, with the code for what was wrong.
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
        page = next((value.decode() for name, value in request.extra_headers if name == b"origin"), None)
        if page is not None and page not in self._pages and ANY_ORIGIN not in self._pages:
            # Any page in a browser on this machine could otherwise talk as if it were the person.
            self._transport.write(self._state.send(RejectConnection(status_code=403)))
            self.is_over = True
            return
        chosen = next((name for name in request.subprotocols if name in (TEXT, BINARY)), None)
        self.is_binary = chosen == BINARY
        self._transport.write(self._state.send(AcceptConnection(subprotocol=chosen)))
        self._end_handshake()
        self._inside = self._make_inside()
        self._inside.begin(Carried(self, self._transport), self._origin)

    def _fail(self, answer: Event | None) -> None:
        """Say that it was wrong, in HTTP or in WebSocket."""
        is_open = self._state.state is ConnectionState.OPEN
        refusal = (
            CloseConnection(code=CloseReason.PROTOCOL_ERROR) if is_open else RejectConnection(status_code=400)
        )
        # It may be so wrong that there is no way left to say it.
        with contextlib.suppress(LocalProtocolError):
            self._transport.write(self._state.send(answer or refusal))
        self.is_over = True

    def _end_handshake(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            self._driver.admission.leave(self._origin, was_registered=False)


class Carried(asyncio.Transport):
    """A transport for lines: each goes out as a message."""

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
            self._websocket.say_goodbye()
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
