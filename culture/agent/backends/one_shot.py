"""Ask a backend one thing in a session of its own, and end that session."""

import asyncio
from typing import Final

from culture.agent.contract import AgentRunnerBase, Assistant, Message, Result, SideAnswer, UsageReport
from culture.errors import TemporaryError

TIMEOUT_S: Final = 180.0


async def ask_once(runner: AgentRunnerBase, prompt: str) -> SideAnswer:
    """Start a runner, ask it, and stop it. Raise CultureError if there is no answer."""
    said: list[Assistant] = []
    reported: list[UsageReport] = []
    ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    async def receive(message: Message) -> None:
        match message:
            case Assistant():
                said.append(message)
            case UsageReport():
                reported.append(message)
            case Result() if not ended.done():
                ended.set_result(message)

    runner.on_message = receive
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await runner.start(prompt)
            result = await ended
    except TimeoutError:
        raise TemporaryError(f"the model did not answer within {TIMEOUT_S:.0f} s") from None
    finally:
        await runner.stop()
    if result.failed:
        raise TemporaryError(f"the model did not answer: {result.error}")
    used = result.usage or (reported[-1].usage if reported else None)
    text = "\n".join(message.text for message in said if message.text)
    model = said[-1].model if said else ""
    answer = SideAnswer(text, cost_usd=result.cost_usd, model=model)
    return answer if used is None else SideAnswer(text, used, result.cost_usd, model)
