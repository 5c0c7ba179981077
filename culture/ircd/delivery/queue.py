"""Queue output per session: each reader gets lines in its own form, in the order of events.

Nothing here writes to sockets: the driver writes what `drain` returns, once per loop tick.
"""

from collections.abc import Callable, Iterable

from culture.ircd.delivery.labels import label_replies
from culture.ircd.events import Said
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User
from culture.ircd.session import CLOSED, Session
from culture.protocol.capabilities import Cap
from culture.protocol.multiline import Message
from culture.protocol.render import Form

# One piece, which is the common case, or several.
Output = bytes | list[bytes]


def join_output(output: Output) -> bytes:
    """Return output as one byte string."""
    return output if isinstance(output, bytes) else b"".join(output)


class DeliveryQueue:
    """The output of one loop tick, by session."""

    def __init__(self, *, is_recorded: bool) -> None:
        """`is_recorded`: messages are recorded, and can be discarded until that has succeeded."""
        self._pending: dict[Session, Output] = {}
        self._run: MessageRun | None = None
        # The messages of this tick, which have to be recorded before anybody reads them.
        self._messages: list[bytes] | None = [] if is_recorded else None

    def drain(self) -> dict[Session, Output]:
        """Return and clear the output of all sessions. The caller closes ended sessions after writing."""
        self.end_run()
        pending, self._pending = self._pending, {}
        if self._messages:
            # Drained messages are recorded and cannot be discarded any more.
            self._messages = []
        return pending

    def queue(self, session: Session, data: bytes) -> None:
        """Queue data for an open session. Never waits: the driver closes the session of a slow reader."""
        if self._run is not None:
            self.end_run()
        if session.phase is not CLOSED:
            self.queue_final(session, data)

    def queue_final(self, session: Session, data: bytes) -> None:
        """Queue data even for a session that has just ended."""
        held = self._pending.setdefault(session, data)
        if held is not data:
            _add(self._pending, session, held, data)

    def deliver_to_session(self, reader: Session, data: bytes) -> None:
        """Queue a rendered direct message for an open session."""
        if self._run is not None:
            self.end_run()
        if self._messages is not None:
            self._messages.append(data)
        held = self._pending.setdefault(reader, data)
        if held is not data:
            _add(self._pending, reader, held, data)

    def forget(self, session: Session) -> None:
        """Drop the output of a session."""
        self._pending.pop(session, None)

    def discard_messages(self) -> None:
        """Drop the messages of this tick, because they could not be recorded."""
        taken = {id(data) for data in self._messages or ()}
        for session, output in self._pending.items():
            self._pending[session] = [data for data in pieces_of(output) if id(data) not in taken]

    def begin_labeled_response(self, session: Session) -> None:
        """Set the queued output of a session aside, so that the replies to one command can be told apart."""
        self.end_run()
        session.unlabeled = pieces_of(self._pending.pop(session, []))

    def end_labeled_response(self, session: Session) -> list[bytes]:
        """Return the replies to the command, and put the output that was set aside back in the queue."""
        self.end_run()
        answers = pieces_of(self._pending.pop(session, []))
        if session.unlabeled:
            self._pending[session] = session.unlabeled
        session.unlabeled = None
        return answers

    def label(
        self, session: Session, label: str, answers: list[bytes], server: str, new_id: Callable[[], str]
    ) -> None:
        """Queue the replies to one command under its label. They can be discarded if one is an echo."""
        data = label_replies(label, answers, server, new_id)
        if self._messages and not {id(answer) for answer in answers}.isdisjoint(map(id, self._messages)):
            self._messages.append(data)
        self.queue_final(session, data)

    def deliver_to_channel(self, channel: Channel, line: Message, sender: User) -> None:
        """Queue a message for all members of a channel, joined with the messages before it."""
        run = self._run
        if run is None or run.channel is not channel:
            self.end_run()
            run = self._run = MessageRun(channel)
        run.lines.append((line, sender))

    def deliver_message(self, event: Said, line: Message, recipients: Iterable[User] | None) -> None:
        """Queue a message for its recipients, or for all members if None, and echo it if wanted."""
        sender, target = event.sender, event.target
        if recipients is None:
            assert isinstance(target, Channel)
            self.deliver_to_channel(target, line, sender)
            return
        needs = Cap.MESSAGE_TAGS if event.command == "TAGMSG" else None
        queued_pieces = [
            *(
                self._deliver_to_self(line, sender, needs)
                if target is sender
                else self.tell(line, recipients, needs)
            )
        ]
        if sender.session is not None and sender.session.wants_echo:
            queued_pieces += self.tell(line, (sender,), needs)
        self.hold_until_recorded(queued_pieces)

    def hold_until_recorded(self, queued_pieces: Iterable[bytes]) -> None:
        """Make queued lines part of what discard_messages() drops."""
        if self._messages is not None:
            self._messages += queued_pieces

    def tell(self, line: Message, readers: Iterable[User], needs: Cap | None = None) -> Iterable[bytes]:
        """Queue a line for readers that have the capability it needs, and return its rendered forms."""
        forms: dict[Form, bytes] = {}
        for user in readers:
            session = user.session
            if session is None or (needs is not None and needs not in session.caps):
                continue
            form = session.form
            data = forms.get(form)
            if data is None:
                data = forms[form] = line.form(form)
            self.queue(session, data)
        return forms.values()

    def _deliver_to_self(self, line: Message, user: User, needs: Cap | None) -> Iterable[bytes]:
        """Deliver a message to its own sender outside the label: only the echo has it (labeled-response)."""
        session = user.session
        if session is None or session.unlabeled is None:
            return self.tell(line, (user,), needs)
        if needs is not None and needs not in session.caps:
            return ()
        data = line.form(session.form)
        session.unlabeled.append(data)
        return (data,)

    def end_run(self) -> None:
        """Queue the messages of the current run, so that later output follows them."""
        run = self._run
        if run is not None:
            self._run = None
            self.hold_until_recorded(run.queue_for_members(self._pending))


