"""Full-text search: turn user input into a safe FTS5 query and rank the results."""

import itertools
import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from culture.store.history.indexing import place_word, sender_word
from culture.store.history.reading import LAST, Hit, Recorded

# Only so many of the newest readable hits are ranked.
CANDIDATES: Final = 300
# Only so many hits are checked for readability, at two microseconds each.
MOST_HITS: Final = 6000
# A prefix of one letter would match nearly every message.
SHORTEST_PREFIX: Final = 2
_PART = re.compile(r'(?P<filter>from|before|after):(?P<value>\S+)|"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+)')
_TOKEN = re.compile(r"\w+")


class Term(NamedTuple):
    """A word, phrase or prefix to search for."""

    text: str
    is_prefix: bool = False


class Query(NamedTuple):
    """A parsed search."""

    terms: tuple[Term, ...]
    sender: str | None = None
    before_ms: int = LAST
    after_ms: int = -1


def parse_query(text: str) -> Query:
    """Parse words, "phrases", prefixes (disk*), from:nick, and before: or after: a day or time (UTC)."""
    terms, sender, before_ms, after_ms = [], None, LAST, -1
    for part in _PART.finditer(text):
        value, at_ms = part["value"], _time_ms(part["value"] or "")
        if part["filter"] == "from":
            sender = value
        elif part["filter"] == "before" and at_ms is not None:
            before_ms = at_ms
        elif part["filter"] == "after" and at_ms is not None:
            after_ms = at_ms
        else:
            word = part["word"] or ""
            stem = word.removesuffix("*")
            term = Term(part["phrase"] or stem or value or "", stem != word and len(stem) >= SHORTEST_PREFIX)
            if _TOKEN.search(term.text):
                terms.append(term)
    return Query(tuple(terms), sender, before_ms, after_ms)


def find(connection: sqlite3.Connection, query: Query, places: Sequence[int] | None) -> Iterator[Hit]:
    """Yield matches in these places, or anywhere, newest first. The caller checks who may read them."""
    if (not query.terms and query.sender is None) or places == []:
        return iter(())
    # Row ids are in order of arrival, so times may be out of order: events of other hosts arrive late.
    found = connection.execute(
        """
        SELECT id, place, at_ms, is_public FROM words JOIN events ON id = words.rowid
        WHERE words MATCH ? AND at_ms >= ? AND at_ms < ? ORDER BY words.rowid DESC LIMIT ?
        """,
        (_expression(query, places), query.after_ms, query.before_ms, MOST_HITS),
    )
    return itertools.starmap(Hit, found)


def ranked(rows: Sequence[Recorded], query: Query) -> list[Recorded]:
    """Sort rows by BM25 with the rows as the collection, best first; the newer of equals comes first."""
    texts = [_TOKEN.findall(row.text.lower()) for row in rows]
    if not texts:
        return []
    usual = sum(map(len, texts)) / len(texts) or 1.0
    counts = [[_count(words, term) for term in query.terms] for words in texts]
    weights = []
    for which in range(len(query.terms)):
        having = sum(1 for each in counts if each[which])
        weights.append(math.log(1 + (len(texts) - having + 0.5) / (having + 0.5)) + 0.1)
    scores = []
    for words, each in zip(texts, counts, strict=True):
        bound = 1.2 * (0.25 + 0.75 * len(words) / usual)
        scores.append(sum(w * n * 2.2 / (n + bound) for w, n in zip(weights, each, strict=True)))
    order = sorted(range(len(rows)), key=lambda at: (scores[at], rows[at].point), reverse=True)
    return [rows[at] for at in order]


def _expression(query: Query, places: Sequence[int] | None) -> str:
    parts = []
    if query.terms:
        words = " AND ".join(f"{_quoted(term.text)}{' *' if term.is_prefix else ''}" for term in query.terms)
        parts.append(f"text : ({words})")
    if query.sender is not None:
        parts.append(f"about : {sender_word(query.sender)}")
    if places is not None:
        parts.append(f"about : ({' OR '.join(map(place_word, places))})")
    return " AND ".join(parts)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _count(words: Sequence[str], term: Term) -> int:
    wanted = _TOKEN.findall(term.text.lower())
    if term.is_prefix and len(wanted) == 1:
        return sum(1 for word in words if word.startswith(wanted[0]))
    if len(wanted) == 1:
        return words.count(wanted[0])
    return sum(1 for at in range(len(words)) if words[at : at + len(wanted)] == wanted)


def _time_ms(text: str) -> int | None:
    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
