"""An HTTP server on loopback for tests, by any version of aiohttp that a distribution has."""

import contextlib
import inspect
from collections.abc import AsyncIterator

from aiohttp import web

# How long the end of a test waits for requests that are not answered yet.
SHUTDOWN_S = 0.1


@contextlib.asynccontextmanager
async def serving_http(app: web.Application) -> AsyncIterator[str]:
    """Serve an application while the context lasts, and return its address."""
    timeout = {"shutdown_timeout": SHUTDOWN_S}
    # aiohttp 3.9 moved the timeout from the site to the runner.
    is_of_runner = "shutdown_timeout" in inspect.signature(web.BaseRunner.__init__).parameters
    runner = web.AppRunner(app, **(timeout if is_of_runner else {}))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, **({} if is_of_runner else timeout)).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
