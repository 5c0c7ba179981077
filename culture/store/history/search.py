"""Full-text search: what people type becomes a question that FTS5 takes, whatever they typed."""

import itertools
import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from culture.store.history.indexing import place_word, sender_word
from culture.store.history.reading import LAST, Hit, Recorded

CANDIDATES: Final = 300
"""Of more that may be read, the newest are ranked."""
MOST_HITS: Final = 6000
"""Among so many they are looked for, at two microseconds each."""
SHORTEST_PREFIX: Final = 2
"""Every message has words that begin with some letter."""
_PART = re.compile(r'(?P<filter>from|before|after):(?P<value>\S+)|"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+)')
_TOKEN = re.compile(r"\w+")


class Term(NamedTuple):
    text: str
    is_prefix: bool = False


class Query(NamedTuple):
    terms: tuple[Term, ...]
    sender: str | None = None
    before_ms: int = LAST
    after_ms: int = -1


def parse_query(text: str) -> Query:
    """Words, "phrases", prefixes as disk*, from:nick, before: and after: a day or a time (UTC)."""
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
    """What fits, the newest first: in these places, or anywhere. It may be read or not."""
    if (not query.terms and query.sender is None) or places == []:
        return iter(())
    # What other hosts had to say of a time may have come later than what was said here after it.
    found = connection.execute(
        """
        SELECT id, place, at_ms, is_public FROM words JOIN events ON id = words.rowid
        WHERE words MATCH ? AND at_ms >= ? AND at_ms < ? ORDER BY words.rowid DESC LIMIT ?
        """,
        (_expression(query, places), query.after_ms, query.before_ms, MOST_HITS),
    )
    return itertools.starmap(Hit, found)


def ranked(rows: Sequence[Recorded], query: Query) -> list[Recorded]:
    """Best first (BM25, with the rows themselves as the collection), and of equals the newest."""
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
