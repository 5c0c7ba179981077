"""CHATHISTORY: history in batches for IRC clients (IRCv3 draft/chathistory)."""

import re
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from culture.ircd.delivery.text import is_number
from culture.ircd.failures import Failure
from culture.ircd.skills import Asker, Replies, Reply, ReplyBatch
from culture.names import Folded, fold
from culture.protocol.capabilities import Cap
from culture.protocol.render import format_time
from culture.skills.history.replay import commands_for, replayed
from culture.skills.history.rights import Readable, channel_view, conversation_view, readable
from culture.store.history.archive import Archive
from culture.store.history.indexing import SPEECH
from culture.store.history.reading import (
    BEGINNING,
    END,
    LAST,
    Point,
    Recorded,
    View,
    conversations,
    count,
    find_place,
    latest_ms,
    point_of,
    window,
)

# Messages in one answer.
MOST: Final = 1000
END_TAG: Final = "draft/chathistory-end"
_TOLD_OF_THE_END: Final = frozenset({Cap.CHATHISTORY, Cap.MESSAGE_TAGS})
REFERENCES: Final = ("msgid", "timestamp")
CHATHISTORY_HELP: Final = (
    "CHATHISTORY LATEST <channel or nick> * <n>                 the last n messages",
    "CHATHISTORY BEFORE <channel or nick> timestamp=<time> <n>  the n messages before that",
    "",
    "The messages come as they were said, in a batch. Clients that know IRCv3 draft/chathistory send this by",
    "themselves. HISTORY tells the same in plain lines: see HELP HISTORY.",
)
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3})\d*)?Z", re.ASCII)


def parse_time(text: str) -> int | None:
    """Milliseconds, of a time as server-time writes it."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    try:
        at = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(at.timestamp()) * 1000 + int((found[2] or "0").ljust(3, "0"))


class ChatHistory:
    """Answers CHATHISTORY (IRCv3 draft/chathistory)."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def answer(self, asker: Asker, params: Sequence[str]) -> Replies:
        """Return the batches that answer one CHATHISTORY command."""
        if not params:
            raise Failure("INVALID_PARAMS", "*", text="Insufficient parameters")
        subcommand, rest = params[0].upper(), params[1:]
        if subcommand not in _SELECT and subcommand != "TARGETS":
            raise Failure("INVALID_PARAMS", params[0], text="Unknown command")
        wanted = 4 if subcommand == "BETWEEN" else 3
        if len(rest) < wanted:
            raise Failure("INVALID_PARAMS", subcommand, text="Insufficient parameters")
        if len(rest) > wanted:
            raise Failure("INVALID_PARAMS", subcommand, text="Too many parameters")
        limit = _limit(subcommand, rest[-1])
        with self._archive.reading() as connection:
            if subcommand == "TARGETS":
                return [_targets(connection, asker, rest[0], rest[1], limit)]
            return [_messages(connection, asker, subcommand, rest[0], rest[1:-1], limit)]


def parse_count(text: str) -> int | None:
    """Return the number of messages that a client asks for, limited to the maximum."""
    count = int(text) if is_number(text) else 0
    return min(count, MOST) if count else None


def _limit(subcommand: str, text: str) -> int:
    limit = parse_count(text)
    if limit is None:
        raise Failure("INVALID_PARAMS", subcommand, text, text="Invalid limit")
    return limit


def _messages(
    connection: sqlite3.Connection,
    asker: Asker,
    subcommand: str,
    target: str,
    references: Sequence[str],
    limit: int,
) -> ReplyBatch:
    what = readable(connection, asker, target)
    if what is None:
        raise Failure("INVALID_TARGET", subcommand, target, text="Messages could not be retrieved")
    points = [_point(connection, what, subcommand, target, reference) for reference in references]
    look = _Look(connection, what.views, limit, commands_for(asker.caps))
    rows = _SELECT[subcommand](look, points)
    # Around a message there are two ends.
    is_last = len(rows) < limit and subcommand != "AROUND"
    replies = [replayed(row, what.name, asker.caps, asker.believed_hosts) for row in rows]
    return ReplyBatch("chathistory", (target,), replies, _end_tag(asker, is_last=is_last))


def _end_tag(asker: Asker, *, is_last: bool) -> str:
    """Return the tag that says that there is nothing more in this direction; empty if there is more."""
    return "" if asker.caps.isdisjoint(_TOLD_OF_THE_END) or not is_last else END_TAG


