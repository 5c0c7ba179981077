"""What tests of sockets need of the kernel."""

import pytest
from support.requirement import unable

from culture.net.bulk import Bulk


@pytest.fixture
def io_uring() -> None:
    try:
        Bulk().close()
    except OSError as error:
        unable(f"no io_uring: {error.strerror}")
