"""The questions of an agent and the votes on them; every change of a state is one atomic UPDATE."""

import json
import sqlite3
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple


class QuestionKind(StrEnum):
    """What a question is about."""

    ASK = "ask"
    PERMISSION = "permission"
    BUDGET = "budget"


class QuestionState(StrEnum):
    """The state of a question."""

    # It is on disk, and not yet on IRC.
    ASKED = "asked"
    POSTED = "posted"
    # The answer that counts is on disk; the agent does not have it yet.
    ANSWERED = "answered"
    DELIVERED = "delivered"
    # The agent could not ask it, or does not need the answer any more.
    WITHDRAWN = "withdrawn"


class Standing(StrEnum):
    """What is proven about somebody who answers."""

    PERSON = "person"
    AGENT = "agent"
    ANYONE = "anyone"


class StoredQuestion(NamedTuple):
    """A question with its state and its answer; the fields are the columns of the table."""

    number: int
    id: str
    kind: QuestionKind
    state: QuestionState
    text: str
    # JSON, with sorted keys.
    parameters: str
    task: str
    subject: str
    context: str
    turn: str
    # The id of the tool call that the backend keeps until the answer comes; empty if it keeps none.
    call: str
    place: str
    named: tuple[str, ...]
    options: tuple[str, ...]
    msgids: tuple[str, ...]
    asked_ms: int
    is_waiting: bool
    timed_out_ms: int | None
    choice: str
    answer: str
    answered_by: str
    authority: str
    answer_msgid: str
    answered_ms: int | None
    delivered_ms: int | None
    used_ms: int | None

    @property
    def is_open(self) -> bool:
        """Return whether the question waits for its answer."""
        return self.state in (QuestionState.ASKED, QuestionState.POSTED)


class Vote(NamedTuple):
    """What somebody answered to a question."""

    voter: str
    nick: str
    standing: Standing
    choice: str
    text: str
    msgid: str
    at_ms: int


class NewQuestion(NamedTuple):
    """A question that is to be asked."""

    kind: QuestionKind
    text: str
    place: str
    options: tuple[str, ...] = ()
    # JSON, with sorted keys.
    parameters: str = "{}"
    task: str = ""
    subject: str = ""
    context: str = ""
    turn: str = ""
    call: str = ""
    named: tuple[str, ...] = ()


class Answer(NamedTuple):
    """The answer that counts."""

    choice: str
    text: str
    by: str
    authority: str
    msgid: str = ""


_COLUMNS: Final = ", ".join(StoredQuestion._fields)
_OPEN: Final = "state IN ('asked', 'posted')"


