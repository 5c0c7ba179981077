"""What all tools of the bridge share: who calls, and how errors reach the model."""

import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.exceptions import ToolError

from culture.bridge.access import Access
from culture.config.bridge import BridgeClient
from culture.errors import CultureError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Caller:
    """Finds the client that makes the current call."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def admit(self) -> BridgeClient:
        """Return the client, or raise if it may make no call now."""
        token = get_access_token()
        if token is None:
            raise CultureError("a call without a token has passed the authentication")
        return self._access.admit(token.client_id)


def reported(tool: Callable[Parameters, Awaitable[Result]]) -> Callable[Parameters, Awaitable[Result]]:
    """Let a tool report its errors to the model, with their hints."""

    @functools.wraps(tool)
    async def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return await tool(*args, **kwargs)
        except CultureError as error:
            raise ToolError(error.with_hint) from None

    return call
