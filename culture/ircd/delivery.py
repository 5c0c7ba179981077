"""What is queued for whom: each reader gets a line in its own form, and all lines in the order of events.

Nothing here writes: the driver does, once per turn of its loop, what `drain` gives it.
"""

from collections.abc import Callable, Iterable

from culture.ircd.channel import Channel
from culture.ircd.events import Said
from culture.ircd.labels import labeled
from culture.ircd.session import CLOSED, Session
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.multiline import Message
from culture.protocol.render import Form

Output = bytes | list[bytes]
"""One piece, as for most readers in most turns, or several."""


def joined(output: Output) -> bytes:
    return output if isinstance(output, bytes) else b"".join(output)


class Delivery:
    def __init__(self, *, is_recorded: bool) -> None:
        """Where messages are recorded they can be taken back until they are."""
        self._pending: dict[Session, Output] = {}
        self._run: Run | None = None
        self._messages: list[bytes] | None = [] if is_recorded else None
        """What was queued in this turn and is to be recorded before anybody reads it."""

    def drain(self) -> dict[Session, Output]:
        """What is to be written to whom; those that are closed are to be hung up on after that."""
        self.settle()
        pending, self._pending = self._pending, {}
        if self._messages:
            # From now on they stand.
            self._messages = []
        return pending

    def queue(self, session: Session, data: bytes) -> None:
        """Never waits: a reader that is too slow pays alone, with its connection."""
        if self._run is not None:
            self.settle()
        if session.phase is not CLOSED:
            self.queue_last(session, data)

    def queue_last(self, session: Session, data: bytes) -> None:
        """Also to a session that just ended: its last words."""
        held = self._pending.setdefault(session, data)
        if held is not data:
            _add(self._pending, session, held, data)

    def say_to(self, reader: Session, data: bytes) -> None:
        """A message to one who is there."""
        if self._run is not None:
            self.settle()
        if self._messages is not None:
            self._messages.append(data)
        held = self._pending.setdefault(reader, data)
        if held is not data:
            _add(self._pending, reader, held, data)

    def forget(self, session: Session) -> None:
        self._pending.pop(session, None)

    def take_back(self) -> None:
        """Nobody reads what was said in this turn."""
        taken = {id(data) for data in self._messages or ()}
        for session, output in self._pending.items():
            self._pending[session] = [data for data in pieces_of(output) if id(data) not in taken]

    def begin_answer(self, session: Session) -> None:
        """From now on the session gets answers to one command, apart from what waits for it already."""
        self.settle()
        session.unlabeled = pieces_of(self._pending.pop(session, []))

    def end_answer(self, session: Session) -> list[bytes]:
        """The answers, which do not wait any more."""
        self.settle()
        answers = pieces_of(self._pending.pop(session, []))
        if session.unlabeled:
            self._pending[session] = session.unlabeled
        session.unlabeled = None
        return answers

    def label(
        self, session: Session, label: str, answers: list[bytes], server: str, new_id: Callable[[], str]
    ) -> None:
        """The answers to one command as one. With an echo among them it can be taken back as a whole."""
        data = labeled(label, answers, server, new_id)
        if self._messages and not {id(answer) for answer in answers}.isdisjoint(map(id, self._messages)):
            self._messages.append(data)
        self.queue_last(session, data)

    def say_in(self, channel: Channel, line: Message, sender: User) -> None:
        """To all members of a channel, who are not told line by line."""
        run = self._run
        if run is None or run.channel is not channel:
            self.settle()
            run = self._run = Run(channel)
        run.lines.append((line, sender))

    def say(self, event: Said, line: Message, hearers: Iterable[User] | None) -> None:
        """A message: to these, or to all members of its channel; and to its sender, if it wants the echo."""
        sender, target = event.sender, event.target
        if hearers is None:
            assert isinstance(target, Channel)
            self.say_in(target, line, sender)
            return
        needs = Cap.MESSAGE_TAGS if event.command == "TAGMSG" else None
        told = [
            *(
                self._tell_oneself(line, sender, needs)
                if target is sender
                else self.tell(line, hearers, needs)
            )
        ]
        if sender.session is not None and sender.session.wants_echo:
            told += self.tell(line, (sender,), needs)
        self.hold(told)

    def hold(self, told: Iterable[bytes]) -> None:
        """Nobody reads it before it is recorded."""
        if self._messages is not None:
            self._messages += told

    def tell(self, line: Message, readers: Iterable[User], needs: Cap | None = None) -> Iterable[bytes]:
        """Without the capability that a line `needs` it means nothing to its reader. What was queued."""
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

    def _tell_oneself(self, line: Message, user: User, needs: Cap | None) -> Iterable[bytes]:
        """Who writes to oneself reads it too; only the echo answers the command (IRCv3 labeled-response)."""
        session = user.session
        if session is None or session.unlabeled is None:
            return self.tell(line, (user,), needs)
        if needs is not None and needs not in session.caps:
            return ()
        data = line.form(session.form)
        session.unlabeled.append(data)
        return (data,)

    def settle(self) -> None:
        """Hand out what was said in a run, before anything else is."""
        run = self._run
        if run is not None:
            self._run = None
            self.hold(run.hand_out(self._pending))


def split_by_cap(users: Iterable[User], cap: Cap) -> tuple[list[User], list[User]]:
    """Those who read without a capability, and those who have it."""
    without: list[User] = []
    having: list[User] = []
    for user in users:
        (having if user.session is not None and cap in user.session.caps else without).append(user)
    return without, having


class Run:
    """Lines to one channel in a row, put together once for all who read them in the same form.

    It goes on as long as nothing else happens: whatever else a member is sent must come after it. One message
    to a hundred readers costs a hundred appends; so do fifty messages in a row.
    """

    __slots__ = ("channel", "lines")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.lines: list[tuple[Message, User]] = []
        """Each with the one who said it."""

    def hand_out(self, pending: dict[Session, Output]) -> Iterable[bytes]:
        """Queue it as one piece for each member of the channel. The pieces."""
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
    return output if isinstance(output, list) else [output]
