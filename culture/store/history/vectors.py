"""A file of embedding vectors of messages, searched exhaustively."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from culture.store.database import FOR_THE_OWNER

FILE: Final = "vectors"
# Unit vectors are quantized to one signed byte per component, which is exact enough for similarity.
SCALE: Final = 127
# Rows that are compared in one step, to bound memory.
_ROWS: Final = 8192


class Vectors:
    """The vector file; each row has the row id and place of its event."""

    def __init__(self, directory: Path, width: int) -> None:
        # numpy is a heavy optional dependency, installed with culture[semantic].
        import numpy

        self._np = numpy
        self._path = directory / FILE
        self._row: Any = numpy.dtype([("number", "<i8"), ("place", "<i4"), ("vector", "i1", width)])
        self._path.touch(mode=FOR_THE_OWNER)
        size = self._path.stat().st_size
        # Drop an incomplete last row; it is computed again.
        os.truncate(self._path, size - size % self._row.itemsize)

    @property
    def last(self) -> int:
        """Return the row id of the last event with a vector."""
        rows = self._rows()
        return int(rows[-1]["number"]) if len(rows) else 0

    def append(self, numbers: Sequence[int], places: Sequence[int], vectors: Any) -> None:
        """Append the vectors of events."""
        rows = self._np.empty(len(numbers), self._row)
        rows["number"], rows["place"] = numbers, places
        rows["vector"] = self._np.rint(vectors * SCALE)
        with self._path.open("ab") as file:
            file.write(rows.tobytes())

    def numbers(self) -> list[int]:
        """Return the row ids of all events with a vector."""
        return [int(number) for number in self._rows()["number"]]

    def keep(self, numbers: Sequence[int]) -> None:
        """Delete all vectors but these."""
        rows = self._rows()
        kept = rows[self._np.isin(rows["number"], numbers)]
        fresh = self._path.with_name(f"{FILE}.part")
        fresh.touch(mode=FOR_THE_OWNER)
        fresh.write_bytes(kept.tobytes())
        fresh.rename(self._path)

    def nearest(self, vector: Any, places: Sequence[int] | None, most: int) -> list[int]:
        """Return the row ids of the nearest events in these places, or anywhere, nearest first."""
        np, rows = self._np, self._rows()
        if places is not None:
            rows = rows[np.isin(rows["place"], places)]
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _ROWS):
            some = rows["vector"][start : start + _ROWS]
            scores[start : start + _ROWS] = some.astype(np.float32) @ vector
        best = np.argsort(-scores)[:most] if len(rows) <= most else self._best(scores, most)
        return [int(number) for number in rows["number"][best]]

    def _best(self, scores: Any, most: int) -> Any:
        some = self._np.argpartition(-scores, most)[:most]
        return some[self._np.argsort(-scores[some])]

    def _rows(self) -> Any:
        if not self._path.exists() or not self._path.stat().st_size:
            return self._np.empty(0, self._row)
        return self._np.memmap(self._path, self._row, mode="r")
