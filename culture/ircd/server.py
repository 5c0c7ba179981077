"""The IRC server core without I/O: the driver feeds it input, then writes the output that `drain` returns."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from culture.config.ircd import NO_PASSWORDS, IrcdConfig
from culture.ircd.auth.agents import NO_AGENTS, AgentNicks
from culture.ircd.auth.login_backoff import LoginBackoff
from culture.ircd.auth.questions import AccountNames, AccountQuestion, Answer, Asked, Authenticator
from culture.ircd.authority.halts import FORGETFUL, HaltKeeper, Halts
from culture.ircd.authority.marks import mark
from culture.ircd.commands.row import Command
from culture.ircd.delivery.change_lines import announcement_for
from culture.ircd.delivery.labels import LABEL
from culture.ircd.delivery.message_lines import recipients_of, render_message
from culture.ircd.delivery.monitor_push import tell_offline
from culture.ircd.delivery.multiline_draft import collect_line
from culture.ircd.delivery.queue import DeliveryQueue, Output
from culture.ircd.delivery.text import LINE_BYTES, as_middle_param, cut, room_behind
from culture.ircd.events import Change, Event, Quit, Redacted, Said
from culture.ircd.failures import Failure
from culture.ircd.http import is_http_request
from culture.ircd.malformed import refuse_line
from culture.ircd.model.account_data import load_account_data
from culture.ircd.model.state import State
from culture.ircd.model.user import User
from culture.ircd.recording.audit import AuditTrail
from culture.ircd.recording.clock import forward
from culture.ircd.recording.commit import commit_events
from culture.ircd.recording.ids import new_ids
from culture.ircd.recording.record import Moment, Record
from culture.ircd.refusal import Refusal, need_more_params, not_available
from culture.ircd.replication.links import MeshLinksPort
from culture.ircd.replication.next_stamp import stamp_change, users_named_in
from culture.ircd.restart.dirty_set import COMMANDS_WITHOUT_CHANGES
from culture.ircd.session import CLOSED, LINKED, PROVING, REGISTERING, Phase, Session
from culture.ircd.skills import NO_SKILLS, EventRecord, Skills
from culture.ircd.slices import Slices
from culture.ircd.timeouts import check_all
from culture.ircd.traffic import NO_TRAFFIC, Traffic
from culture.protocol.authority.hops import HopCounter
from culture.protocol.capabilities import Cap
from culture.protocol.event_record import CROSSING
from culture.protocol.line import Line, MalformedLine, format_line, parse_line
from culture.protocol.render import Rendered


class Ircd:
    """One IRC server: its configuration, its state, its sessions and the dispatch of their commands."""

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
        agents: AgentNicks = NO_AGENTS,
        account_names: AccountNames | None = None,
        new_session_id: Callable[[], str] | None = None,
        halts: HaltKeeper = FORGETFUL,
    ) -> None:
        """Set up a server without clients.

        `oper_passwords` maps the names of operators to their passwords. `on_rehash` reads the configuration
        file again. `new_session_id` returns an id that no session had before, also before a restart.
        """
        self.config = config
        self.limits = config.limits
        self.name = config.name
        self.version = version
        self.password = password
        self.oper_passwords = oper_passwords
        self.on_rehash = on_rehash
        self.agents = agents
        # None: the server asks the authenticator whether a nick belongs to an account.
        self.account_names = account_names
        self.notes = AuditTrail()
        self.login_backoff = LoginBackoff()
        self.halts = Halts(halts)
        self.hops = HopCounter()
        self.skills = skills
        self.commands = commands
        # The time of day, which may jump. `timer` is monotonic.
        self.clock = forward(clock)
        self.timer = timer
        self.new_id = new_id
        self.started_at = self.clock()
        self.state = State(config.name)
        if config.links:
            # Before the first link: the session file of the previous process may hold users of other hosts.
            self.state.expect_remote_users()
        for account_data in skills.remembered():
            load_account_data(self.state, account_data)
        # How often clients sent each command since the start.
        self.command_counts = dict.fromkeys(commands, 0)
        # The driver counts the traffic and sets this.
        self.traffic_of: Callable[[Session], Traffic] = lambda session: NO_TRAFFIC
        self.sessions: set[Session] = set()
        self.record = Record(skills, generation=skills.begin_generation(int(self.started_at)))
        self.new_session_id = new_session_id or new_ids(f"{self.record.generation:x}.")
        self.delivery = DeliveryQueue(is_recorded=self.record.is_wanted)
        self.links: MeshLinksPort | None = None
        self.slices = Slices(timer)
        self._unobserved: list[EventRecord] = []
        self._questions: list[AccountQuestion[Any]] = []

    def link(self, links: MeshLinksPort) -> None:
        """Send events to other hosts from now on."""
        self.links = links
        self.record.want(CROSSING)
        self.state.expect_remote_users()

    def reconfigure(self, config: IrcdConfig, oper_passwords: Mapping[str, str]) -> None:
        """Use a new configuration. The name of the server stays, because clients know the server by it."""
        self.config = config
        self.oper_passwords = oper_passwords
        self.limits = config.limits

    # Input.

    def connect(self, host: str, peer: str) -> Session:
        """Return the session of a new connection. `host` is the host that other users see."""
        now = self.clock()
        user = User(host=host, signed_on_at=now, spoke_at=now, session_id=self.new_session_id())
        session = Session(user, peer=peer, connected_at=self.timer(), heard_at=self.timer())
        user.session = session
        self.sessions.add(session)
        return session

    def received(self, session: Session, raw: bytes) -> None:
        """Carry out one line without its line ending. A line that was too long ends with OVERLONG."""
        if session.phase is CLOSED:
            return
        session.heard_at = self.timer()
        session.ping_sent_at = None
        if session.question is not None:
            if not session.question.hold(raw):
                self.close(session, "Excess flood")
            return
        if (session.phase is LINKED or session.phase is PROVING) and self.links is not None:
            self.links.received(session, raw)
            return
        if session.phase is REGISTERING and is_http_request(raw):
            self.close(session, "This is an IRC server, not a web server")
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
        """Forget a connection that is gone, and send its QUIT to everyone who shares a channel with it."""
        self.close(session, reason)
        self.delivery.forget(session)
        # Break the reference cycle, so that both are freed without the garbage collector.
        session.user.session = None

    def held_back(self, session: Session, waiting: int) -> None:
        """Close a session whose client reads too slowly: `waiting` bytes of earlier ticks exceed the SendQ.

        The driver calls this, because output of the current tick does not count against the client.
        """
        if 0 < self.limits.sendq_bytes < waiting:
            self.delivery.forget(session)
            self.close(session, "SendQ exceeded")

    def tick(self, give_up: Callable[[Session], None] | None = None) -> None:
        """Check the timeouts of all sessions. If one raises, call `give_up` with its session, if given."""
        check_all(self, give_up)

    # Questions that the driver answers later.

    def ask(
        self,
        session: Session,
        ask: Callable[[Authenticator], Answer],
        then: Callable[[Answer], None],
        unavailable: Callable[[], None],
        of: Asked = "accounts",
    ) -> None:
        """Ask a question that the driver answers later. The client's next lines wait for the answer."""
        session.question_count += 1
        session.question = AccountQuestion(session, ask, then, unavailable, of)
        self._questions.append(session.question)

    def ask_skill(
        self,
        session: Session,
        ask: Callable[[], Answer],
        then: Callable[[Answer], None],
        unavailable: Callable[[], None],
    ) -> None:
        """Ask a skill, as `ask` asks the authenticator."""
        self.ask(session, lambda _: ask(), then, unavailable, of="skills")

    def take_questions(self) -> list[AccountQuestion[Any]]:
        """Return the questions that were asked since the last call."""
        questions, self._questions = self._questions, []
        return questions

    def answered(self, question: AccountQuestion[Answer], answer: Answer) -> None:
        """Continue the command that asked a question, and then the lines that waited for the answer."""
        self._resume(question, partial(question.then, answer))

    def unanswered(self, question: AccountQuestion[Any]) -> None:
        """Continue the command that asked a question which nobody could answer."""
        self._resume(question, question.unavailable)

    def attempt(
        self, session: Session, label: str | None, act: Callable[[], None], replies: Iterable[bytes] = ()
    ) -> None:
        """Run a part of a command and send its refusal, if it raises one.

        With a label, the replies go into one labeled response, after the `replies` that are there already.
        """
        if label is None:
            self._attempt(session, act)
        else:
            self._label(session, label, partial(self._attempt, session, act), replies)

    # Output.

    def drain(self) -> dict[Session, Output]:
        """Commit all recorded events, then return the output for each session.

        Messages whose commit fails are not delivered. After writing, the driver closes the connections of
        the sessions whose phase is CLOSED.
        """
        self.delivery.end_run()
        if self.record.events:
            self._unobserved += commit_events(self)
        elif self.links is not None:
            self.links.committed(())
        return self.delivery.drain()

    def delivered(self) -> None:
        """Pass the committed events to the skills that observe them, after the output was written."""
        if self._unobserved:
            events, self._unobserved = self._unobserved, []
            self.skills.observe(events)

    def send(self, session: Session, line: str) -> None:
        """Queue a line for one client. A line that is too long is cut to the length of an IRC line."""
        self.delivery.queue(session, Rendered(cut(line, LINE_BYTES), self.clock()).form(session.form))

    def reply(self, session: Session, numeric: str, *params: str, trailing: bool = True) -> None:
        """Send a numeric. Its last parameter gets a colon unless `trailing` is false."""
        line = format_line(numeric, session.user.nick, *params, source=self.name, trailing=trailing)
        self.send(session, line)

    def room_for(self, session: Session, numeric: str, *params: str) -> int:
        """Return how many bytes of text fit in a reply with these parameters."""
        return room_behind(self.name, numeric, session.user.nick, *params)

    def refuse(self, session: Session, refusal: Refusal) -> None:
        """Send the error numeric of a refusal."""
        *middle, text = refusal.params
        self.reply(session, refusal.numeric, *map(as_middle_param, middle), text)

    def fail(
        self, session: Session, command: str, code: str, text: str, *, enabled_by: Cap = Cap.STANDARD_REPLIES
    ) -> None:
        """Send FAIL to clients that know it (IRCv3 standard-replies), and a NOTICE to others."""
        if not session.caps.isdisjoint((enabled_by, Cap.STANDARD_REPLIES)):
            line = format_line("FAIL", command, code, text, source=self.name, trailing=True)
        else:
            line = format_line("NOTICE", session.user.nick, text, source=self.name, trailing=True)
        self.send(session, line)

    def publish(self, event: Event) -> None:
        """Record an event of this host, apply it to the state and deliver it to the clients concerned."""
        msgid, at = self.new_id(), self.clock()
        if isinstance(event, Said):
            event = mark(self, event)
            if event.command == "PRIVMSG":
                # A NOTICE may be an automatic reply, so it does not end the idle time.
                event.sender.spoke_at = at
            self.delivery.deliver_message(event, render_message(event, msgid, at), recipients_of(event))
            if self.record.is_wanted:
                self.record.said(event, msgid, at)
            return
        stamp_ms = stamp_change(event, self.state, self.name, at)
        if self.record.is_wanted:
            self.record.changed(event, Moment(msgid, at, stamp_ms, users_named_in(event, self.state)))
        self.apply_change(event, msgid, at)

    def apply_change(self, event: Change, msgid: str, at: float, into: DeliveryQueue | None = None) -> None:
        """Apply a change to the state and queue its lines for clients of this host, in `into` if given."""
        # Messages sent before the change go to the members and nicks from before it.
        self.delivery.end_run()
        announcement = announcement_for(event, self.state)
        # The account tag of a login names the account from before it (IRCv3 account-tag).
        account = announcement.source.account
        self.state.apply(event, at)
        lines = announcement.tell(self.delivery if into is None else into, at, msgid, account)
        if isinstance(event, Redacted):
            # As with messages: the client must not see its REDACT succeed before it is committed.
            self.delivery.hold_until_recorded(lines)

    def close(self, session: Session, reason: str) -> None:
        """Send ERROR and QUIT and forget the session. The driver then closes the connection."""
        self.close_all([session], reason)

    def close_all(self, sessions: Iterable[Session], reason: str) -> None:
        """Close several sessions at once. None of them receives the QUIT of another."""
        leaving = [(session, session.phase) for session in sessions if session.phase is not CLOSED]
        for session, _ in leaving:
            goodbye = f"Closing Link: {session.user.host} ({reason})"
            self.send(session, format_line("ERROR", goodbye, trailing=True))
            session.end(reason)
        for session, was in leaving:
            self._forget(session, was)

    def _forget(self, session: Session, was: Phase) -> None:
        self.state.dirty.touch(session)
        session.question = session.draft = None
        self.sessions.discard(session)
        if was is Phase.REGISTERED:
            self.publish(Quit(session.user, session.close_reason))
            self.state.monitors.forget(session.user)
            tell_offline(self, session.user.nick)
        elif was in (Phase.LINKED, Phase.PROVING) and self.links is not None:
            self.links.ended(session, session.close_reason)

    def _label(
        self, session: Session, label: str, act: Callable[[], None], replies: Iterable[bytes] = ()
    ) -> None:
        self.delivery.begin_labeled_response(session)
        act()
        answers = [*replies, *self.delivery.end_labeled_response(session)]
        question = session.question
        if question is not None and (not answers or question.of == "slices"):
            question.label, question.replies = label, answers
        elif session.draft is not None and session.draft.label == label and not answers:
            # The labeled response follows at the end of the batch.
            return
        else:
            self.delivery.label(session, label, answers, self.name, self.new_id)

    def _attempt(self, session: Session, act: Callable[[], None]) -> None:
        try:
            act()
        except Refusal as refusal:
            self.refuse(session, refusal)

    def _resume(self, question: AccountQuestion[Any], act: Callable[[], None]) -> None:
        session = question.session
        if session.question is not question:
            # The client disconnected meanwhile.
            return
        session.question = None
        self.state.dirty.touch(session)
        self.attempt(session, question.label, act, question.replies)
        for raw in question.waiting:
            self.received(session, raw)

    def _dispatch(self, session: Session, line: Line) -> None:
        command = self.commands.get(line.command)
        if command is not None:
            self.command_counts[line.command] += 1
        if line.command not in COMMANDS_WITHOUT_CHANGES:
            self.state.dirty.touch(session)
        try:
            if session.draft is not None and collect_line(self, session, session.draft, line):
                return
            if command is None or session.phase not in command.phases:
                raise not_available(
                    line.command, is_known=command is not None, is_new=session.phase is Phase.REGISTERING
                )
            if len(line.params) < command.params:
                raise need_more_params(line.command)
            steps = command.run(self, session, line)
            if steps is not None:
                self.slices.run(session, steps)
        except Refusal as refusal:
            self.refuse(session, refusal)
        except Failure as failure:
            self.send(session, failure.line(line.command, self.name))