def split_by_cap(users: Iterable[User], cap: Cap) -> tuple[list[User], list[User]]:
    """Split users into those without a capability and those with it."""
    without: list[User] = []
    having: list[User] = []
    for user in users:
        (having if user.session is not None and cap in user.session.caps else without).append(user)
    return without, having


class MessageRun:
    """Consecutive messages to one channel, joined once per form and shared by all its readers.

    Any other output ends the run, because it has to follow the messages. One message to a hundred readers
    costs a hundred appends, and so do fifty messages in a row.
    """

    __slots__ = ("channel", "lines")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        # Each message with its sender.
        self.lines: list[tuple[Message, User]] = []

    def queue_for_members(self, pending: dict[Session, Output]) -> Iterable[bytes]:
        """Queue the run as one piece for each member of the channel, and return the pieces."""
        lines = self.lines
        queued = []
        for form, sessions in self.channel.readers.items():
            piece = b"".join([line.form(form) for line, _ in lines])
            queued.append(piece)
            if not pending or pending.keys().isdisjoint(sessions):
                pending.update(dict.fromkeys(sessions, piece))
                continue
            for reader in sessions:
                held = pending.setdefault(reader, piece)
                if held is not piece:
                    _add(pending, reader, held, piece)
        for speaker in {speaker for _, speaker in lines}:
            session = speaker.session
            if session is not None and not session.wants_echo:
                _take_last(pending, session)
                heard = [line.form(session.form) for line, who in lines if who is not speaker]
                if heard:
                    queued.append(b"".join(heard))
                    _add(pending, session, pending.get(session, []), queued[-1])
        return queued


def _add(pending: dict[Session, Output], session: Session, held: Output, data: bytes) -> None:
    if isinstance(held, list):
        held.append(data)
        pending[session] = held
    else:
        pending[session] = [held, data]


def _take_last(pending: dict[Session, Output], session: Session) -> None:
    held = pending[session]
    if isinstance(held, list) and len(held) > 1:
        held.pop()
    else:
        del pending[session]


def pieces_of(output: Output) -> list[bytes]:
    """Return output as a list of pieces."""
    return output if isinstance(output, list) else [output]
