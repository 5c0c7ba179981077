"""The operations that an agent's irc skill and culturectl may request."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

from culture.agent.backend import workdir
from culture.agent.contract import ContextChanged
from culture.agent.inbox.buffers import Buffers
from culture.agent.inbox.saved_location import SavedLocation
from culture.agent.questions.questions import Questions
from culture.agent.questions.wording import options_in
from culture.agent.turns.prompt import readable_lines
from culture.client import inquiry
from culture.client.client import Client, Sent
from culture.client.splitting import one_line
from culture.errors import NotAllowedError, UnavailableError
from culture.protocol.plain_text import neutral
from culture.protocol.render import format_time
from culture.store.agent.questions import QuestionKind, StoredQuestion

Data = dict[str, Any]


class AgentControl(Protocol):
    """The operations of the daemon that the toolset uses."""

    async def say(self, target: str, text: str) -> Sent:
        """Send a message and return when the server has accepted it. Raise CultureError if it refuses."""

    def status(self) -> str:
        """Return one line that says what the agent is doing."""

    def whoami(self) -> dict[str, Any]:
        """Return the agent's nick, server, channels and directory."""

    def status_screen(self) -> dict[str, Any]:
        """Return labels and values for `culturectl status`, in the order in which they are shown."""

    def queue_rows(self) -> list[dict[str, Any]]:
        """Return the open and the most recent finished messages of the queue."""

    async def compact(self, *, is_for_agent: bool) -> ContextChanged | None:
        """Ask the backend to compact its context; return the outcome if a person asks."""

    async def clear(self, *, is_for_agent: bool) -> ContextChanged | None:
        """Ask the backend to clear its context; return the outcome if a person asks."""

    def pause(self, why: str, *, interrupt: bool = False) -> None:
        """Begin no more turns until `resume`."""

    def resume(self) -> bool:
        """Begin turns again and return whether the agent was paused."""

    def abort(self, by: str) -> bool:
        """Stop the agent's task for good and return whether it has one."""

    def drop(self, number: int, by: str) -> None:
        """Drop one queued message. Raise UsageError if it does not wait for a turn."""

    async def restart(self, by: str, *, fresh: bool) -> None:
        """Start the backend again, with a new session if `fresh`."""

    def shutdown(self) -> None:
        """End the agent."""


