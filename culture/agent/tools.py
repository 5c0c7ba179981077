"""The skill as tools that a model calls without a shell in between: the same rows, the same answers."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from culture.agent.contract import Tool
from culture.agent.skill.showing import SHOW
from culture.agent.skill.verbs import VERBS
from culture.agent.whispers import Whispers

TOOLS: Final = frozenset(verb.request for verb in VERBS.values())

Handler = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


def make_tools(handler: Handler, whispers: Whispers) -> tuple[Tool, ...]:
    """`handler` is the one that the agent's socket has."""
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