class QuestionStore:
    """The tables of questions and votes; the caller opens the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, id: str, new: NewQuestion, now_ms: int, *, is_waiting: bool) -> bool:
        """Store a new question; return False if the id is taken."""
        return self._change(
            """
            INSERT INTO question (id, kind, state, text, parameters, task, subject, context, turn, call,
                                  place, named, options, msgids, asked_ms, is_waiting,
                                  choice, answer, answered_by, authority, answer_msgid)
            VALUES (?, ?, 'asked', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '[]', ?, ?, '', '', '', '', '')
            ON CONFLICT (id) DO NOTHING
            """,
            *(id, new.kind, new.text, new.parameters, new.task, new.subject, new.context, new.turn),
            *(new.call, new.place, json.dumps(new.named), json.dumps(new.options), now_ms, int(is_waiting)),
        )

    def posted(self, id: str, msgids: Sequence[str]) -> bool:
        """Record that the question is on IRC; an answer may have come before that."""
        self._change("UPDATE question SET msgids = ? WHERE id = ?", json.dumps(msgids), id)
        return self._change("UPDATE question SET state = 'posted' WHERE id = ? AND state = 'asked'", id)

    def answer(self, id: str, answer: Answer, now_ms: int) -> bool:
        """Store the answer; return False if there is one already. At most one caller gets True."""
        return self._change(
            f"""
            UPDATE question SET state = 'answered', choice = ?, answer = ?, answered_by = ?, authority = ?,
                                answer_msgid = ?, answered_ms = ?
            WHERE id = ? AND {_OPEN}
            """,
            *(answer.choice, answer.text, answer.by, answer.authority, answer.msgid, now_ms, id),
        )

    def delivered(self, id: str, now_ms: int, *, is_used: bool) -> bool:
        """Record that the agent has the answer, and whether that used up the permission."""
        return self._change(
            """
            UPDATE question SET state = 'delivered', delivered_ms = ?, is_waiting = 0,
                                used_ms = CASE WHEN ? THEN ? END
            WHERE id = ? AND state = 'answered'
            """,
            *(now_ms, int(is_used), now_ms, id),
        )

    def undelivered(self, id: str) -> bool:
        """Take back that the agent has the answer: the call that waited for it is gone."""
        return self._change("UPDATE question SET state = 'answered' WHERE id = ? AND state = 'delivered'", id)

    def withdraw(self, id: str) -> bool:
        """Withdraw a question that was not answered."""
        return self._change(f"UPDATE question SET state = 'withdrawn' WHERE id = ? AND {_OPEN}", id)

    def use(self, parameters: str, now_ms: int) -> StoredQuestion | None:
        """Use up a permission for exactly these parameters, if the agent got one as a message."""
        found = self._find(
            "WHERE kind = 'permission' AND state = 'delivered' AND choice = 'yes' AND used_ms IS NULL "
            "AND parameters = ? ORDER BY number LIMIT 1",
            parameters,
        )
        if not found:
            return None
        self._change("UPDATE question SET used_ms = ? WHERE id = ?", now_ms, found[0].id)
        return found[0]

    def timed_out(self, id: str, now_ms: int) -> bool:
        """Record that the timeout has passed; return False if that was recorded or there is an answer."""
        return self._change(
            f"UPDATE question SET timed_out_ms = ? WHERE id = ? AND timed_out_ms IS NULL AND {_OPEN}",
            now_ms,
            id,
        )

    def wait(self, id: str, turn: str, call: str = "") -> None:
        """Record that a call of a turn waits for the answer."""
        self._change("UPDATE question SET is_waiting = 1, turn = ?, call = ? WHERE id = ?", turn, call, id)

    def wait_no_longer(self, id: str) -> None:
        """Record that no call of a turn waits for the answer any more."""
        self._change("UPDATE question SET is_waiting = 0 WHERE id = ?", id)

    def with_calls(self) -> list[StoredQuestion]:
        """Return the questions whose tool calls the backend keeps, the oldest first."""
        return self._find(
            """
            WHERE call <> '' AND (state IN ('asked', 'posted', 'answered') OR EXISTS
                (SELECT 1 FROM queue WHERE msgid = 'answer:' || question.id AND queue.state = 'queued'))
            ORDER BY number
            """
        )

    def end_call(self, id: str, used_ms: int | None) -> None:
        """Record that the backend keeps the call no longer, and when its permission was used."""
        self._change("UPDATE question SET call = '', used_ms = ? WHERE id = ?", used_ms, id)

    def readdress(self, id: str, place: str, named: Sequence[str]) -> None:
        """Record a new place or new nicks of those who were asked."""
        self._change("UPDATE question SET place = ?, named = ? WHERE id = ?", place, json.dumps(named), id)

    def vote(self, id: str, vote: Vote) -> None:
        """Store a vote, which replaces an earlier one of the same voter."""
        self._change("INSERT OR REPLACE INTO vote VALUES (?, ?, ?, ?, ?, ?, ?, ?)", id, *vote)

    def votes(self, id: str) -> list[Vote]:
        """Return the votes on a question, the oldest first."""
        rows = self._connection.execute(
            """
            SELECT voter, nick, authority, choice, text, msgid, at_ms FROM vote WHERE question = ?
            ORDER BY at_ms, voter
            """,
            (id,),
        )
        return [Vote(*row)._replace(standing=Standing(row[2])) for row in rows]

    def get(self, id: str) -> StoredQuestion | None:
        """Return the question with this id."""
        return next(iter(self._find("WHERE id = ?", id)), None)

    def open(self) -> list[StoredQuestion]:
        """Return the questions that wait for an answer, the oldest first."""
        return self._find(f"WHERE {_OPEN} ORDER BY number")

    def undelivered_answers(self) -> list[StoredQuestion]:
        """Return the questions whose answer the agent does not have yet, the oldest first."""
        return self._find("WHERE state = 'answered' ORDER BY number")

    def waiting(self) -> list[StoredQuestion]:
        """Return the questions for which a call of a turn waits."""
        return self._find("WHERE is_waiting = 1 ORDER BY number")

    def last(self, most: int) -> list[StoredQuestion]:
        """Return the last questions, the oldest first."""
        return self._find("ORDER BY number DESC LIMIT ?", most)[::-1]

    def same(self, new: NewQuestion) -> StoredQuestion | None:
        """Return the last question that is the same, asked for the same message."""
        found = self._find(
            """
            WHERE kind = ? AND place = ? AND text = ? AND parameters = ? AND subject = ?
                  AND state <> 'withdrawn'
            ORDER BY number DESC LIMIT 1
            """,
            *(new.kind, new.place, new.text, new.parameters, new.subject),
        )
        return found[0] if found and new.subject else None

    def answered_by_message(self, msgid: str) -> bool:
        """Return whether a message was an answer or a vote, so that reading it again changes nothing."""
        row = self._connection.execute(
            "SELECT 1 FROM question WHERE answer_msgid = :id UNION ALL SELECT 1 FROM vote WHERE msgid = :id",
            {"id": msgid},
        ).fetchone()
        return bool(msgid) and row is not None

    def _change(self, statement: str, *values: object) -> bool:
        return self._connection.execute(statement, values).rowcount == 1

    def _find(self, which: str, *values: object) -> list[StoredQuestion]:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM question {which}", values)
        return [_question(row) for row in rows]


def _question(row: Sequence[Any]) -> StoredQuestion:
    found = StoredQuestion(*row)
    return found._replace(
        kind=QuestionKind(found.kind),
        state=QuestionState(found.state),
        named=tuple(json.loads(str(found.named))),
        options=tuple(json.loads(str(found.options))),
        msgids=tuple(json.loads(str(found.msgids))),
        is_waiting=bool(found.is_waiting),
    )