class Toolset:
    """Runs the operations and returns their results as JSON objects."""

    def __init__(
        self,
        client: Client,
        buffers: Buffers,
        control: AgentControl,
        location: SavedLocation,
        questions: Questions,
        *,
        may_read_files: bool,
    ) -> None:
        self._client = client
        self._buffers = buffers
        self._control = control
        self._location = location
        self._may_read_files = may_read_files
        self._questions = questions

    async def say(self, target: str, text: str) -> Data:
        """Send a message and return the number of lines."""
        return {"lines": len((await self._control.say(target, text)).lines)}

    def read(self, conversation: str, limit: int) -> Data:
        """Return the oldest unread lines of a conversation."""
        return asdict(self._buffers.read(conversation, limit))

    async def ask(self, target: str, text: str, timeout_s: int) -> Data:
        """Ask a question and return the answer; raise NotAnsweredError if it did not come in time."""
        options = options_in(text)
        answered = await self._questions.ask(
            QuestionKind.ASK, text, target, options=options, timeout_s=timeout_s
        )
        return _answer(answered)

    def questions(self) -> Data:
        """Return the open questions of the agent."""
        return {"questions": self._questions.rows()}

    def answer(self, id: str, text: str, who: str) -> Data:
        """Answer a question for a person at this machine."""
        question = self._questions.answer(id, text, who)
        return {"question": id, "text": question.text, "choice": question.choice}

    async def join(self, channel: str) -> Data:
        """Join a channel and return the number of its members."""
        await self._client.join(channel)
        return {"channel": channel, "members": len(self._client.members(channel))}

    async def part(self, channel: str, reason: str) -> Data:
        """Leave a channel."""
        await self._client.part(channel, one_line(reason))
        return {"channel": channel}

    def channels(self) -> Data:
        """Return the agent's channels and the number of their members."""
        named = ((channel, len(self._client.members(channel))) for channel in self._client.channels())
        return {"channels": [{"channel": channel, "members": members} for channel, members in named]}

    async def who(self, target: str) -> Data:
        """Return the members of a channel, or one user, as WHO reports them."""
        return {"members": [_member(each) for each in await inquiry.who(self._client, target)]}

    async def topic(self, channel: str, new: str | None) -> Data:
        """Set the topic of a channel if a new one is given, and return the topic."""
        if new is not None:
            await inquiry.set_topic(self._client, channel, one_line(new))
        topic = await inquiry.topic(self._client, channel)
        return {"channel": channel, "topic": neutral(topic.text), "set_by": neutral(topic.set_by)}

    async def history(self, target: str, search: str | None, limit: int) -> Data:
        """Return the last messages of a conversation, or those that match a search."""
        found = (
            await inquiry.recent(self._client, target, limit)
            if search is None
            else await inquiry.search(self._client, target, one_line(search))
        )
        return {"lines": _lines(found[:limit] if search else found[-limit:])}

    def whoami(self) -> Data:
        """Return the agent's nick, server, channels and directory."""
        return self._control.whoami()

    def status(self) -> Data:
        """Return the status line and the data of `culturectl status`."""
        return {"status": self._control.status(), "screen": self._control.status_screen()}

    def queue(self) -> Data:
        """Return the messages of the queue."""
        return {"queue": self._control.queue_rows()}

    async def compact(self, *, is_for_agent: bool) -> Data:
        """Compact the backend's context after the running turn."""
        return _outcome(await self._control.compact(is_for_agent=is_for_agent), "compacted")

    async def clear(self, *, is_for_agent: bool) -> Data:
        """Clear the backend's context after the running turn."""
        return _outcome(await self._control.clear(is_for_agent=is_for_agent), "cleared")

    def pause(self, why: str, *, interrupt: bool) -> Data:
        """Begin no more turns until `resume`."""
        self._control.pause(why, interrupt=interrupt)
        return {}

    def resume(self) -> Data:
        """Begin turns again."""
        return {"was_paused": self._control.resume()}

    def abort(self, by: str) -> Data:
        """Stop the agent's task for good."""
        return {"was_working": self._control.abort(by)}

    def drop(self, number: int, by: str) -> Data:
        """Drop one queued message."""
        self._control.drop(number, by)
        return {}

    async def restart(self, by: str, *, fresh: bool) -> Data:
        """Start the backend again."""
        await self._control.restart(by, fresh=fresh)
        return {}

    def shutdown(self) -> Data:
        """End the agent."""
        self._control.shutdown()
        return {}

    def set_directory(self, path: str) -> Data:
        """Change the agent's working directory and return the instructions for agents that are there."""
        if not self._may_read_files:
            # The answer would tell the agent what exists on the host, whatever the path is.
            hint = "say what you need on IRC"
            raise NotAllowedError("permission_mode 'deny' lets an agent read no files", hint=hint)
        directory = workdir.find_directory(path, self._location.directory)
        found = [each._asdict() for each in workdir.read_instructions(directory)]
        self._location.moved(directory)
        return {"directory": str(directory), "instructions": found}


def _outcome(changed: ContextChanged | None, did: str) -> Data:
    if changed is None:
        return {"will_be": did}
    if changed.failed:
        raise UnavailableError(f"the context was not {did}: {changed.error}")
    return {"was": did}


def _answer(question: StoredQuestion) -> Data:
    return {
        "nick": neutral(question.answered_by),
        "text": "\n".join(readable_lines(question.answer)),
        "time": format_time((question.answered_ms or 0) / 1000),
        "question": question.id,
        "choice": question.choice,
        "authority": question.authority,
    }


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
            "text": "\n".join(readable_lines(each.text)),
        }
        for each in found
    ]
