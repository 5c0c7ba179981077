"""Only trusted proxies connect from other machines without TLS."""

import pytest
from starlette.types import Message, Receive, Scope, Send

from culture.bridge.exposure import OnlyTrustedProxies


async def answer_of(peer: tuple[str, int] | None, *trusted: str) -> int:
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [], "client": peer}
    await OnlyTrustedProxies(app, trusted)(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("peer", "status"),
    [
        (None, 200),
        (("", 0), 200),
        (("127.0.0.1", 1), 200),
        (("::1", 1), 200),
        (("::ffff:127.0.0.1", 1), 200),
        (("10.0.0.5", 1), 200),
        (("::ffff:10.0.0.5", 1), 200),
        (("10.0.0.6", 1), 403),
        (("fe80::1%eth0", 1), 403),
    ],
)
async def test_other_machines_are_refused_unless_they_are_trusted(peer: tuple[str, int] | None, status: int):
    assert await answer_of(peer, "10.0.0.5/32") == status
