"""Where frames of WebSocket begin and end (RFC 6455 section 5.2)."""

import pytest
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, Ping, TextMessage

from culture.net.listen.websocket_frames import MOST_BYTES, PartialMessage, partial_frame_end

SIZES = (0, 1, 125, 126, 65535, 65536)


def frames(by: ConnectionType) -> list[bytes]:
    peer = Connection(by)
    return [peer.send(BytesMessage(data=b"x" * size)) for size in SIZES]


def test_what_was_sent_in_part_goes_on_to_the_end_of_its_frame():
    first, second = frames(ConnectionType.SERVER)[1:3]
    data = first + second
    for sent in range(len(data) + 1):
        whole = 0 if not sent else len(first) if sent <= len(first) else len(data)
        assert partial_frame_end(data, 0, sent) == whole
    # Of what waits, the first bytes may be the rest of another frame.
    assert partial_frame_end(b"rest" + data, 4, 2) == 4
    assert partial_frame_end(b"rest" + data, 4, 5) == 4 + len(first)


@pytest.fixture
def messages() -> list[bytes]:
    """Of a client: a ping, a message in two frames with a ping between them, and some of all lengths."""
    peer = Connection(ConnectionType.CLIENT)
    parts = [
        peer.send(TextMessage(data="a", message_finished=False)),
        peer.send(Ping(payload=b"!")),
        peer.send(TextMessage(data="b")),
    ]
    return [peer.send(Ping(payload=b"?")), b"".join(parts), *frames(ConnectionType.CLIENT)[:5]]


def test_what_is_not_complete_is_known_from_the_beginning_of_its_message(messages: list[bytes]):
    unfinished = PartialMessage()
    for message in messages:
        # Byte by byte where it is interesting, which is not in the middle of 65535 equal ones.
        for size in range(1, min(len(message), 200)):
            unfinished.feed(message[size - 1 : size])
            assert unfinished.data == message[:size]
        unfinished.feed(message[min(len(message), 200) - 1 :])
        assert unfinished.data == b""


def test_however_it_is_cut_the_last_part_is_known(messages: list[bytes]):
    data = b"".join(messages[:4])
    for first in range(len(data)):
        unfinished = PartialMessage()
        unfinished.feed(data[:first])
        unfinished.feed(data[first:] + messages[1][:-1])
        assert unfinished.data == messages[1][:-1]


def test_of_a_message_that_is_too_long_nothing_is_known_until_its_end():
    frame = Connection(ConnectionType.CLIENT).send(BytesMessage(data=b"x" * 10 * MOST_BYTES))
    unfinished = PartialMessage()
    for start in range(0, len(frame) - 1, 10_000):
        unfinished.feed(frame[start : min(start + 10_000, len(frame) - 1)])
    assert unfinished.data is None
    unfinished.feed(frame[-1:])
    assert unfinished.data == b""
