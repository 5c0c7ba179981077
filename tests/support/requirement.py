"""Where a test cannot run: a skip on a person's machine, a failure where the tests are required."""

import os
from typing import NoReturn

import pytest


def unable(reason: str) -> NoReturn:
    if os.environ.get("CULTURE_REQUIRE_SYSTEM") == "1":
        pytest.fail(f"all tests are required, but {reason}")
    pytest.skip(reason)
