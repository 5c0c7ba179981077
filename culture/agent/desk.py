"""What an agent's skill can have done: on IRC here, and by the daemon what only the daemon can do."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from culture.agent import workplace
from culture.agent.asking import Questions
from culture.agent.buffers import Buffers
from culture.agent.prompt import neutral, spoken
from culture.agent.whereabouts import Whereabouts
from culture.client import inquiry
from culture.client.client import Client, Sent
from culture.client.events import Said
from culture.client.splitting import one_line
from culture.errors import TemporaryError

Data = dict[str, Any]


class Work(Protocol):
    """What the daemon does for its agent, and tells about it."""

    async def say(self, target: str, text: str) -> Sent:
        """Returns when the server has it. Raises what the server objects."""

    def status(self) -> str: ...

    def status_screen(self) -> dict[str, Any]:
        """Label and value, in the order in which they are read."""

    def queue_rows(self) -> list[dict[str, Any]]: ...

    async def compact(self) -> None: ...

    async def clear(self) -> None: ...

    def pause(self, why: str) -> None: ...

    def resume(self) -> bool: ...


class Desk:
    def __init__(
        self,
        client: Client,
        buffers: Buffers,
        work: Work,
        whereabouts: Whereabouts,
        allow_from: Sequence[str],
    ) -> None:
        self._client = client
        self._buffers = buffers
        self._work = work
        self._whereabouts = whereabouts
        self.questions = Questions(lambda: client.nick, client.members, allow_from)

    async def say(self, target: str, text: str) -> Data:
        return {"lines": len((await self._work.say(target, text)).lines)}

    def read(self, conversation: str, limit: int) -> Data:
        return asdict(self._buffers.read(conversation, limit))

    async def ask(self, target: str, text: str, timeout_s: int) -> Data:
        with self.questions.asked(target) as question:
            # Open before it is asked: an answer can be as fast as the server's word that it was sent.
            question.msgids = (await self._work.say(target, text)).msgids
            try:
                async with asyncio.timeout(timeout_s):
                    return _answer(await question.answer)
            except TimeoutError:
                hint = "no answer is no consent: ask somebody else, or leave undone what depends on it"
                raise TemporaryError(f"nobody answered within {timeout_s} s", hint=hint) from None

    async def join(self, channel: str) -> Data:
        await self._client.join(channel)
        return {"channel": channel, "members": len(self._client.members(channel))}

    async def part(self, channel: str, reason: str) -> Data:
        await self._client.part(channel, one_line(reason))
        return {"channel": channel}

    def channels(self) -> Data:
        named = ((channel, len(self._client.members(channel))) for channel in self._client.channels())
        return {"channels": [{"channel": channel, "members": members} for channel, members in named]}

    async def who(self, target: str) -> Data:
        return {"members": [_member(each) for each in await inquiry.who(self._client, target)]}

    async def topic(self, channel: str, new: str | None) -> Data:
        if new is not None:
            await inquiry.set_topic(self._client, channel, one_line(new))
        topic = await inquiry.topic(self._client, channel)
        return {"channel": channel, "topic": neutral(topic.text), "set_by": neutral(topic.set_by)}

    async def history(self, target: str, search: str | None, limit: int) -> Data:
        found = (
            await inquiry.recent(self._client, target, limit)
            if search is None
            else await inquiry.search(self._client, target, one_line(search))
        )
        return {"lines": _lines(found[:limit] if search else found[-limit:])}

    def whoami(self) -> Data:
        return {
            "nick": self._client.nick,
            "server": str(self._client.address),
            "channels": self._client.channels(),
            "connected": self._client.is_registered,
            "directory": str(self._whereabouts.directory),
        }

    def status(self) -> Data:
        return {"status": self._work.status(), "screen": self._work.status_screen()}

    def queue(self) -> Data:
        return {"queue": self._work.queue_rows()}

    async def compact(self) -> Data:
        await self._work.compact()
        return {"will_be": "compacted"}

    async def clear(self) -> Data:
        await self._work.clear()
        return {"will_be": "cleared"}

    def pause(self, why: str) -> Data:
        self._work.pause(why)
        return {}

    def resume(self) -> Data:
        return {"was_paused": self._work.resume()}

    def set_directory(self, path: str) -> Data:
        directory = workplace.find_directory(path, self._whereabouts.directory)
        found = [each._asdict() for each in workplace.instructions_in(directory)]
        self._whereabouts.moved(directory)
        return {"directory": str(directory), "instructions": found}


def _answer(said: Said) -> Data:
    return {"nick": neutral(said.sender), "text": "\n".join(spoken(said.text)), "time": said.time or ""}


def _member(member: inquiry.Member) -> Data:
    return {
        "nick": member.nick,
        "modes": member.modes,
        "away": member.is_away,
        "operator": member.is_operator,
        "name": neutral(member.real_name),
    }


def _lines(found: Sequence[inquiry.Remembered]) -> list[Data]:
    return [
        {
            "target": neutral(each.target),
            "nick": neutral(each.nick),
            "time": each.time,
            "text": "\n".join(spoken(each.text)),
        }
        for each in found
    ]
