"""HISTORY SEMANTIC: search by meaning with embedding vectors."""

import contextlib
import importlib.util
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from culture.skills.history.minilm import NEEDED, WIDTH, MiniLm, find_model
from culture.skills.history.scope import Scope
from culture.store.history.archive import Archive
from culture.store.history.indexing import SPEECH
from culture.store.history.reading import Recorded, hits_of
from culture.store.history.search import CANDIDATES, MOST_HITS, find, parse_query, ranked
from culture.store.history.vectors import Vectors

SLICE: Final = 16
NEAREST: Final = 200
REST_S: Final = 0.05
IDLE_S: Final = 2.0
FORGET_EVERY_S: Final = 3600.0
MANY: Final = 10_000
NICENESS: Final = 15
# Reciprocal rank fusion: how little the first places differ from those behind them.
_SMOOTHING: Final = 60


class Encoder(Protocol):
    """Turns texts into vectors."""

    def encode(self, texts: Sequence[str]) -> Any: ...


class Semantic:
    """The search by meaning: embeds messages in the background and finds the nearest ones."""

    def __init__(
        self, archive: Archive, make_encoder: Callable[[], Encoder], report: Callable[[str], None]
    ) -> None:
        """The encoder is created on first use, because loading it takes a while."""
        self._archive = archive
        self._make_encoder = make_encoder
        self._report = report
        self._lock = threading.Lock()
        self._made: tuple[Encoder, Vectors] | None = None
        self._forgot_at = 0.0
        self._wake, self._is_over = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="semantic", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._is_over = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def search(self, scope: Scope, text: str) -> list[Recorded]:
        """Return readable messages, best first, by meaning and by words (reciprocal rank fusion)."""
        query = parse_query(text)
        encoder, vectors = self._tools()
        near = vectors.nearest(encoder.encode([text])[0], scope.places, MOST_HITS)
        by_meaning = scope.first_readable(hits_of(scope.connection, near), NEAREST)
        # Only what has all of the words: some of them are in most messages.
        by_words = scope.first_readable(find(scope.connection, query, scope.places), CANDIDATES)
        return fused([by_meaning, ranked(by_words, query)])

    def index(self) -> int:
        """Compute the vectors of the next few events; return how many."""
        query = f"""
        SELECT id, place, text FROM events
        WHERE id > ? AND command IN {SPEECH} AND is_redacted = 0 AND text <> '' ORDER BY id LIMIT ?
        """
        encoder, vectors = self._tools()
        with self._archive.reading(is_current=False) as connection:
            rows = connection.execute(query, (vectors.last, SLICE)).fetchall()
        if rows:
            numbers, places, texts = zip(*rows, strict=True)
            vectors.append(numbers, places, encoder.encode(texts))
        return len(rows)

    def forget(self) -> None:
        """Delete the vectors of redacted and pruned events."""
        _, vectors = self._tools()
        numbers = vectors.numbers()
        kept: list[int] = []
        with self._archive.reading() as connection:
            for start in range(0, len(numbers), MANY):
                some = numbers[start : start + MANY]
                query = f"SELECT id FROM events WHERE id IN ({','.join('?' * len(some))}) AND is_redacted = 0"
                kept += [number for (number,) in connection.execute(query, some)]
        # The last one says where to go on.
        if len(kept) < len(numbers) and numbers[-1] in kept:
            vectors.keep(kept)

    def _tools(self) -> tuple[Encoder, Vectors]:
        with self._lock:
            if self._made is None:
                self._made = (self._make_encoder(), Vectors(self._archive.directory, WIDTH))
            return self._made

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            # Of this thread alone: the server comes first.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        is_failing = False
        while not self._is_over:
            try:
                rest_s = REST_S if self.index() else IDLE_S
                if time.monotonic() - self._forgot_at > FORGET_EVERY_S:
                    self._forgot_at = time.monotonic()
                    self.forget()
                is_failing = False
            except Exception as error:
                rest_s = IDLE_S
                if not is_failing:
                    self._report(f"the index by meaning is behind, and tries again: {error}")
                is_failing = True
            self._wake.wait(rest_s)


def open_semantic(archive: Archive, report: Callable[[str], None]) -> Semantic | None:
    """Return the semantic search, or None if the model or its dependencies are missing."""
    model = find_model()
    if model is None:
        return None
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        report(f"HISTORY SEMANTIC is not there: culture[semantic] would bring {', '.join(missing)}")
        return None
    return Semantic(archive, lambda: MiniLm(model), report)


def fused(lists: Sequence[Sequence[Recorded]]) -> list[Recorded]:
    """Merge several rankings into one by reciprocal rank fusion."""
    scores: dict[int, float] = {}
    rows: dict[int, Recorded] = {}
    for ranking in lists:
        for place, row in enumerate(ranking):
            rows[row.number] = row
            scores[row.number] = scores.get(row.number, 0.0) + 1 / (_SMOOTHING + place)
    return sorted(rows.values(), key=lambda row: scores[row.number], reverse=True)
