"""A project for the tests of teams."""

from pathlib import Path

import pytest
from support.project import Project, make_project


@pytest.fixture
async def project(tmp_path: Path) -> Project:
    return await make_project(tmp_path)
