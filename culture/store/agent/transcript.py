"""The transcript of an agent: the steps of its last turns, in a database of its own.

The daemon writes while others read: every step is committed when it is reported, so that `kill -9` loses
nothing. The file holds at most MOST_TURNS turns and MOST_BYTES bytes of text; the oldest steps go first.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from culture.errors import UnavailableError
from culture.store.database import BUSY_S, MIGRATIONS, prepare

FILE: Final = "transcript.db"
MOST_TURNS: Final = 500
MOST_BYTES: Final = 32 * 1024 * 1024
# A longer text is stored as its head and its tail.
HEAD_CHARS: Final = 6000
TAIL_CHARS: Final = 2000
# How many steps are removed at a time.
_BATCH: Final = 10
# How many tool calls and results are searched for a call that runs.
_RECENT_CALLS: Final = 64
_SIZE: Final = "length(CAST(text AS BLOB)) + length(CAST(tail AS BLOB)) + 100"


class StepKind(StrEnum):
    """The kind of a step."""

    PROMPT = "prompt"
    TEXT = "text"
    THINKING = "thinking"
    TOOL = "tool"
    RESULT = "result"


class Step(NamedTuple):
    """One step of a turn, as the backend reports it."""

    kind: StepKind
    # The text, the tool's arguments as JSON, or the tool's result.
    text: str
    # The name of the tool.
    name: str = ""
    # The id of the tool call; a result has the same.
    call: str = ""
    # The id of the tool call that started the sub-agent.
    parent: str = ""
    failed: bool = False


class KeptStep(NamedTuple):
    """A stored step."""

    number: int
    turn: str
    at_ms: int
    kind: StepKind
    call: str
    parent: str
    name: str
    # The head, if it was long.
    text: str
    tail: str
    # How many characters are missing between the two.
    left_out: int
    failed: bool


class KeptTurn(NamedTuple):
    """A stored turn."""

    number: int
    id: str
    began_ms: int
    # None while it runs, and if the daemon was killed in it.
    ended_ms: int | None
    senders: str
    # The channel; empty in private.
    place: str
    outcome: str
    error: str


class Transcript:
    """Writes the transcript. SQLite errors become UnavailableError."""

    def __init__(
        self, directory: Path, *, most_turns: int = MOST_TURNS, most_bytes: int = MOST_BYTES
    ) -> None:
        self._path = directory / FILE
        self._most_turns = most_turns
        self._most_bytes = most_bytes
        prepare(self._path, MIGRATIONS / "transcript")
        with _told(self._path):
            self._connection = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            # Overwrite deleted rows, so that they cannot be recovered from the file.
            self._connection.execute("PRAGMA secure_delete = ON")
            (size,) = self._connection.execute(f"SELECT coalesce(sum({_SIZE}), 0) FROM step").fetchone()
        self._bytes = int(size)
        self._turn: int | None = None

    def begin(self, id: str, senders: str, place: str, now_ms: int) -> None:
        """Begin a turn. An earlier one without an end stays without one."""
        with self._at_once():
            self._turn = self._connection.execute(
                """
                INSERT INTO turn (id, began_ms, senders, place, outcome, error) VALUES (?, ?, ?, ?, '', '')
                """,
                (id, now_ms, senders, place),
            ).lastrowid
            self._forget_old_turns()

    @property
    def has_turn(self) -> bool:
        """Return whether a turn is running."""
        return self._turn is not None

    def add(self, step: Step, now_ms: int) -> None:
        """Add a step to the running turn, if there is one."""
        if self._turn is None:
            return
        head, tail, left_out = _bounded(step.text)
        row = (self._turn, now_ms, step.kind, step.call, step.parent, step.name, head, tail, left_out)
        with self._at_once():
            self._connection.execute(
                """
                INSERT INTO step (turn, at_ms, kind, call, parent, name, text, tail, left_out, failed)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                (*row, int(step.failed)),
            )
            self._bytes += len(head.encode()) + len(tail.encode()) + 100
            while self._bytes > self._most_bytes:
                self._forget_old_steps()

    def end(self, outcome: str, error: str, now_ms: int) -> None:
        """End the running turn."""
        with self._at_once():
            self._connection.execute(
                "UPDATE turn SET ended_ms = ?, outcome = ?, error = ? WHERE number = ?",
                (now_ms, outcome, error, self._turn),
            )
        self._turn = None

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _forget_old_turns(self) -> None:
        (oldest,) = self._connection.execute(
            "SELECT min(number) FROM (SELECT number FROM turn ORDER BY number DESC LIMIT ?)",
            (self._most_turns,),
        ).fetchone()
        (size,) = self._connection.execute(
            f"SELECT coalesce(sum({_SIZE}), 0) FROM step WHERE turn < ?", (oldest,)
        ).fetchone()
        self._connection.execute("DELETE FROM step WHERE turn < ?", (oldest,))
        self._connection.execute("DELETE FROM turn WHERE number < ?", (oldest,))
        self._bytes -= int(size)

    def _forget_old_steps(self) -> None:
        last, size = self._connection.execute(
            f"""
            SELECT max(number), sum({_SIZE}) FROM
                (SELECT number, text, tail FROM step ORDER BY number LIMIT ?)
            """,
            (_BATCH,),
        ).fetchone()
        self._connection.execute("DELETE FROM step WHERE number <= ?", (last,))
        self._connection.execute(
            "DELETE FROM turn WHERE number < coalesce((SELECT min(turn) FROM step), ?)", (self._turn,)
        )
        self._bytes -= int(size)

    @contextlib.contextmanager
    def _at_once(self) -> Iterator[None]:
        with _told(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield


class TranscriptReader:
    """Reads the transcript, whether the agent runs or not."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def turns(self) -> list[KeptTurn]:
        """Return all stored turns, the oldest first."""
        rows = self._connection.execute(
            "SELECT number, id, began_ms, ended_ms, senders, place, outcome, error FROM turn ORDER BY number"
        )
        return [KeptTurn(*row) for row in rows]

    def steps(self, turn: int, after: int = 0) -> list[KeptStep]:
        """Return the steps of a turn after the step with this number."""
        rows = self._connection.execute(
            """
            SELECT step.number, turn.id, at_ms, kind, call, parent, name, text, tail, left_out, failed
            FROM step JOIN turn ON turn.number = step.turn
            WHERE turn.number = ? AND step.number > ? ORDER BY step.number
            """,
            (turn, after),
        )
        return [KeptStep(*row)._replace(kind=StepKind(row[3]), failed=bool(row[-1])) for row in rows]

    def running_tool(self, turn: str) -> Step | None:
        """Return the latest tool call of a turn that has not returned yet."""
        rows = self._connection.execute(
            """
            SELECT kind, text, name, call FROM step
            WHERE turn = (SELECT number FROM turn WHERE id = ? ORDER BY number DESC LIMIT 1)
              AND kind IN ('tool', 'result')
            ORDER BY number DESC LIMIT ?
            """,
            (turn, _RECENT_CALLS),
        )
        steps = [Step(StepKind(kind), *others) for kind, *others in rows]
        returned = {step.call for step in steps if step.kind is StepKind.RESULT}
        calls = (step for step in steps if step.kind is StepKind.TOOL)
        return next((step for step in calls if step.call not in returned), None)


@contextlib.contextmanager
def reading_transcript(directory: Path) -> Iterator[TranscriptReader]:
    """Open the transcript in this directory read-only."""
    path = directory / FILE
    with _told(path), contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        yield TranscriptReader(connection)


def _bounded(text: str) -> tuple[str, str, int]:
    """Return head and tail of a text, and the number of characters between them."""
    # A lone half of a surrogate pair cannot be stored; a tool may return one as JSON.
    text = text.encode(errors="replace").decode()
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text, "", 0
    return text[:HEAD_CHARS], text[-TAIL_CHARS:], len(text) - HEAD_CHARS - TAIL_CHARS


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise UnavailableError(f"cannot use '{path}': {error}") from None
