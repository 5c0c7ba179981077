"""What tests of several parts share: waiting for a condition, and a disk that fills up soon."""

import asyncio
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from support.requirement import unable

Value = TypeVar("Value")
Eventually = Callable[..., Awaitable[Value]]

# A loaded machine is slow, which is no property of the code under test.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

# A shell without job control starts background jobs with SIGINT ignored, which programs under test inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def eventually() -> Eventually:
    """`await eventually(condition)`: what the condition gives as soon as it is true."""

    async def wait(condition: Callable[[], Value], within_s: float = 30.0) -> Value:
        deadline = time.monotonic() + within_s
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {within_s} s: {condition}")
            await asyncio.sleep(0.005)
        return value

    return wait


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        unable(f"no file system can be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)
