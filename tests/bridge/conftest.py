"""A server and a bridge."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.bridge import BridgeProcess
from support.servers import Server, serve


@pytest.fixture
def home() -> Iterator[Path]:
    """Not below pytest's own directory, which is for its user alone: ngircd gives up root by itself."""
    path = Path(tempfile.mkdtemp(prefix="culture-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def server(request, home: Path) -> Iterator[Server]:
    """Ours, or the one that the test names."""
    place = home / "server"
    place.mkdir(mode=0o755)
    yield from serve(getattr(request, "param", "culture-ircd"), place)


@pytest.fixture
async def bridge(home: Path, server: Server) -> AsyncIterator[BridgeProcess]:
    made = BridgeProcess(home, server.address)
    made.add_client("harper", "harper")
    made.add_client("team", "em", speak_as=["member-*"], channels=["#project", "#work-*"])
    made.add_client("guest", "guest", wiki="read")
    async with made.running():
        yield made
