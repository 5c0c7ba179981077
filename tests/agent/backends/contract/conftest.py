"""The contract that every backend keeps, on its real program; only the model is scripted."""

import pytest
from support.backends import ROWS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs for every backend, unless one lacks what the test needs."""
    needs = {name for mark in metafunc.definition.iter_markers("needs") for name in mark.args}
    rows = [
        pytest.param(row, id=name, marks=[pytest.mark.slow] if row.is_installed else [])
        for name, row in ROWS.items()
        if not needs & row.lacks
    ]
    metafunc.parametrize("row", rows)
