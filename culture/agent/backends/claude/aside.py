"""Ask Claude Code one thing in a session of its own that has no tools, and end that session."""

import asyncio
import os
import uuid
from dataclasses import replace
from typing import Final

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKError, ResultError, ResultMessage

from culture.agent.backends.claude import messages
from culture.agent.backends.claude.cli import find_cli
from culture.agent.backends.claude.control import Totals, read_totals, totals_of
from culture.agent.backends.claude.options import make_toolless_options
from culture.agent.backends.claude.process import CliProcess
from culture.agent.contract import SessionSpec, SideAnswer
from culture.errors import TemporaryError

TIMEOUT_S: Final = 180.0


async def ask_once(spec: SessionSpec, system: str, prompt: str) -> SideAnswer:
    """Ask in a new session, which knows only the system prompt. Raise CultureError if there is no answer."""
    return await _ask(spec, system, prompt, fork_of="")


async def ask_fork(spec: SessionSpec, session_id: str, prompt: str) -> SideAnswer | None:
    """Ask in a fork of a session, which goes on undisturbed. Return None if the program cannot fork it.

    Never fork a session whose last tool call was deferred: the fork would run that call.
    """
    try:
        return await _ask(replace(spec, thinking="low"), spec.briefing, prompt, fork_of=session_id)
    except ResultError:
        return None


async def _ask(spec: SessionSpec, system: str, prompt: str, fork_of: str) -> SideAnswer:
    program = await asyncio.to_thread(find_cli, os.environ, spec.command)
    cli = CliProcess(str(uuid.uuid4()))
    try:
        file = cli.text_file(system)
        options = make_toolless_options(spec, program, file, cli.last_words.append, os.environ)
        if fork_of:
            options.resume, options.fork_session = fork_of, True
        async with asyncio.timeout(TIMEOUT_S):
            return await _answer(cli, options, prompt)
    except TimeoutError:
        raise TemporaryError(f"claude did not answer within {TIMEOUT_S:.0f} s") from None
    finally:
        await cli.close()


async def _answer(cli: CliProcess, options: ClaudeAgentOptions, prompt: str) -> SideAnswer:
    await cli.connect(options)
    # The total of a fork may include what its origin spent.
    before = await read_totals(cli.client)
    try:
        await cli.send(prompt)
        async for message in cli.client.receive_messages():
            if isinstance(message, ResultMessage):
                return _side_answer(message, before)
    except ClaudeSDKError as error:
        raise TemporaryError(f"claude did not answer: {error}") from None
    raise TemporaryError("claude ended without an answer")


def _side_answer(message: ResultMessage, before: Totals | None) -> SideAnswer:
    if error := messages.error_of(message):
        raise TemporaryError(f"claude did not answer: {error}")
    used = totals_of(message.total_cost_usd, message.model_usage)
    cost_usd = None
    if before is not None:
        used = used.since(before)
        cost_usd = used.cost_usd
    model = next(iter(message.model_usage or {}), "")
    return SideAnswer(message.result or "", used.usage, cost_usd, model)
