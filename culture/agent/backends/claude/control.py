"""Control requests to the CLI that claude-agent-sdk has no method for.

They are not documented. tests/agent/backends/test_claude_figures.py checks them with the program that the SDK
brings; an older or a newer program may refuse them, and then the figures are less exact.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from claude_agent_sdk import ClaudeSDKClient

from culture.agent.contract import Effort, Usage

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 5.0
# The CLI has no level below low.
_LEVELS: Final[Mapping[Effort, str]] = {"off": "low"}


@dataclass(frozen=True, slots=True)
class Totals:
    """What a CLI process has used so far, with its sub-agents and its own small calls."""

    usage: Usage = field(default_factory=Usage)
    cost_usd: float = 0.0

    def since(self, before: "Totals") -> "Totals":
        """Return what was used after `before`."""
        now, then = self.usage, before.usage
        used = Usage(
            max(now.input_tokens - then.input_tokens, 0),
            max(now.cached_tokens - then.cached_tokens, 0),
            max(now.output_tokens - then.output_tokens, 0),
        )
        return Totals(used, max(self.cost_usd - before.cost_usd, 0.0))


def totals_of(cost_usd: float | None, model_usage: Mapping[str, Any] | None) -> Totals:
    """Convert the totals that a result and a usage report of the CLI contain."""
    used = Usage()
    for model in (model_usage or {}).values():
        cached = model.get("cacheReadInputTokens") or 0
        given = (model.get("inputTokens") or 0) + (model.get("cacheCreationInputTokens") or 0) + cached
        used += Usage(given, cached, model.get("outputTokens") or 0)
    return Totals(used, cost_usd or 0.0)


async def read_totals(client: ClaudeSDKClient) -> Totals | None:
    """Ask the CLI what it has used so far. Return None if it does not say."""
    answer = await _request(client, {"subtype": "get_usage", "skip_behaviors": True})
    match answer:
        case {"session": {"total_cost_usd": int() | float() as cost, "model_usage": dict(models)}}:
            return totals_of(float(cost), models)
        case _:
            return None


async def set_effort(client: ClaudeSDKClient, effort: Effort | None) -> None:
    """Set the effort of the next prompts; None restores that of the session."""
    level = None if effort is None else _LEVELS.get(effort, effort)
    await _request(client, {"subtype": "apply_flag_settings", "settings": {"effortLevel": level}})


async def _request(client: ClaudeSDKClient, request: dict[str, Any]) -> dict[str, Any] | None:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            answer: dict[str, Any] = await client._query._send_control_request(request)  # type: ignore[union-attr]
            return answer
    except Exception as error:
        # The SDK raises bare exceptions for refusals. The session works without these requests.
        log.debug("claude refused %s: %s", request["subtype"], error)
        return None
