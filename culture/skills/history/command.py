"""HISTORY: read and search history, for people who type and for programs without batches."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from culture.ircd.failures import Failure
from culture.ircd.skills import Asker, Replies, Reply
from culture.skills.history.chathistory import parse_count, parse_time
from culture.skills.history.replay import told
from culture.skills.history.rights import Readable, readable
from culture.skills.history.scope import Scope, search_scope
from culture.skills.history.semantic import Semantic
from culture.store.history.archive import Archive
from culture.store.history.indexing import SPEECH
from culture.store.history.reading import (
    BEGINNING,
    END,
    LAST,
    Point,
    Recorded,
    point_of,
    window,
)
from culture.store.history.search import CANDIDATES, find, parse_query, ranked

# How many, where nothing is said.
USUAL: Final = 50
# How many by meaning: there is always one more that is a little farther away.
MEANT: Final = 10
# How long a search may take to look at what was said just now.
INDEX_S: Final = 0.01

HELP: Final = (
    "HISTORY RECENT <channel or nick> [n]                 the last n messages (50)",
    "HISTORY SINCE <channel or nick> <msgid or time> [n]  the first n messages after that",
    "HISTORY SEARCH <channel, nick or *> :<query>         the messages with all these words",
    "HISTORY SEMANTIC <channel, nick or *> :<query>       the messages that mean something like it",
    "",
    'A query may have from:nick, before:2026-11-01, after:2026-11-01, "words in this order" and word*.',
    "A time is 2026-11-16T05:43:39.000Z. * searches everything that you may read.",
    "In most clients a command that they do not know is sent by /quote: /quote HISTORY RECENT #ops 20",
)


class HistoryCommand:
    """Answers HISTORY."""

    def __init__(self, archive: Archive, server: str, semantic: Semantic | None = None) -> None:
        self._archive = archive
        self._semantic = semantic
        self._server = server
        self._subcommands: dict[str, Callable[[Asker, str, Sequence[str]], Replies]] = {
            "RECENT": self._recent,
            "SEARCH": self._search,
            "SEMANTIC": self._by_meaning,
            "SINCE": self._since,
        }

    def answer(self, asker: Asker, params: Sequence[str]) -> Replies:
        """Return the lines that answer one HISTORY command."""
        if not params:
            raise Failure("INVALID_PARAMS", "*", text="Insufficient parameters")
        subcommand, rest = params[0].upper(), params[1:]
        answer = self._subcommands.get(subcommand)
        if answer is None:
            raise Failure("INVALID_PARAMS", params[0], text="Unknown command")
        if not rest:
            raise Failure("INVALID_PARAMS", subcommand, text="Insufficient parameters")
        return answer(asker, rest[0], rest[1:])

    def _recent(self, asker: Asker, target: str, params: Sequence[str]) -> Replies:
        limit = _count(params[0]) if params else USUAL
        with self._archive.reading() as connection:
            what = _readable(connection, asker, target)
            rows = window(connection, what.views, BEGINNING, END, limit, SPEECH, latest=True)
        return self._tell(what.name, rows)

    def _since(self, asker: Asker, target: str, params: Sequence[str]) -> Replies:
        if not params:
            raise Failure("INVALID_PARAMS", "SINCE", text="Insufficient parameters")
        limit = _count(params[1]) if len(params) > 1 else USUAL
        with self._archive.reading() as connection:
            what = _readable(connection, asker, target)
            at_ms = parse_time(params[0])
            start = Point(at_ms, LAST) if at_ms is not None else point_of(connection, what.views, params[0])
            if start is None:
                raise Failure("MESSAGE_ERROR", target, params[0], text="There is no such message")
            rows = window(connection, what.views, start, END, limit, SPEECH, latest=False)
        return self._tell(what.name, rows)

    def _search(self, asker: Asker, target: str, params: Sequence[str]) -> Replies:
        query = parse_query(" ".join(params))
        if not query.terms and query.sender is None:
            raise Failure("INVALID_PARAMS", "SEARCH", text="There is nothing to search for")
        with self._archive.reading() as connection:
            self._archive.index_for(INDEX_S)
            scope = search_scope(connection, asker, target)
            rows = scope.first_readable(find(connection, query, scope.places), CANDIDATES)
            return self._tell_each(scope, target, ranked(rows, query)[:USUAL])

    def _by_meaning(self, asker: Asker, target: str, params: Sequence[str]) -> Replies:
        if self._semantic is None:
            raise Failure("NEED_SEMANTIC", text="This server does not have culture[semantic]; try SEARCH")
        text = " ".join(params).strip()
        if not text:
            raise Failure("INVALID_PARAMS", "SEMANTIC", text="There is nothing to search for")
        with self._archive.reading() as connection:
            self._archive.index_for(INDEX_S)
            scope = search_scope(connection, asker, target)
            return self._tell_each(scope, target, self._semantic.search(scope, text)[:MEANT])

    def _tell_each(self, scope: Scope, target: str, rows: Sequence[Recorded]) -> Replies:
        lines = [line for row in rows for line in told(row, scope.name_of(row), self._server)]
        return [*lines, end_of_results(target)]

    def _tell(self, name: str, rows: Sequence[Recorded]) -> Replies:
        lines = [line for row in rows for line in told(row, name, self._server)]
        return [*lines, end_of_results(name)]


def end_of_results(name: str) -> Reply:
    """Return the line that ends the results of HISTORY."""
    return Reply("HISTORYEND", (name, "End of results"))


def _readable(connection: sqlite3.Connection, asker: Asker, target: str) -> Readable:
    what = readable(connection, asker, target)
    if what is None:
        raise Failure("INVALID_TARGET", target, text="You cannot read that")
    return what


def _count(text: str) -> int:
    count = parse_count(text)
    if count is None:
        raise Failure("INVALID_PARAMS", text, text="That is no number of messages")
    return count
