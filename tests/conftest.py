"""What tests of several parts share: waiting for a condition, with a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

Value = TypeVar("Value")
Eventually = Callable[..., Awaitable[Value]]


@pytest.fixture
def eventually() -> Eventually:
    """`await eventually(condition)`: what the condition gives as soon as it is true."""

    async def wait(condition: Callable[[], Value], within_s: float = 10.0) -> Value:
        deadline = time.monotonic() + within_s
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {within_s} s: {condition}")
            await asyncio.sleep(0.005)
        return value

    return wait