def _point(
    connection: sqlite3.Connection, what: Readable, subcommand: str, target: str, reference: str
) -> Point | int | None:
    """A message, a time in milliseconds, or `*`, which only LATEST knows."""
    kind, sign, value = reference.partition("=")
    if reference == "*" and subcommand == "LATEST":
        return None
    if not sign:
        raise Failure("INVALID_PARAMS", subcommand, reference, text="Invalid reference")
    if kind not in REFERENCES:
        raise Failure("INVALID_MSGREFTYPE", subcommand, target, text="Unknown kind of reference")
    if kind == "timestamp":
        at_ms = parse_time(value)
        if at_ms is None:
            raise Failure("INVALID_PARAMS", subcommand, reference, text="Invalid timestamp")
        return at_ms
    point = point_of(connection, what.views, value)
    if point is None:
        raise Failure("MESSAGE_ERROR", subcommand, target, text="There is no such message")
    return point


def _behind(point: Point | int | None) -> Point:
    """Return the point after which the next page begins."""
    if point is None:
        return BEGINNING
    return point if isinstance(point, Point) else Point(point, LAST)


def _before(point: Point | int | None) -> Point:
    if point is None:
        return END
    return point if isinstance(point, Point) else Point(point, -1)


def _just_before(point: Point) -> Point:
    return Point(point.at_ms, point.seq - 1)


class _Look(NamedTuple):
    """Who looks at what, and how much of it they want."""

    connection: sqlite3.Connection
    views: Sequence[View]
    limit: int
    commands: Sequence[str]

    def first(self, after: Point = BEGINNING, before: Point = END) -> list[Recorded]:
        return window(self.connection, self.views, after, before, self.limit, self.commands, latest=False)

    def last(self, after: Point = BEGINNING, before: Point = END) -> list[Recorded]:
        return window(self.connection, self.views, after, before, self.limit, self.commands, latest=True)


_Points = Sequence[Point | int | None]


def _latest(look: _Look, points: _Points) -> list[Recorded]:
    return look.last(after=_behind(points[0]))


def _older(look: _Look, points: _Points) -> list[Recorded]:
    return look.last(before=_before(points[0]))


def _newer(look: _Look, points: _Points) -> list[Recorded]:
    return look.first(after=_behind(points[0]))


def _around(look: _Look, points: _Points) -> list[Recorded]:
    half = look.limit // 2
    older = look._replace(limit=half).last(before=_before(points[0])) if half else []
    # The message itself, if there is one, comes first of what is behind.
    start = older[-1].point if older else _just_before(_before(points[0]))
    return older + look._replace(limit=look.limit - count(older)).first(after=start)


def _between(look: _Look, points: _Points) -> list[Recorded]:
    first, second = points
    # Counted from the first: forwards the earliest, backwards the latest.
    if _before(first) <= _before(second):
        return look.first(_behind(first), _before(second))
    return look.last(_behind(second), _before(first))


_SELECT: Final = {
    "LATEST": _latest,
    "BEFORE": _older,
    "AFTER": _newer,
    "AROUND": _around,
    "BETWEEN": _between,
}


def _targets(connection: sqlite3.Connection, asker: Asker, first: str, second: str, limit: int) -> ReplyBatch:
    """The channels that somebody is in, and who they talked with, by the time of the last message."""
    times = []
    for text in (first, second):
        kind, _, value = text.partition("=")
        at_ms = parse_time(value) if kind == "timestamp" else None
        if at_ms is None:
            raise Failure("INVALID_PARAMS", "TARGETS", text, text="Invalid timestamp")
        times.append(at_ms)
    low, high = sorted(times)
    latest: dict[Folded, tuple[int, str]] = {}
    for name, view in _places(connection, asker):
        at_ms = latest_ms(connection, view, SPEECH)
        # Who logged in meanwhile is another end of another conversation, under the same nick.
        if at_ms is not None and at_ms > latest.get(fold(name), (-1, ""))[0]:
            latest[fold(name)] = (at_ms, name)
    found = sorted(each for each in latest.values() if low < each[0] < high)
    chosen = found[:limit] if times[0] <= times[1] else found[-limit:]
    lines = [
        Reply("CHATHISTORY", ("TARGETS", name, format_time(at_ms / 1000)), trailing=False)
        for at_ms, name in chosen
    ]
    end = _end_tag(asker, is_last=len(found) <= limit)
    return ReplyBatch("draft/chathistory-targets", (), lines, end)


def _places(connection: sqlite3.Connection, asker: Asker) -> list[tuple[str, View]]:
    found = []
    for key in asker.channels:
        place = find_place(connection, key)
        view = channel_view(connection, asker, place[0], key) if place else None
        if place and view:
            found.append((place[1], view))
    talks = conversations(connection, asker.parties)
    return found + [(talk.nick, conversation_view(talk)) for talk in talks]
