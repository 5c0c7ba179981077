"""A rehearsal server on a free port, for the tests of everything that asks it."""

import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from culture.config.loader import parse
from culture.rehearsal.script import Script
from culture.rehearsal.server import RehearsalServer


@dataclass(frozen=True)
class Stage:
    server: RehearsalServer
    url: str
    http: aiohttp.ClientSession

    def ask(self, prompt: str, **more: Any) -> Any:
        body = {"model": "claude-test", "max_tokens": 100, "messages": [{"role": "user", "content": prompt}]}
        return self.http.post(f"{self.url}/v1/messages", json=body | more)


@contextlib.asynccontextmanager
async def playing(script: Script) -> AsyncIterator[Stage]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with RehearsalServer(script) as server, aiohttp.ClientSession() as http:
            await server.listen([listener])
            yield Stage(server, url, http)


@pytest.fixture
def play() -> Callable[[str | Script], contextlib.AbstractAsyncContextManager[Stage]]:
    """`async with play(script) as stage`: a server that plays this script (YAML, or loaded)."""

    def start(script: str | Script) -> contextlib.AbstractAsyncContextManager[Stage]:
        return playing(parse(script, Script, where="script.yaml") if isinstance(script, str) else script)

    return start
