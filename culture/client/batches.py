"""Collect the lines of an IRCv3 batch until the batch is complete."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from culture.protocol.line import Line
from culture.protocol.multiline import BATCH_TAG, CONCAT_TAG, Fragment, combine
from culture.protocol.multiline import TYPE as MULTILINE

HISTORY: Final = "chathistory"
# Of the other types (a netsplit, say) each line means what it would mean alone.
_HELD: Final = frozenset({MULTILINE, HISTORY})
# A server that never ends a batch must not fill our memory.
_MOST_OPEN: Final = 16
_MOST_LINES: Final = 20_000


@dataclass(slots=True)
class Batch:
    """The lines of one complete batch."""

    opening: Line
    lines: list[Line] = field(default_factory=list)

    @property
    def type(self) -> str:
        """Return the type of the batch, such as chathistory."""
        return self.opening.param(1)

    @property
    def target(self) -> str:
        """Return the channel or nick that the batch is about; empty if it names none."""
        return self.opening.param(2)


class Batches:
    """The batches that the server has opened and not closed yet."""

    def __init__(self) -> None:
        self._open: dict[str, Batch] = {}

    def received(self, line: Line) -> Line | Batch | None:
        """Return the line or the batch that can be processed now, or None while a batch is incomplete.

        A multiline message is returned as one line whose text contains line ends.
        """
        if line.command == "BATCH":
            return self._bound(line)
        return self._hold(line) if self._open else line

    def _bound(self, line: Line) -> Line | Batch | None:
        sign, reference = line.param(0)[:1], line.param(0)[1:]
        if sign == "+":
            if line.param(1) in _HELD and len(self._open) < _MOST_OPEN:
                self._open[reference] = Batch(line)
            return None
        batch = self._open.pop(reference, None)
        if batch is None or batch.type != MULTILINE:
            return batch
        joined = _joined(batch.opening, batch.lines)
        # A message of several lines may stand inside of history.
        return self._hold(joined) if joined is not None else None

    def _hold(self, line: Line) -> Line | None:
        batch = self._open.get(line.tags.get(BATCH_TAG, ""))
        if batch is None:
            return line
        if len(batch.lines) < _MOST_LINES:
            batch.lines.append(line)
        return None


def _joined(opening: Line, lines: Sequence[Line]) -> Line | None:
    if not lines:
        return None
    text = combine(Fragment(line.param(1), CONCAT_TAG in line.tags) for line in lines)
    # Who said it, when, and as which message, is said once: where the batch begins.
    return Line(lines[0].command, (opening.param(2), text), lines[0].source, opening.tags)
