"""A wiki in a directory of its own."""

from pathlib import Path

import pytest

from culture.wiki.wiki import Wiki


@pytest.fixture
async def wiki(tmp_path: Path) -> Wiki:
    return await Wiki.open(tmp_path / "wiki.git")
