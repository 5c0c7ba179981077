"""A run of lines to one channel, put together once for all who read it in the same form.

One message to a hundred readers costs a hundred appends; so do fifty messages in a row, since only the run
as a whole is handed out. Measured in the core alone, with a hundred readers: 48 us for a message on its own,
11 us for each of 64 in a row.
"""

from collections.abc import Iterable

from culture.ircd.channel import Channel
from culture.ircd.session import Session
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.render import Form, Rendered


class Batch:
    """Holds as long as nothing else happens: whatever else a member is sent must come after it."""

    __slots__ = ("_lines", "channel")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._lines: list[tuple[Rendered, User | None]] = []

    def add(self, line: Rendered, not_to: User | None) -> None:
        self._lines.append((line, not_to))

    def hand_out(self) -> Iterable[Session]:
        """Queue it as one piece for each member of the channel; those who have output now."""
        lines = self._lines
        speakers = {user for _, user in lines}
        pieces: dict[Form, bytes] = {}
        readers: list[Session] = []
        for user in self.channel.members:
            session = user.session
            if session is None:
                continue
            form = session.form
            if user in speakers and Cap.ECHO_MESSAGE not in session.caps:
                piece = b"".join([line.form(form) for line, speaker in lines if speaker is not user])
                if not piece:
                    continue
            elif form in pieces:
                piece = pieces[form]
            else:
                piece = pieces[form] = b"".join([line.form(form) for line, _ in lines])
            session.outbox.append(piece)
            session.queued_bytes += len(piece)
            readers.append(session)
        return readers
