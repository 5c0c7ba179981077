"""culture-agent with a backend that needs no program of others: it does what it is told in the prompt.

    python -m support.scripted NICK --config FILE

In a question, `hold` holds the turn until it is interrupted, `tool` within a tool, and `cling` for good;
`die` ends the backend, `fail` the turn, and `quiet` ends it without a word. `shell COMMAND` is answered by
what the command prints. Anything else, and what is asked again, is answered where it was asked, by the
agent's own socket.
"""

import asyncio
import json
import os
import re
from contextlib import suppress

from culture.agent.backends.table import BACKENDS
from culture.agent.contract import (
    AgentRunnerBase,
    Assistant,
    ContextChanged,
    Effort,
    Message,
    Result,
    SessionSpec,
    Text,
    ToolUse,
)
from culture.daemons.agent import main

_PROMPT = re.compile(r"\[IRC (?:DM|.* in (?P<channel>#\S+?))\] <(?P<nick>\S+)> (?P<text>.*)")


class ScriptedRunner(AgentRunnerBase):
    def __init__(self, spec: SessionSpec) -> None:
        self._spec = spec
        self._prompts: asyncio.Queue[str] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._is_interrupted = asyncio.Event()

    async def start(self, initial_prompt: str = "") -> None:
        self._prompts = asyncio.Queue()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._exit(0)

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        self._prompts.put_nowait(text)

    async def interrupt(self) -> None:
        self._is_interrupted.set()

    async def compact(self) -> None:
        await self._tell(ContextChanged("compacted"))

    async def clear(self) -> None:
        await self._tell(ContextChanged("cleared"))

    def is_running(self) -> bool:
        return self._task is not None

    @property
    def session_id(self) -> str | None:
        return (self._spec.resume or "scripted") if self._task is not None else None

    async def _run(self) -> None:
        while True:
            prompt = await self._prompts.get()
            if "die" in prompt and "[IRC again]" not in prompt:
                self._task = None
                await self._result("it was told to die")
                return await self._exit(1)
            await self._turn(prompt)

    async def _turn(self, prompt: str) -> None:
        self._is_interrupted.clear()
        if ("hold" in prompt or "tool" in prompt) and "[IRC again]" not in prompt:
            block = ToolUse("1", "Bash", {}) if "tool" in prompt else Text("…")
            await self._tell(Assistant("scripted", (block,)))
            await (asyncio.Event() if "cling" in prompt else self._is_interrupted).wait()
            await self._result("interrupted")
            return
        if "shell " in prompt:
            await self._run_in_shell(prompt)
            return
        for line in prompt.splitlines():
            if (asked := _PROMPT.fullmatch(line)) and "quiet" not in prompt and "fail" not in prompt:
                await self._say(asked["channel"] or asked["nick"], f"{asked['nick']}: {asked['text']}, done")
        await self._result("it was told to fail" if "fail" in prompt else "")

    async def _run_in_shell(self, prompt: str) -> None:
        asked = _PROMPT.fullmatch(prompt.splitlines()[-1])
        assert asked is not None
        process = await asyncio.create_subprocess_shell(
            asked["text"].partition("shell ")[2],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **self._spec.env},
        )
        out, _ = await process.communicate()
        await self._say(
            asked["channel"] or asked["nick"], f"{process.returncode}: {' '.join(out.decode().split())}"
        )
        await self._result("")

    async def _say(self, target: str, text: str) -> None:
        reader, writer = await asyncio.open_unix_connection(self._spec.env["CULTURE_SOCKET"])
        request = {"id": "1", "type": "irc_send", "channel": target, "message": text}
        writer.write(json.dumps(request).encode() + b"\n")
        await reader.readline()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _result(self, error: str) -> None:
        await self._tell(Result(error, cost_usd=0.001, duration_ms=1))

    async def _tell(self, message: Message) -> None:
        assert self.on_message is not None
        await self.on_message(message)

    async def _exit(self, code: int) -> None:
        assert self.on_exit is not None
        await self.on_exit(code)


if __name__ == "__main__":
    BACKENDS["claude"] = ScriptedRunner
    main()
