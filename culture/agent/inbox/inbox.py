"""The inbox of an agent: buffer every message for `irc read`, and queue those that concern the agent."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final

from culture.agent.authority.loop_guard import LoopGuard
from culture.agent.inbox.attention import (
    Attention,
    Concern,
    concern_of,
    is_allowed,
    is_answerable,
    is_from_agent,
    is_person,
)
from culture.agent.inbox.buffers import BufferedLine, Buffers
from culture.agent.inbox.catchup import CatchUp
from culture.agent.inbox.control_words import ControlWord, control_word
from culture.agent.questions.questions import Questions
from culture.agent.reporting.status_query import asks_for_status
from culture.agent.turns.prompt import readable_lines
from culture.agent.turns.turn_loop import TurnLoop
from culture.client.client import Client
from culture.client.events import Echoed, Joined, Said
from culture.errors import CultureError
from culture.names import Folded, fold
from culture.protocol.plain_text import neutral
from culture.protocol.render import format_time
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import UNNAMED, QueuedMessage

# How long read marks may stay unwritten. After a crash, history is replayed from the last written mark.
_WRITE_MARKS_AFTER_S: Final = 1.0


class Inbox:
    """Receives every message once and in order.

    `on_status_asked` is called with the conversation in which somebody asks for the agent's status; that
    starts no turn. `on_control` is called with a word that controls the agent, the message, its time in
    milliseconds, and whether its sender is proved to be a person.
    """

    def __init__(
        self,
        client: Client,
        file: AgentFile,
        buffers: Buffers,
        attention: Attention,
        questions: Questions,
        turn_loop: TurnLoop,
        loop_guard: LoopGuard,
        oldest_s: float,
        *,
        on_status_asked: Callable[[str], None],
        on_control: Callable[[ControlWord, Said, int, bool], None],
        on_error: Callable[[CultureError], None],
    ) -> None:
        self._client = client
        self._file = file
        self._buffers = buffers
        self._attention = attention
        self._questions = questions
        self._turn_loop = turn_loop
        self._loop_guard = loop_guard
        self._on_status_asked = on_status_asked
        self._on_control = on_control
        self._on_error = on_error
        self._catch_up = CatchUp(
            client,
            file.hearing,
            oldest_s,
            time.time,
            self._received,
            self._buffer_message,
            buffers.size,
        )
        self._is_caught_up = asyncio.Event()
        self._own_in_history: Counter[Folded] = Counter()
        self._write_timer: asyncio.TimerHandle | None = None

    def connected(self) -> None:
        """Hold live messages back until `catch_up` has replayed the missed ones."""
        self._own_in_history.clear()
        self._catch_up.begin()

    async def catch_up(self) -> int:
        """Replay missed messages and return their number. Raise CultureError if some could not be read."""
        try:
            return await self._catch_up.run()
        finally:
            self._write_marks()
            if self._client.is_registered:
                self._is_caught_up.set()

    def received(self, event: Said | Echoed | Joined) -> None:
        """Process a message, an echo of the agent's own message, or the agent's own JOIN."""
        match event:
            case Said():
                self._catch_up.heard(event)
            case Echoed(target, text, msgid, is_notice, at):
                # A question is recorded as posted before the mark moves behind it.
                self._questions.own_message(target, text, msgid)
                self._catch_up.echoed(event)
                self._spoke(target, text, at, msgid, is_answer=not is_notice)
            case Joined():
                self._catch_up.joined(event)
        self._write_marks_soon()

    def said(self, target: str, text: str) -> None:
        """Record a message of the agent on a server without echo-message."""
        self._spoke(target, text, None, "", is_answer=True)

    async def next_catch_up(self) -> None:
        """Wait until the next connection has replayed the missed messages."""
        self._is_caught_up.clear()
        await self._is_caught_up.wait()

    def own_messages_in_history(self, conversation: str) -> int:
        """Return how many messages of the agent without an echo the last replay found in a conversation."""
        return self._own_in_history[fold(conversation)]

    def _received(self, conversation: str, said: Said) -> None:
        """Process one message; catch-up calls this once per message, in order."""
        if fold(said.sender) == fold(self._client.nick):
            # It comes from history, so it was sent before this connection. If its msgid is not recorded, the
            # process or the connection ended before the echo arrived.
            if said.msgid not in self._file.hearing.own:
                is_question = self._questions.own_message(conversation, said.text, said.msgid)
                is_answer = not (said.is_notice or is_question)
                self._own_in_history[fold(conversation)] += not said.is_notice
                self._spoke(conversation, said.text, said.time, said.msgid, is_answer=is_answer)
            return
        self._buffer_message(conversation, said)
        self._loop_guard.heard(said)
        word = self._control_word(said)
        # `abort` may be the answer to an open question.
        if word is not None and (word is not ControlWord.ABORT or not self._questions.take(said)):
            is_known = is_person(said, self._attention.people)
            self._on_control(word, said, _time_ms(said.time), is_known)
        elif word is None and not self._questions.take(said):
            self.enqueue_if_relevant(said)

    def _control_word(self, said: Said) -> ControlWord | None:
        """Return the word if somebody who is no agent tells this one to stop, abort, pause or resume."""
        if not is_answerable(said, self._client.nick) or is_from_agent(said):
            return None
        is_sender_allowed = is_allowed(said, self._attention.allow_from)
        return control_word(said, self._client.nick) if is_sender_allowed else None

    def enqueue_if_relevant(self, said: Said) -> None:
        """Queue a message if it concerns the agent."""
        conversation, own_nick = said.channel or said.sender, self._client.nick
        concern = concern_of(
            said, own_nick, self._attention, self._file.hearing.own, self._client.is_operator
        )
        if concern is None:
            return
        if asks_for_status(said, own_nick):
            self._on_status_asked(conversation)
        else:
            self._loop_guard.called(said)
            self._turn_loop.enqueue(_queued_message(said, concern))

    def _spoke(self, target: str, text: str, at: str | None, msgid: str, *, is_answer: bool) -> None:
        self._buffer(target, self._client.nick, text, at, msgid)
        if is_answer:
            self._loop_guard.spoke(target, is_channel=self._client.is_channel(target))
            self._turn_loop.agent_spoke(target, text, msgid)

    def _buffer_message(self, conversation: str, said: Said) -> None:
        self._buffer(conversation, said.sender, said.text, said.time, said.msgid)

    def _buffer(self, conversation: str, nick: str, text: str, at: str | None, msgid: str) -> None:
        for text_line in readable_lines(text):
            line = BufferedLine(at or format_time(time.time()), neutral(nick), text_line)
            self._buffers.add(conversation, line, msgid)

    def _write_marks_soon(self) -> None:
        if self._write_timer is None and self._file.hearing.has_unwritten:
            loop = asyncio.get_running_loop()
            self._write_timer = loop.call_later(_WRITE_MARKS_AFTER_S, self._write_marks)

    def _write_marks(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        try:
            with self._file.at_once():
                pass
        except CultureError as error:
            self._on_error(error)

    def close(self) -> None:
        """Write the read marks."""
        self._write_marks()


def _queued_message(said: Said, concern: Concern) -> QueuedMessage:
    msgid = said.msgid or f"{UNNAMED}{secrets.token_hex(8)}"
    at_ms = _time_ms(said.time)
    return QueuedMessage(
        msgid, concern.value, said.sender, said.channel, said.text, at_ms, is_from_agent(said)
    )


def _time_ms(stamp: str | None) -> int:
    try:
        at = datetime.fromisoformat(stamp or "")
    except ValueError:
        return int(time.time() * 1000)
    return int(at.timestamp() * 1000)
