"""What tests of sockets need of the kernel."""

import pytest
from support.requirement import unable

from culture.net.sockets.batch_io import BatchIo


@pytest.fixture
def io_uring() -> None:
    try:
        BatchIo().close()
    except OSError as error:
        unable(f"no io_uring: {error.strerror}")
