"""JSON-RPC with the other side in this process: what it says is written by hand."""

import asyncio
import json

import pytest

from culture.agent.backends.jsonrpc import DisconnectedError, Headers, JsonRpcConnection, Lines, RpcError


class Kept:
    """What we write, in place of a pipe."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def messages(self) -> list[dict]:
        return [json.loads(line) for line in self.data.splitlines()]


class Peer:
    """A connection, and the other side of it."""

    def __init__(self, framing=None) -> None:
        self.reader, self.written = asyncio.StreamReader(limit=1000), Kept()
        self.notices: list[tuple[str, dict]] = []
        self.connection = JsonRpcConnection(self.reader, self.written, self._noticed, self._asked, framing)
        self.task = asyncio.create_task(self.connection.run())

    def says(self, *messages: dict) -> None:
        for message in messages:
            self.reader.feed_data(json.dumps(message).encode() + b"\n")

    async def _noticed(self, method, params) -> None:
        self.notices.append((method, dict(params)))

    async def _asked(self, method, params):
        if method == "never":
            await asyncio.Event().wait()
        if method != "add":
            raise RpcError(-32601, f"no {method}")
        return {"sum": params["a"] + params["b"]}


@pytest.fixture
async def peer():
    peer = Peer()
    yield peer
    peer.task.cancel()
    await asyncio.gather(peer.task, return_exceptions=True)


async def test_a_request_gets_the_answer_with_its_number(peer, eventually):
    first = asyncio.create_task(peer.connection.request("first", {"x": 1}))
    second = asyncio.create_task(peer.connection.request("second", {}))
    await eventually(lambda: len(peer.written.messages()) == 2)

    peer.says({"jsonrpc": "2.0", "id": 2, "result": "b"}, {"jsonrpc": "2.0", "id": 1, "result": "a"})

    assert (await first, await second) == ("a", "b")
    assert peer.written.messages()[0] == {"jsonrpc": "2.0", "id": 1, "method": "first", "params": {"x": 1}}


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [({"code": -32000, "message": "log in", "data": {"a": 1}}, -32000, "log in"), ("odd", 0, '"odd"')],
)
async def test_an_error_is_raised(peer, eventually, error, code, words):
    asked = asyncio.create_task(peer.connection.request("x", {}))
    await eventually(peer.written.messages)

    peer.says({"id": 1, "error": error})

    with pytest.raises(RpcError, match=words) as raised:
        await asked
    assert raised.value.code == code


async def test_notices_come_in_order_and_noise_is_passed_over(peer, eventually):
    peer.reader.feed_data(b'starting...\n[1, 2]\n{"id": 99, "result": 0}\n{}\n')
    peer.says({"method": "one", "params": {"n": 1}}, {"method": "two"})

    await eventually(lambda: len(peer.notices) == 2)

    assert peer.notices == [("one", {"n": 1}), ("two", {})]


async def test_the_other_side_may_ask_too_and_one_slow_answer_holds_up_nobody(peer, eventually):
    peer.says(
        {"id": "s", "method": "never"},
        {"id": 1, "method": "add", "params": {"a": 1, "b": 2}},
        {"id": 2, "method": "sing"},
    )

    await eventually(lambda: len(peer.written.messages()) == 2)

    assert peer.written.messages() == [
        {"jsonrpc": "2.0", "id": 1, "result": {"sum": 3}},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "no sing"}},
    ]


async def test_at_the_end_whoever_waits_is_told_and_nothing_more_is_sent(peer, eventually):
    asked = asyncio.create_task(peer.connection.request("x", {}))
    await eventually(peer.written.messages)
    peer.says({"id": 7, "method": "never"})

    peer.reader.feed_eof()
    await peer.task

    with pytest.raises(DisconnectedError):
        await asked
    with pytest.raises(DisconnectedError):
        await peer.connection.request("y", {})
    peer.connection.notify("z", {})
    assert len(peer.written.messages()) == 1


async def test_a_line_longer_than_can_be_held_ends_it(peer):
    peer.reader.feed_data(b"x" * 5000)

    await asyncio.wait_for(peer.task, 5)


async def test_half_a_character_does_not_break_the_connection(peer):
    peer.connection.notify("say", {"text": "half \ud83d of it"})

    assert peer.written.messages() == [
        {"jsonrpc": "2.0", "method": "say", "params": {"text": "half ? of it"}}
    ]


async def test_a_bug_in_a_handler_is_not_swallowed(peer):
    peer.says({"id": 1, "method": "add", "params": {}})

    with pytest.raises(ExceptionGroup) as raised:
        await peer.task
    assert isinstance(raised.value.exceptions[0], KeyError)


async def test_messages_after_headers_are_read_and_written(eventually):
    peer = Peer(Headers())
    text = '{"method": "hé", "params": {}}'.encode()
    head = b"Content-Length: %d\r\nContent-Type: x\r\n\r\n" % len(text)
    for byte in head + text:
        peer.reader.feed_data(bytes([byte]))
    peer.connection.notify("ü", {})

    await eventually(lambda: peer.notices)
    peer.reader.feed_data(b"Content-Length: 10\r\n\r\n{")
    peer.reader.feed_eof()
    await peer.task

    assert peer.notices == [("hé", {})]
    head, _, body = peer.written.data.partition(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(body)
    assert json.loads(body)["method"] == "ü"


async def test_a_last_line_without_an_end_is_not_a_message():
    reader = asyncio.StreamReader()
    reader.feed_data(b'{"method": "half')
    reader.feed_eof()

    assert await Lines().read(reader) == b""
