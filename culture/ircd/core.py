"""The server: a function of what arrived. A driver carries out what it decided.

The driver calls `connect`, `received`, `disconnected`, `held_back` and `tick`, then writes what `drain`
names. One call is one step: nothing here waits, and nothing happens between calls.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from culture.config.ircd import IrcdConfig
from culture.ircd.announce import announce
from culture.ircd.auth import Answer, Authenticator, Question
from culture.ircd.changes import LEAVES_ALL_AS_IT_WAS
from culture.ircd.daytime import forward
from culture.ircd.delivery import Delivery, Output, split_by_cap
from culture.ircd.draft import take
from culture.ircd.events import Change, Event, Quit, Redacted, Said
from culture.ircd.failures import Failure
from culture.ircd.labels import LABEL
from culture.ircd.links import Links
from culture.ircd.monitoring import tell_offline
from culture.ircd.notes import Notes
from culture.ircd.record import Moment, Record
from culture.ircd.refusal import Refusal, need_more_params, not_now
from culture.ircd.session import CLOSED, LINKED, READY, Phase, Session
from culture.ircd.skills import NO_SKILLS, Happening, NotRecordedError, Skills
from culture.ircd.spoken import hearers, spoken
from culture.ircd.stamping import named_in, stamp_change
from culture.ircd.state import State
from culture.ircd.text import LINE_BYTES, cut, one_word, room_behind
from culture.ircd.timeouts import check_all
from culture.ircd.traffic import NO_TRAFFIC, Traffic
from culture.ircd.unreadable import refuse_line
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.happening import CROSSING
from culture.protocol.line import Line, MalformedLine, format_line, parse_line
from culture.protocol.render import Rendered

WAITING_BYTES: Final = 65536
"""What a client may say while a question about it is open."""
NO_PASSWORDS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the command table: what runs, with how many parameters at least, and in which phases."""

    run: Callable[["Ircd", Session, Line], None]
    params: int = 0
    phases: tuple[Phase, ...] = READY


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
        oper_passwords: Mapping[str, str] = NO_PASSWORDS,
        on_rehash: Callable[[Session], object] = lambda operator: None,
        skills: Skills = NO_SKILLS,
    ) -> None:
        """`oper_passwords` are by the names of operators. `on_rehash` gets the file read again."""
        self.config = config
        self.limits = config.limits
        self.name = config.name
        self.version = version
        self.password = password
        self.oper_passwords = oper_passwords
        self.on_rehash = on_rehash
        self.notes = Notes()
        self.skills = skills
        self.commands = commands
        self.clock = forward(clock)
        """The time of day, which may jump; `timer` never does."""
        self.timer = timer
        self.new_id = new_id
        self.started_at = self.clock()
        self.state = State(config.name)
        if config.links:
            # Before the first link: what another process knew of them is to be taken up.
            self.state.expect_guests()
        for known in skills.remembered():
            self.state.remember(known)
        self.heard = dict.fromkeys(commands, 0)
        """How often clients sent which command since the start."""
        self.traffic_of: Callable[[Session], Traffic] = lambda session: NO_TRAFFIC
        """The driver knows, and sets it."""
        self.sessions: set[Session] = set()
        self.record = Record(skills, generation=skills.begin_generation(int(self.started_at)))
        self.delivery = Delivery(is_recorded=self.record.is_wanted)
        self.links: Links | None = None
        self._unobserved: list[Happening] = []
        self._questions: list[Question[Any]] = []

    def link(self, links: Links) -> None:
        """There are other hosts: from now on they are told what happens here."""
        self.links = links
        self.record.want(CROSSING)
        self.state.expect_guests()

    def reconfigure(self, config: IrcdConfig, oper_passwords: Mapping[str, str]) -> None:
        """From now on. The name stays: clients know the server by it."""
        self.config = config
        self.oper_passwords = oper_passwords
        self.limits = config.limits

    # What arrives.

    def connect(self, host: str, peer: str) -> Session:
        """A new connection. `host` is what others see of where it comes from."""
        now = self.clock()
        user = User(host=host, signed_on_at=now, spoke_at=now)
        session = Session(user, peer=peer, connected_at=self.timer(), heard_at=self.timer())
        user.session = session
        self.sessions.add(session)
        return session

    def received(self, session: Session, raw: bytes) -> None:
        """One line without its end; OVERLONG ends one that was too long."""
        if session.phase is CLOSED:
            return
        session.heard_at = self.timer()
        session.ping_sent_at = None
        if session.question is not None:
            self._wait(session.question, raw)
            return
        if session.phase is LINKED and self.links is not None:
            self.links.received(session, raw)
            return
        try:
            line = parse_line(raw.decode())
        except (UnicodeDecodeError, MalformedLine) as error:
            refuse_line(self, session, raw, error)
        else:
            if line.tags and line.tags.get(LABEL) and session.is_labeling:
                self._label(session, line.tags[LABEL], partial(self._dispatch, session, line))
            else:
                self._dispatch(session, line)

    def disconnected(self, session: Session, reason: str) -> None:
        """The connection is gone; whoever shared a channel with it learns why."""
        self.close(session, reason)
        self.delivery.forget(session)
        # Each would keep the other until the garbage collector finds them.
        session.user.session = None

    def held_back(self, session: Session, waiting: int) -> None:
        """The reader is behind: so many bytes of earlier turns wait for it. Beyond the bound it is let go.

        Only the driver can tell: a burst that one turn of the loop brings is no fault of the reader.
        """
        if 0 < self.limits.sendq_bytes < waiting:
            self.delivery.forget(session)
            self.close(session, "SendQ exceeded")

    def tick(self) -> None:
        """Time passed."""
        check_all(self)

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

    def ask_skill(
        self,
        session: Session,
        ask: Callable[[], Answer],
        then: Callable[[Answer], None],
        unavailable: Callable[[], None],
    ) -> None:
        """As `ask`, of a skill."""
        session.question = Question(session, lambda _: ask(), then, unavailable, of="skills")
        self._questions.append(session.question)

    def take_questions(self) -> list[Question[Any]]:
        questions, self._questions = self._questions, []
        return questions

    def answered(self, question: Question[Answer], answer: Answer) -> None:
        self._resume(question, partial(question.then, answer))

    def unanswered(self, question: Question[Any]) -> None:
        """Nobody could be asked."""
        self._resume(question, question.unavailable)

    def attempt(self, session: Session, label: str | None, act: Callable[[], None]) -> None:
        """What this brings about answers an earlier command, which may have had a label."""
        if label is None:
            self._attempt(session, act)
        else:
            self._label(session, label, partial(self._attempt, session, act))

    # What goes out.

    def drain(self) -> dict[Session, Output]:
        """What is to be written to whom; those that are closed are to be hung up on after that.

        All that happened is written down by then; a message that could not be is told to nobody.
        """
        self.delivery.settle()
        if self.record.happened:
            self._write_down()
        elif self.links is not None:
            self.links.committed(())
        return self.delivery.drain()

    def delivered(self) -> None:
        """What was drained is on its way: whoever only watches is told now."""
        if self._unobserved:
            happened, self._unobserved = self._unobserved, []
            self.skills.observe(happened)

    def _write_down(self) -> None:
        happened, speakers = self.record.take()
        wanted = happened if self.links is None else self.skills.wanted_of(happened)
        try:
            self.skills.commit(wanted)
        except NotRecordedError as error:
            self.delivery.take_back()
            self.state.redacted.clear()
            for session, command, target in speakers:
                self.fail(session, command, "NOT_RECORDED", f"Not sent to {target}: {error}")
            if self.links is not None:
                self.links.failed()
        else:
            self._unobserved += wanted
            if self.links is not None:
                self.links.committed([each for each in happened if not each.is_local])

    def send(self, session: Session, line: str) -> None:
        """To one client. What its own words made too long ends where a line has to."""
        fitting = cut(line, LINE_BYTES)
        self.delivery.queue(session, Rendered(fitting, self.clock()).form(session.form))

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
        msgid, at = self.new_id(), self.clock()
        if isinstance(event, Said):
            if event.command == "PRIVMSG":
                # What programs answer by themselves shows nobody at work.
                event.sender.spoke_at = at
            self.delivery.say(event, spoken(event, msgid, at), hearers(event))
            if self.record.is_wanted:
                self.record.said(event, msgid, at)
            return
        stamp_ms = stamp_change(event, self.state, self.name, at)
        if self.record.is_wanted:
            self.record.changed(event, Moment(msgid, at, stamp_ms, named_in(event, self.state)))
        self.bring_about(event, msgid, at)

    def bring_about(self, event: Change, msgid: str, at: float, into: Delivery | None = None) -> None:
        """A change takes effect, and everyone here is told, or will be by what is put `into` something."""
        # Those who leave, or are called otherwise from now on, still get what was said before.
        self.delivery.settle()
        told = announce(event, self.state)
        # Whoever logs in says so as who they were before (IRCv3 account-tag).
        account = told.source.account
        self.state.apply(event, at)
        tell = self.delivery.tell if into is None else into.tell
        if told.extended is None:
            plain = told.audience
        else:
            cap, line = told.extended
            plain, extended = split_by_cap(told.audience, cap)
            tell(Rendered(line, at, told.tags, msgid, account), extended, told.needs)
        lines = tell(Rendered(told.line, at, told.tags, msgid, account), plain, told.needs)
        if isinstance(event, Redacted):
            # As what is said: whoever took words back must not believe that they are gone while they are not.
            self.delivery.hold(lines)

    def close(self, session: Session, reason: str) -> None:
        """Say goodbye, tell the others, forget the session. The driver hangs up after the last byte."""
        self.close_all([session], reason)

    def close_all(self, sessions: Iterable[Session], reason: str) -> None:
        """The same at once: who goes is not told who else does."""
        leaving = [(session, session.phase) for session in sessions if session.phase is not CLOSED]
        for session, _ in leaving:
            goodbye = f"Closing Link: {session.user.host} ({reason})"
            self.send(session, format_line("ERROR", goodbye, trailing=True))
            session.end(reason)
        for session, was in leaving:
            self._forget(session, was)

    # Inside.

    def _forget(self, session: Session, was: Phase) -> None:
        self.state.changes.touch(session)
        session.question = session.draft = None
        self.sessions.discard(session)
        if was is Phase.REGISTERED:
            self.publish(Quit(session.user, session.close_reason))
            self.state.watchers.forget(session.user)
            tell_offline(self, session.user.nick)
        elif was is Phase.LINKED and self.links is not None:
            self.links.ended(session, session.close_reason)

    def _label(self, session: Session, label: str, act: Callable[[], None]) -> None:
        self.delivery.begin_answer(session)
        act()
        answers = self.delivery.end_answer(session)
        if session.question is not None and not answers:
            session.question.label = label
        elif session.draft is not None and session.draft.label == label and not answers:
            # What it is answered by comes at the end of the batch.
            return
        else:
            self.delivery.label(session, label, answers, self.name, self.new_id)

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
        self.state.changes.touch(session)
        self.attempt(session, question.label, act)
        for raw in question.waiting:
            self.received(session, raw)

    def _dispatch(self, session: Session, line: Line) -> None:
        command = self.commands.get(line.command)
        if command is not None:
            self.heard[line.command] += 1
        if line.command not in LEAVES_ALL_AS_IT_WAS:
            self.state.changes.touch(session)
        try:
            if session.draft is not None and take(self, session, session.draft, line):
                return
            if command is None or session.phase not in command.phases:
                raise not_now(
                    line.command, is_known=command is not None, is_new=session.phase is Phase.REGISTERING
                )
            if len(line.params) < command.params:
                raise need_more_params(line.command)
            command.run(self, session, line)
        except Refusal as refusal:
            self.refuse(session, refusal)
        except Failure as failure:
            self.send(session, failure.line(line.command, self.name))
