"""A bridge as a process, and MCP clients that use it."""

import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import yaml
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from culture.bridge.tokens import hash_token, new_token
from culture.config.address import TcpAddress
from support.program import Program


class BridgeProcess:
    """culture-bridge with a configuration of its own, on a free port."""

    def __init__(self, home: Path, server: TcpAddress, **settings: Any) -> None:
        self.home = home
        self.path = home / "bridge.yaml"
        self.port = free_port()
        self.tokens: dict[str, str] = {}
        self.settings: dict[str, Any] = {
            "server": {"host": server.host, "port": server.port},
            "listen": [f"127.0.0.1:{self.port}"],
            "channels": ["#project"],
            "clients": [],
            **settings,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def add_client(self, name: str, nick: str, **settings: Any) -> str:
        """Returns its token."""
        token = self.tokens[name] = new_token()
        self.settings["clients"].append(
            {"name": name, "nick": nick, "token_sha256": hash_token(token), **settings}
        )
        return token

    def write(self) -> None:
        self.path.write_text(yaml.safe_dump(self.settings))

    @contextlib.asynccontextmanager
    async def running(self, env: dict[str, str] | None = None) -> AsyncIterator[Program]:
        self.write()
        program = Program("culture.daemons.bridge", "--config", str(self.path), home=self.home, env=env)
        try:
            await program.says("listening on")
            yield program
        finally:
            program.stop()

    @contextlib.asynccontextmanager
    async def client(self, name: str, mode: str = "auto") -> AsyncIterator[Client]:
        """The client of the MCP project, with the token of a configured client."""
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def text_of(result: Any) -> str:
    """What a model reads of a tool's result."""
    return "\n".join(each.text for each in result.content)
