"""What an agent hears: kept for it to read, and taken into its queue where it is worth a turn."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final

from culture.agent.answering import Answering
from culture.agent.answers import asks_for_status
from culture.agent.asking import Questions
from culture.agent.attention import Attention, Concern, concern_of
from culture.agent.buffers import Buffers, Heard
from culture.agent.catchup import CatchUp
from culture.agent.prompt import neutral, spoken
from culture.client.client import Client
from culture.client.events import Echoed, Joined, Said
from culture.errors import CultureError
from culture.names import Folded, fold
from culture.protocol.render import format_time
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import Question

_MARKS_WRITTEN_S: Final = 1.0
"""How long it may be unwritten how far the network was heard. It is heard again from there."""


class Ears:
    """`on_status_asked` is told where somebody wants to know how the agent is doing; that costs no turn."""

    def __init__(
        self,
        client: Client,
        file: AgentFile,
        buffers: Buffers,
        attention: Attention,
        questions: Questions,
        answering: Answering,
        oldest_s: float,
        *,
        on_status_asked: Callable[[str], None],
        on_error: Callable[[CultureError], None],
    ) -> None:
        self._client = client
        self._file = file
        self._buffers = buffers
        self._attention = attention
        self._questions = questions
        self._answering = answering
        self._on_status_asked = on_status_asked
        self._on_error = on_error
        self._catch_up = CatchUp(
            client,
            file.hearing,
            oldest_s,
            time.time,
            self._heard,
            self._note_said,
            buffers.size,
        )
        self._is_caught_up = asyncio.Event()
        self._found: Counter[Folded] = Counter()
        self._writing: asyncio.TimerHandle | None = None

    def connected(self) -> None:
        self._found.clear()
        self._catch_up.begin()

    async def catch_up(self) -> int:
        """How many messages were missed. Raises what kept some of them from being read."""
        try:
            return await self._catch_up.run()
        finally:
            self._write_marks()
            if self._client.is_registered:
                self._is_caught_up.set()

    def received(self, event: Said | Echoed | Joined) -> None:
        """`Joined` is for our own coming."""
        match event:
            case Said():
                self._catch_up.heard(event)
            case Echoed(target, text, msgid, is_notice, at):
                self._catch_up.echoed(event)
                self._spoke(target, text, at, msgid, is_answer=not is_notice)
            case Joined():
                self._catch_up.joined(event)
        self._write_marks_soon()

    def said(self, target: str, text: str) -> None:
        """The agent said this, on a server that does not send back what was said."""
        self._spoke(target, text, None, "", is_answer=True)

    async def next_catch_up(self) -> None:
        """Until a connection that is made from now on has told what was missed."""
        self._is_caught_up.clear()
        await self._is_caught_up.wait()

    def found_own(self, conversation: str) -> int:
        """How many messages of ours the last connection told of there that we were not sure of."""
        return self._found[fold(conversation)]

    def _heard(self, conversation: str, said: Said) -> None:
        """Everything that somebody says comes here once, in order."""
        if fold(said.sender) == fold(self._client.nick):
            # From history, so a process before this one said it. If that is news, it did not live to note it.
            if said.msgid not in self._file.hearing.own:
                self._found[fold(conversation)] += not said.is_notice
                self._spoke(conversation, said.text, said.time, said.msgid, is_answer=not said.is_notice)
            return
        self._note_said(conversation, said)
        if self._questions.take(said):
            return
        own_nick = self._client.nick
        concern = concern_of(
            said, own_nick, self._attention, self._file.hearing.own, self._client.is_operator
        )
        if concern is None:
            return
        if asks_for_status(said, own_nick):
            self._on_status_asked(conversation)
        else:
            self._answering.take(_question(said, concern))

    def _spoke(self, target: str, text: str, at: str | None, msgid: str, *, is_answer: bool) -> None:
        self._note(target, self._client.nick, text, at, msgid)
        if is_answer:
            self._answering.spoke(target, msgid)

    def _note_said(self, conversation: str, said: Said) -> None:
        self._note(conversation, said.sender, said.text, said.time, said.msgid)

    def _note(self, conversation: str, nick: str, text: str, at: str | None, msgid: str) -> None:
        for line in spoken(text):
            heard = Heard(at or format_time(time.time()), neutral(nick), line)
            self._buffers.add(conversation, heard, msgid)

    def _write_marks_soon(self) -> None:
        if self._writing is None and self._file.hearing.has_unwritten:
            loop = asyncio.get_running_loop()
            self._writing = loop.call_later(_MARKS_WRITTEN_S, self._write_marks)

    def _write_marks(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None
        try:
            with self._file.at_once():
                pass
        except CultureError as error:
            self._on_error(error)

    def close(self) -> None:
        self._write_marks()


def _question(said: Said, concern: Concern) -> Question:
    msgid = said.msgid or f"unnamed-{secrets.token_hex(8)}"
    return Question(msgid, concern.value, said.sender, said.channel, said.text, _time_ms(said.time))


def _time_ms(stamp: str | None) -> int:
    try:
        at = datetime.fromisoformat(stamp or "")
    except ValueError:
        return int(time.time() * 1000)
    return int(at.timestamp() * 1000)
