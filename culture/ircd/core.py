"""The server: a function of what arrived. A driver carries out what it decided.

The driver calls `connect`, `received`, `disconnected`, `held_back` and `tick`, then writes what `drain`
names. One call is one step: nothing here waits, and nothing happens between calls.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from culture.config.ircd import IrcdConfig
from culture.ircd.announce import announce
from culture.ircd.auth import Answer, Authenticator, Question
from culture.ircd.batch import Batch
from culture.ircd.channel import Channel
from culture.ircd.events import Event, Quit, Said, Stamp
from culture.ircd.labels import LABEL, labeled
from culture.ircd.refusal import Refusal, need_more_params
from culture.ircd.session import READY, Phase, Session
from culture.ircd.state import State
from culture.ircd.text import LINE_BYTES, cut, one_word, room_behind
from culture.ircd.user import User
from culture.names import Folded, fold
from culture.protocol.capabilities import Cap
from culture.protocol.framing import OVERLONG
from culture.protocol.line import Line, MalformedLine, format_line, parse_line
from culture.protocol.numerics import (
    ERR_ALREADYREGISTERED,
    ERR_INPUTTOOLONG,
    ERR_NOTREGISTERED,
    ERR_UNKNOWNCOMMAND,
    RPL_MONOFFLINE,
    RPL_MONONLINE,
)
from culture.protocol.render import Rendered

WAITING_BYTES: Final = 65536
"""What a client may say while a question about it is open."""


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the command table: what runs, with how many parameters at least, and in which phases."""

    run: Callable[["Ircd", Session, Line], None]
    params: int = 0
    phases: frozenset[Phase] = READY


