"""Read the history of a place, forwards or backwards from a point."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from culture.names import Folded, fold
from culture.protocol.event_record import SPOKEN
from culture.protocol.parties import Party, parse_party, party_of

LAST: Final = 2**63 - 1
# Commands that do not count towards the requested number of messages (IRCv3 message-redaction).
UNCOUNTED: Final = frozenset({"REDACT"})
# The most lifetimes of a channel in which membership is looked up.
MOST_LIVES: Final = 50
# Bounds the rows that do not count, so that a small request has a bounded reply.
MOST_UNCOUNTED: Final = 1000
_AT_ONCE: Final = 500
_COLUMNS: Final = """
events.id, place, at_ms, seq, msgid, command, mask, account, session, host,
  is_public, target, text, tags, params
FROM events JOIN sources ON sources.id = source JOIN origins ON origins.id = origin
"""


class Point(NamedTuple):
    """A position in the global order of events. A seq of LAST or -1 is just after or before a time."""

    at_ms: int
    seq: int
    # Breaks ties between hosts that started in the same second.
    msgid: str = ""


BEGINNING: Final = Point(-1, -1)
END: Final = Point(LAST, LAST)


class Recorded(NamedTuple):
    """An event as it is stored."""

    number: int
    place: int
    at_ms: int
    seq: int
    msgid: str
    command: str
    mask: str
    account: str | None
    # The session id of a source that was not logged in.
    session_id: str
    # The host where it happened; empty for this one.
    origin: str
    is_public: bool
    # The recipient's nick, in a conversation.
    target: str | None
    text: str
    tags: Mapping[str, str]
    params: Sequence[str]

    @property
    def nick(self) -> str:
        return self.mask.partition("!")[0]

    @property
    def author(self) -> Party:
        return party_of(self.account, self.session_id, self.nick, self.origin)

    @property
    def point(self) -> Point:
        return Point(self.at_ms, self.seq, self.msgid)


class Hit(NamedTuple):
    """A search hit with the columns needed to decide who may read it."""

    number: int
    place: int
    at_ms: int
    is_public: bool


class Conversation(NamedTuple):
    """The direct messages between the reader and another party."""

    place: int
    # What the other end was called last.
    nick: str
    other: Party
    # As which of their parties the reader takes part in it.
    mine: Party


# From and up to a time, both in milliseconds and inside.
Span = tuple[int, int]
ALWAYS: Final[Span] = (0, LAST)


class View(NamedTuple):
    """The part of a conversation that somebody may read: public messages, and others of some periods."""

    place: int
    private: Sequence[Span]
    since_ms: int = 0
    # Of a member: since when there is the channel. Of what was said since then they also read what is
    # private, if its number is higher than that of the last event before another host renamed the channel.
    member_since_ms: int | None = None
    renamed_at_number: int = 0

    def shows(self, hit: Hit) -> bool:
        """Return whether a message is in the view."""
        is_open = hit.is_public or any(start <= hit.at_ms <= end for start, end in self.private)
        return (is_open or self._is_of_member(hit)) and hit.at_ms >= self.since_ms

    def _is_of_member(self, hit: Hit) -> bool:
        since_ms = self.member_since_ms
        return since_ms is not None and hit.at_ms >= since_ms and hit.number > self.renamed_at_number

    @property
    def condition(self) -> str:
        """Return the SQL condition that selects the messages of the view."""
        of_member = ["(at_ms >= ? AND events.id > ?)"] if self.member_since_ms is not None else []
        return " OR ".join(["is_public", *["at_ms BETWEEN ? AND ?"] * len(self.private), *of_member])

    @property
    def values(self) -> list[int]:
        """Return the values of the parameters of the condition."""
        values = [time_ms for span in self.private for time_ms in span]
        return (
            values
            if self.member_since_ms is None
            else [*values, self.member_since_ms, self.renamed_at_number]
        )


def find_place(connection: sqlite3.Connection, name: str) -> tuple[int, str] | None:
    """The number of a channel, and how it is spelled."""
    query = "SELECT id, name FROM places WHERE key = ?"
    row: tuple[int, str] | None = connection.execute(query, (fold(name),)).fetchone()
    return row


def place_names(connection: sqlite3.Connection, places: Iterable[int]) -> dict[int, str]:
    """Return the names of conversations by their ids."""
    found = {}
    for place in places:
        row = connection.execute("SELECT name FROM places WHERE id = ?", (place,)).fetchone()
        found[place] = row[0] if row else ""
    return found


def conversations(connection: sqlite3.Connection, parties: Sequence[Party]) -> list[Conversation]:
    """Return the conversations in which somebody took part as one of these parties."""
    query = "SELECT place, nick FROM ends WHERE end = ?"
    found = []
    for mine in parties:
        for place, own_nick in connection.execute(query, (mine.text,)).fetchall():
            # Who writes to oneself is both ends.
            row = connection.execute(
                "SELECT nick, end FROM ends WHERE place = ? AND end <> ?", (place, mine.text)
            ).fetchone()
            nick, other = row or (own_nick, mine.text)
            found.append(Conversation(place, nick, parse_party(other), mine))
    return found


def was_called(connection: sqlite3.Connection, talk: Conversation, nick: Folded) -> bool:
    """Return whether the other party of a conversation had this nick."""
    query = "SELECT 1 FROM nicks WHERE place = ? AND end = ? AND nick = ?"
    return connection.execute(query, (talk.place, talk.other.text, nick)).fetchone() is not None


def seated(connection: sqlite3.Connection, place: int, parties: Sequence[Party]) -> list[Span]:
    """Return the time spans in which a user was a member, one for each lifetime of the channel name."""
    query = "SELECT since_ms FROM lives WHERE place = ? ORDER BY since_ms DESC LIMIT ?"
    lives = [since_ms for (since_ms,) in connection.execute(query, (place, MOST_LIVES))]
    if len(lives) < MOST_LIVES:
        # The time before the first known lifetime.
        lives.append(0)
    seats = f"""
    SELECT min(joined_at_ms) FROM seats
    WHERE place = ? AND joined_at_ms BETWEEN ? AND ? AND end IN ({",".join("?" * len(parties))})
    """
    spans, until_ms, ends = [], LAST, [party.text for party in parties]
    for since_ms in lives:
        (joined_ms,) = connection.execute(seats, (place, since_ms, until_ms, *ends)).fetchone()
        if joined_ms is not None:
            spans.append((joined_ms, until_ms))
        until_ms = since_ms - 1
    return spans


def renamed_at(connection: sqlite3.Connection, place: int) -> int:
    """Return the number of the last event before another host renamed a channel; 0 if none did."""
    row = connection.execute("SELECT number FROM renamed WHERE place = ?", (place,)).fetchone()
    return row[0] if row else 0


def point_of(connection: sqlite3.Connection, views: Sequence[View], msgid: str) -> Point | None:
    """Return the position of a message, or None if the views do not show it."""
    found = _find(connection, views, msgid)
    return Point(*found[1:], msgid) if found else None


def find_message(connection: sqlite3.Connection, views: Sequence[View], msgid: str) -> Recorded | None:
    """Return a message, or None if the views do not show it."""
    found = _find(connection, views, msgid)
    rows = rows_of(connection, found[:1]) if found else []
    return next((row for row in rows if row.command in SPOKEN), None)


def ends_of(connection: sqlite3.Connection, place: int) -> tuple[Party, Party] | None:
    """Return the two parties of a conversation; None for a channel."""
    key, name = connection.execute("SELECT key, name FROM places WHERE id = ?", (place,)).fetchone()
    if name:
        return None
    one, _, other = key.partition(" ")
    return parse_party(one), parse_party(other)


def window(
    connection: sqlite3.Connection,
    views: Sequence[View],
    after: Point,
    before: Point,
    most: int,
    commands: Sequence[str],
    *,
    latest: bool,
) -> list[Recorded]:
    """Return rows strictly between two points in order: the first `most`, or the latest."""
    found = [
        row for view in views for row in _of_view(connection, view, after, before, most, commands, latest)
    ]
    found.sort(key=lambda row: row.point, reverse=latest)
    rows = list(_counted(found, most))
    return rows[::-1] if latest else rows


def count(rows: Iterable[Recorded]) -> int:
    """Return how many rows count towards the requested number."""
    return sum(row.command not in UNCOUNTED for row in rows)


def latest_ms(connection: sqlite3.Connection, view: View, commands: Sequence[str]) -> int | None:
    """Return the time of the latest visible event, or None."""
    rows = list(_of_view(connection, view, BEGINNING, END, 1, commands, True))
    return rows[0].at_ms if rows else None


def rows_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[Recorded]:
    """Return these rows in this order, without deleted ones."""
    marks = ",".join("?" * len(numbers))
    query = f"SELECT {_COLUMNS} WHERE events.id IN ({marks}) AND is_redacted = 0"
    found = {row[0]: _recorded(row) for row in connection.execute(query, numbers)}
    return [found[number] for number in numbers if number in found]


def hits_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[Hit]:
    """Yield the hits for these rows lazily, for callers that may read few of many."""
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        query = f"SELECT id, place, at_ms, is_public FROM events WHERE id IN ({','.join('?' * len(some))})"
        found = {row[0]: Hit(*row) for row in connection.execute(query, some)}
        yield from (found[number] for number in some if number in found)


def _find(connection: sqlite3.Connection, views: Sequence[View], msgid: str) -> tuple[int, int, int] | None:
    """Return row id, time and event number of a message that the views show."""
    for view in views:
        query = f"""
        SELECT id, at_ms, seq FROM events
        WHERE msgid = ? AND +place = ? AND +at_ms >= ? AND ({view.condition})
        """
        values = (msgid, view.place, view.since_ms, *view.values)
        row: tuple[int, int, int] | None = connection.execute(query, values).fetchone()
        if row:
            return row
    return None


def _of_view(
    connection: sqlite3.Connection,
    view: View,
    after: Point,
    before: Point,
    most: int,
    commands: Sequence[str],
    latest: bool,
) -> Iterator[Recorded]:
    order = "DESC" if latest else "ASC"
    # The unary plus keeps these terms from the index, which seeks by the range of times.
    query = f"""
    SELECT {_COLUMNS}
    WHERE place = ? AND at_ms BETWEEN ? AND ?
    AND (+at_ms, +seq, +msgid) > (?, ?, ?) AND (+at_ms, +seq, +msgid) < (?, ?, ?)
    AND ({view.condition}) AND is_redacted = 0 AND command IN ({",".join("?" * len(commands))})
    ORDER BY at_ms {order}, seq {order}, msgid {order} LIMIT ?
    """
    bounds = (max(after.at_ms, view.since_ms), before.at_ms, *after, *before, *view.values)
    room = MOST_UNCOUNTED if UNCOUNTED.intersection(commands) else 0
    rows = connection.execute(query, (view.place, *bounds, *commands, most + room))
    # Lazy, so that unneeded rows are not decoded.
    return _counted(map(_recorded, rows), most)


def _counted(rows: Iterable[Recorded], most: int) -> Iterator[Recorded]:
    """Yield rows until `most` of them count."""
    for row in rows:
        yield row
        most -= row.command not in UNCOUNTED
        if not most:
            return


def _recorded(row: tuple[Any, ...]) -> Recorded:
    number, place, at_ms, seq, msgid, command, mask, account, session_id, origin, *rest = row
    is_public, target, text, tags, params = rest
    return Recorded(
        number,
        place,
        at_ms,
        seq,
        msgid,
        command,
        mask,
        account or None,
        session_id,
        origin,
        bool(is_public),
        target,
        text,
        json.loads(tags) if tags else {},
        tuple(json.loads(params)) if params else (),
    )
