"""A network that remembers what is said on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.history import Remembering, remembering


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Remembering]:
    with remembering(tmp_path) as network:
        yield network
