"""Real IRC servers, of others and our own, started for a test."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.servers import SERVERS, Server, serve, serve_linked


@pytest.fixture
def server_home() -> Iterator[Path]:
    """Not below pytest's own directory, which is for its user alone: ngircd gives up root by itself."""
    path = Path(tempfile.mkdtemp(prefix="culture-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def ngircd(server_home) -> Iterator[Server]:
    yield from serve("ngircd", server_home)


@pytest.fixture(params=SERVERS)
def any_server(request, server_home) -> Iterator[Server]:
    yield from serve(request.param, server_home)


@pytest.fixture
def linked_servers(server_home) -> Iterator[tuple[Server, Server]]:
    yield from serve_linked(server_home)
