"""Choose the server's event loop: uvloop if it is installed, else asyncio's own."""

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
