"""Reading history: rows of a place, forwards or backwards from a point in it."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from culture.names import Folded, fold
from culture.protocol.happening import SPOKEN

LAST: Final = 2**63 - 1
UNCOUNTED: Final = frozenset({"REDACT"})
"""What comes besides as many messages as somebody wants (IRCv3 message-redaction)."""
MOST_LIVES: Final = 50
"""Of a channel, the last: in those before nobody is known to have been."""
MOST_UNCOUNTED: Final = 1000
"""So that a few messages are no long answer all the same."""
_AT_ONCE: Final = 500
_COLUMNS: Final = """
events.id, place, at_ms, seq, msgid, command, mask, account, is_public, target, text, tags, params
FROM events JOIN sources ON sources.id = source
"""


class Point(NamedTuple):
    """A place in the order of events, everywhere the same. `LAST` or -1: just behind, or before, a time."""

    at_ms: int
    seq: int
    msgid: str = ""
    """Two hosts that were started in the same second may number alike."""


BEGINNING: Final = Point(-1, -1)
END: Final = Point(LAST, LAST)


class Recorded(NamedTuple):
    number: int
    place: int
    at_ms: int
    seq: int
    msgid: str
    command: str
    mask: str
    account: str | None
    is_public: bool
    target: str | None
    """In a conversation, the nick that was written to."""
    text: str
    tags: Mapping[str, str]
    params: Sequence[str]

    @property
    def nick(self) -> str:
        return self.mask.partition("!")[0]

    @property
    def point(self) -> Point:
        return Point(self.at_ms, self.seq, self.msgid)


class Hit(NamedTuple):
    """An event that a search found, as far as it takes to know who may read it."""

    number: int
    place: int
    at_ms: int
    is_public: bool


class Conversation(NamedTuple):
    place: int
    nick: str
    """What the other end was called last."""
    other: str
    """The other end."""
    mine: str
    """As which end one takes part in it."""


Span = tuple[int, int]
"""From and up to a time, both in milliseconds and inside."""
ALWAYS: Final[Span] = (0, LAST)


class View(NamedTuple):
    """What somebody may read of a place: public rows, and of the others those of some times."""

    place: int
    private: Sequence[Span]
    since_ms: int = 0

    def shows(self, hit: Hit) -> bool:
        is_open = hit.is_public or any(start <= hit.at_ms <= end for start, end in self.private)
        return is_open and hit.at_ms >= self.since_ms

    @property
    def condition(self) -> str:
        return " OR ".join(["is_public", *["at_ms BETWEEN ? AND ?"] * len(self.private)])

    @property
    def values(self) -> list[int]:
        """What stands for the question marks of the condition."""
        return [time_ms for span in self.private for time_ms in span]


def find_place(connection: sqlite3.Connection, name: str) -> tuple[int, str] | None:
    """The number of a channel, and how it is spelled."""
    query = "SELECT id, name FROM places WHERE key = ?"
    row: tuple[int, str] | None = connection.execute(query, (fold(name),)).fetchone()
    return row


def place_names(connection: sqlite3.Connection, places: Iterable[int]) -> dict[int, str]:
    found = {}
    for place in places:
        row = connection.execute("SELECT name FROM places WHERE id = ?", (place,)).fetchone()
        found[place] = row[0] if row else ""
    return found


def conversations(connection: sqlite3.Connection, ends: Sequence[str]) -> list[Conversation]:
    """All that somebody took part in as one of these ends."""
    query = "SELECT place, nick FROM ends WHERE end = ?"
    found = []
    for mine in ends:
        for place, own_nick in connection.execute(query, (mine,)).fetchall():
            # Who writes to oneself is both ends.
            row = connection.execute(
                "SELECT nick, end FROM ends WHERE place = ? AND end <> ?", (place, mine)
            ).fetchone()
            nick, other = row or (own_nick, mine)
            found.append(Conversation(place, nick, other, mine))
    return found


def was_called(connection: sqlite3.Connection, talk: Conversation, nick: Folded) -> bool:
    """Whether the other end had this nick in a conversation."""
    query = "SELECT 1 FROM nicks WHERE place = ? AND end = ? AND nick = ?"
    return connection.execute(query, (talk.place, talk.other, nick)).fetchone() is not None


def seated(connection: sqlite3.Connection, place: int, ends: Sequence[str]) -> list[Span]:
    """When somebody was in the channels that had a name one after the other: in each from their coming on."""
    query = "SELECT since_ms FROM lives WHERE place = ? ORDER BY since_ms DESC LIMIT ?"
    lives = [since_ms for (since_ms,) in connection.execute(query, (place, MOST_LIVES))]
    if len(lives) < MOST_LIVES:
        # Before the first of which it is known when it began.
        lives.append(0)
    seats = f"""
    SELECT min(joined_at_ms) FROM seats
    WHERE place = ? AND joined_at_ms BETWEEN ? AND ? AND end IN ({",".join("?" * len(ends))})
    """
    spans, until_ms = [], LAST
    for since_ms in lives:
        (joined_ms,) = connection.execute(seats, (place, since_ms, until_ms, *ends)).fetchone()
        if joined_ms is not None:
            spans.append((joined_ms, until_ms))
        until_ms = since_ms - 1
    return spans


def point_of(connection: sqlite3.Connection, views: Sequence[View], msgid: str) -> Point | None:
    """Where a message is, if it is one that may be read."""
    found = _find(connection, views, msgid)
    return Point(*found[1:], msgid) if found else None


def find_message(connection: sqlite3.Connection, views: Sequence[View], msgid: str) -> Recorded | None:
    """What somebody said, if it may be read."""
    found = _find(connection, views, msgid)
    rows = rows_of(connection, found[:1]) if found else []
    return next((row for row in rows if row.command in SPOKEN), None)


def ends_of(connection: sqlite3.Connection, place: int) -> tuple[str, str] | None:
    """Of a conversation, who it is between."""
    key, name = connection.execute("SELECT key, name FROM places WHERE id = ?", (place,)).fetchone()
    one, _, other = key.partition(" ")
    return None if name else (one, other)


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
    """Rows between two points, without these, in order: the first of them, or the latest."""
    found = [
        row for view in views for row in _of_view(connection, view, after, before, most, commands, latest)
    ]
    found.sort(key=lambda row: row.point, reverse=latest)
    rows = list(_counted(found, most))
    return rows[::-1] if latest else rows


def count(rows: Iterable[Recorded]) -> int:
    """How many of them are of what somebody wants so many."""
    return sum(row.command not in UNCOUNTED for row in rows)


def latest_ms(connection: sqlite3.Connection, view: View, commands: Sequence[str]) -> int | None:
    rows = list(_of_view(connection, view, BEGINNING, END, 1, commands, True))
    return rows[0].at_ms if rows else None


def rows_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[Recorded]:
    """These, in this order; without those that are gone."""
    marks = ",".join("?" * len(numbers))
    query = f"SELECT {_COLUMNS} WHERE events.id IN ({marks}) AND is_redacted = 0"
    found = {row[0]: _recorded(row) for row in connection.execute(query, numbers)}
    return [found[number] for number in numbers if number in found]


def hits_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[Hit]:
    """The same, one by one, for who may read few of many."""
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        query = f"SELECT id, place, at_ms, is_public FROM events WHERE id IN ({','.join('?' * len(some))})"
        found = {row[0]: Hit(*row) for row in connection.execute(query, some)}
        yield from (found[number] for number in some if number in found)


def _find(connection: sqlite3.Connection, views: Sequence[View], msgid: str) -> tuple[int, int, int] | None:
    """Its number here, its time, and its number at its origin."""
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
    # The plus signs leave the range of times to the index, which seeks at both of its ends.
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
    # One by one: what is not asked for here is not read.
    return _counted(map(_recorded, rows), most)


def _counted(rows: Iterable[Recorded], most: int) -> Iterator[Recorded]:
    """Up to the last that is wanted, and not what follows it."""
    for row in rows:
        yield row
        most -= row.command not in UNCOUNTED
        if not most:
            return


def _recorded(row: tuple[Any, ...]) -> Recorded:
    number, place, at_ms, seq, msgid, command, mask, account, is_public, target, text, tags, params = row
    return Recorded(
        number,
        place,
        at_ms,
        seq,
        msgid,
        command,
        mask,
        account or None,
        bool(is_public),
        target,
        text,
        json.loads(tags) if tags else {},
        tuple(json.loads(params)) if params else (),
    )