class Ircd:
    def __init__(
        self,
        config: IrcdConfig,
        commands: Mapping[str, Command],
        *,
        clock: Callable[[], float],
        timer: Callable[[], float],
        new_id: Callable[[], str],
        version: str,
        password: str = "",
    ) -> None:
        self.config = config
        self.limits = config.limits
        self.name = config.name
        self.version = version
        self.password = password
        self.oper_passwords: Mapping[str, str] = {}
        """By the names of operators."""
        self.on_rehash: Callable[[], object] = lambda: None
        """The driver is to read the configuration again, once this call is over."""
        self.commands = commands
        self.clock = clock
        """The time of day, which may jump; `timer` never does."""
        self.timer = timer
        self.new_id = new_id
        self.started_at = clock()
        self.state = State()
        self.sessions: set[Session] = set()
        self.reserved: dict[Folded, Session] = {}
        """Nicks that clients hold which are still registering."""
        self._dirty: dict[Session, None] = {}
        self._batch: Batch | None = None
        self._questions: list[Question[Any]] = []

    def reconfigure(self, config: IrcdConfig) -> None:
        """From now on. The name stays: clients know the server by it."""
        self.config = config
        self.limits = config.limits

    # What arrives.

    def connect(self, host: str, peer: str) -> Session:
        """A new connection. `host` is what others see of where it comes from."""
        now = self.clock()
        user = User(host, signed_on_at=now, spoke_at=now)
        session = Session(user, peer, connected_at=self.timer(), heard_at=self.timer())
        user.session = session
        self.sessions.add(session)
        return session

    def received(self, session: Session, raw: bytes) -> None:
        """One line without its end, or OVERLONG for one that was too long."""
        if session.phase is Phase.CLOSED:
            return
        session.heard_at = self.timer()
        session.ping_sent_at = None
        if session.question is not None:
            self._wait(session.question, raw)
            return
        if raw == OVERLONG:
            self.reply(session, ERR_INPUTTOOLONG, "Input line was too long")
            return
        try:
            line = parse_line(raw.decode())
        except UnicodeDecodeError:
            self.fail(session, "*", "INVALID_UTF8", "Your line is not UTF-8 and was dropped")
        except MalformedLine as error:
            self.fail(session, "*", "INVALID_LINE", f"Your line was dropped: {error}")
        else:
            self._answer(session, line)

    def disconnected(self, session: Session, reason: str) -> None:
        """The connection is gone; whoever shared a channel with it learns why."""
        self.close(session, reason)
        self._dirty.pop(session, None)

    def held_back(self, session: Session) -> None:
        """The reader is behind and its output could not be written. Beyond the bound it is let go.

        Only the driver can tell: a burst that one turn of the loop brings is no fault of the reader.
        """
        if 0 < self.limits.sendq_bytes < session.queued_bytes:
            session.take_output()
            self.close(session, "SendQ exceeded")

    def tick(self) -> None:
        """Time passed: ask silent clients whether they are there, and let go of those that are not."""
        now = self.timer()
        for session in list(self.sessions):
            silent_s = now - session.heard_at
            if session.phase is Phase.REGISTERING:
                if 0 < self.limits.registration_timeout_s <= now - session.connected_at:
                    self.close(session, "Registration timeout")
            elif session.ping_sent_at is not None:
                if 0 < self.limits.ping_timeout_s <= now - session.ping_sent_at:
                    self.close(session, f"Ping timeout: {int(silent_s)} seconds")
            elif 0 < self.limits.ping_interval_s <= silent_s:
                session.ping_sent_at = now
                self.send(session, f"PING :{self.name}")

    # What is asked of the outside, and what it answers.

    def ask(
        self,
        session: Session,
        ask: Callable[[Authenticator], Answer],
        then: Callable[[Answer], None],
        unavailable: Callable[[], None],
    ) -> None:
        """For the driver to answer, later. The client's next lines wait until it did."""
        session.question = Question(session, ask, then, unavailable)
        self._questions.append(session.question)

    def take_questions(self) -> list[Question[Any]]:
        questions, self._questions = self._questions, []
        return questions

    def answered(self, question: Question[Answer], answer: Answer) -> None:
        self._resume(question, partial(question.then, answer))

    def unanswered(self, question: Question[Any]) -> None:
        """Nobody could be asked."""
        self._resume(question, question.unavailable)

    # What goes out.

    def drain(self) -> list[Session]:
        """The sessions that have something to be written, or are to be closed once it is."""
        self._settle()
        dirty = list(self._dirty)
        self._dirty.clear()
        return dirty

    def send(self, session: Session, line: str) -> None:
        """To one client. What its own words made too long ends where a line has to."""
        fitting = cut(line, LINE_BYTES)
        self._queue(session, Rendered(fitting, self.clock()).form(session.form))

    def reply(self, session: Session, numeric: str, *params: str, trailing: bool = True) -> None:
        """A numeric. Its last parameter has a colon unless it is a word that clients expect bare."""
        line = format_line(numeric, session.user.nick, *params, source=self.name, trailing=trailing)
        self.send(session, line)

    def room_for(self, session: Session, numeric: str, *params: str) -> int:
        """How many bytes of text fit in a reply with these parameters."""
        return room_behind(self.name, numeric, session.user.nick, *params)

    def refuse(self, session: Session, refusal: Refusal) -> None:
        *middle, text = refusal.params
        self.reply(session, refusal.numeric, *map(one_word, middle), text)

    def fail(
        self, session: Session, command: str, code: str, text: str, *, enabled_by: Cap = Cap.STANDARD_REPLIES
    ) -> None:
        """A failure that no numeric says, to clients that know FAIL (IRCv3 standard-replies)."""
        if not session.caps.isdisjoint((enabled_by, Cap.STANDARD_REPLIES)):
            line = format_line("FAIL", command, code, text, source=self.name, trailing=True)
        else:
            line = format_line("NOTICE", session.user.nick, text, source=self.name, trailing=True)
        self.send(session, line)

    def publish(self, event: Event) -> None:
        """The one road of every event: it takes effect, and everyone concerned is told."""
        if self._batch is not None and not isinstance(event, Said):
            # Those who leave, or are called otherwise from now on, still get what was said before.
            self._settle()
        stamp = Stamp(self.new_id(), self.clock())
        told = announce(event, self.state)
        self.state.apply(event, stamp.at)
        account = told.source.account
        rendered = Rendered(told.line, stamp.at, told.tags, msgid=stamp.id, account=account)
        if told.channel is not None:
            self._add_to_batch(told.channel, rendered, told.not_to)
            return
        extended_cap, extended = None, rendered
        if told.extended is not None:
            extended_cap, line = told.extended
            extended = Rendered(line, stamp.at, told.tags, msgid=stamp.id, account=account)
        for user in told.audience:
            session = user.session
            if session is None or (user is told.not_to and Cap.ECHO_MESSAGE not in session.caps):
                continue
            if told.needs is not None and told.needs not in session.caps:
                continue
            form = extended if extended_cap in session.caps else rendered
            self._queue(session, form.form(session.form))

    def close(self, session: Session, reason: str) -> None:
        """Say goodbye, tell the others, forget the session. The driver hangs up after the last byte."""
        if session.phase is Phase.CLOSED:
            return
        was_registered = session.phase is Phase.REGISTERED
        self.send(
            session, format_line("ERROR", f"Closing Link: {session.user.host} ({reason})", trailing=True)
        )
        session.phase = Phase.CLOSED
        session.close_reason = reason
        session.question = None
        self.sessions.discard(session)
        if was_registered:
            self.publish(Quit(session.user, reason))
            self.state.watchers.forget(session.user)
            self.tell_offline(session.user.nick)
        else:
            self.release_nick(session)

    def tell_online(self, user: User) -> None:
        """Whoever monitors the nick learns that somebody has it now."""
        for watcher in self.state.watchers.of(user.key):
            if watcher.session is not None:
                self.reply(watcher.session, RPL_MONONLINE, user.mask)

    def tell_offline(self, nick: str) -> None:
        for watcher in self.state.watchers.of(fold(nick)):
            if watcher.session is not None:
                self.reply(watcher.session, RPL_MONOFFLINE, nick)

    def release_nick(self, session: Session) -> None:
        """Give up the nick that a registering client holds."""
        if self.reserved.get(session.user.key) is session:
            del self.reserved[session.user.key]

    # Inside.

    def _add_to_batch(self, channel: Channel, line: Rendered, not_to: User | None) -> None:
        if self._batch is None or self._batch.channel is not channel:
            self._settle()
            self._batch = Batch(channel)
        self._batch.add(line, not_to)

    def _settle(self) -> None:
        """Hand out what was said in a run, before anything else is."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self._dirty.update(dict.fromkeys(batch.hand_out()))

    def _queue(self, session: Session, data: bytes) -> None:
        """Never waits: a reader that is too slow pays alone, with its connection (`held_back`)."""
        if self._batch is not None:
            self._settle()
        if session.phase is not Phase.CLOSED:
            self._queue_last(session, data)

    def _queue_last(self, session: Session, data: bytes) -> None:
        """Also to a session that just ended: its last words."""
        session.outbox.append(data)
        session.queued_bytes += len(data)
        self._dirty[session] = None

    def _answer(self, session: Session, line: Line) -> None:
        label = line.tags.get(LABEL)
        if label is None or not {Cap.LABELED_RESPONSE, Cap.BATCH} <= session.caps:
            self._dispatch(session, line)
            return
        self._label(session, label, partial(self._dispatch, session, line))

    def _label(self, session: Session, label: str, act: Callable[[], None]) -> None:
        # What waits already was not brought about by this.
        self._settle()
        waiting, session.outbox = session.outbox, []
        act()
        self._settle()
        answers, session.outbox = session.outbox, waiting
        session.queued_bytes -= sum(map(len, answers))
        if session.question is not None and not answers:
            session.question.label = label
        else:
            self._queue_last(session, labeled(label, answers, self.name, self.new_id))

    def _attempt(self, session: Session, act: Callable[[], None]) -> None:
        try:
            act()
        except Refusal as refusal:
            self.refuse(session, refusal)

    def _wait(self, question: Question[Any], raw: bytes) -> None:
        question.waiting.append(raw)
        if sum(map(len, question.waiting)) > WAITING_BYTES:
            self.close(question.session, "Excess flood")

    def _resume(self, question: Question[Any], act: Callable[[], None]) -> None:
        session = question.session
        if session.question is not question:
            # It left meanwhile.
            return
        session.question = None
        if question.label is None:
            self._attempt(session, act)
        else:
            self._label(session, question.label, partial(self._attempt, session, act))
        for raw in question.waiting:
            self.received(session, raw)

    def _dispatch(self, session: Session, line: Line) -> None:
        try:
            self._run(session, line)
        except Refusal as refusal:
            self.refuse(session, refusal)

    def _run(self, session: Session, line: Line) -> None:
        command = self.commands.get(line.command)
        if session.phase is Phase.REGISTERING and (command is None or session.phase not in command.phases):
            raise Refusal(ERR_NOTREGISTERED, "You have not registered")
        if command is None:
            raise Refusal(ERR_UNKNOWNCOMMAND, line.command, "Unknown command")
        if session.phase not in command.phases:
            raise Refusal(ERR_ALREADYREGISTERED, "You may not reregister")
        if len(line.params) < command.params:
            raise need_more_params(line.command)
        command.run(self, session, line)
