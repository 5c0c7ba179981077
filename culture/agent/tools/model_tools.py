"""Offer the verbs of the irc skill as tools that the model calls in the daemon's process."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from culture.agent.contract import Tool
from culture.agent.skill.showing import SHOW
from culture.agent.skill.verbs import VERBS
from culture.agent.tools.whispers import Whispers

TOOLS: Final = frozenset(verb.request for verb in VERBS.values())

Handler = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


def make_tools(handler: Handler, whispers: Whispers) -> tuple[Tool, ...]:
    """Return one tool per verb. `handler` runs the requests, as it does for the agent's socket."""
    return tuple(
        Tool(verb.request, verb.about, verb.schema, _runner(verb.request, handler, whispers))
        for verb in VERBS.values()
    )


def _runner(
    request: str, handler: Handler, whispers: Whispers
) -> Callable[[Mapping[str, Any]], Awaitable[str]]:
    async def run(arguments: Mapping[str, Any]) -> str:
        data = await handler({**arguments, "type": request})
        return "\n".join([*map(str, whispers.take()), str(SHOW[request](data))])

    return run
