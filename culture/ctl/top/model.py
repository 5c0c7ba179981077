"""The truth that `culturectl top` shows: what agents, the ledger and the server report, as rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from culture.agent.reporting.state import AgentState
from culture.ctl.agents import Report
from culture.ctl.output import Row
from culture.store.agent.transcript import Step


class Group(StrEnum):
    """What an agent means for the person at the screen, the most urgent first."""

    NEEDS_YOU = "needs you"
    WORKING = "working"
    WAITING = "waiting"
    IDLE = "idle"
    NOT_RUNNING = "not running"
    UNKNOWN = "unknown"


_GROUPS: Final[Mapping[str, Group]] = {
    AgentState.WORKING: Group.WORKING,
    AgentState.WAITING_FOR_ANSWER: Group.NEEDS_YOU,
    AgentState.WAITING_FOR_BUDGET: Group.WAITING,
    AgentState.WAITING_FOR_QUOTA: Group.WAITING,
    AgentState.PAUSED: Group.WAITING,
    AgentState.HALTED: Group.WAITING,
    AgentState.IDLE: Group.IDLE,
    AgentState.HUNG: Group.NEEDS_YOU,
    AgentState.DEAD: Group.NOT_RUNNING,
}
_ORDER: Final = tuple(Group)
# Arguments that say what a tool call does, in the order in which they are looked up.
_TELLING: Final = ("command", "file_path", "path", "pattern", "url", "query", "message", "description")


class Answers(NamedTuple):
    """Everything that one agent answered, and what its files say."""

    report: Report
    questions: Sequence[Row] = ()
    tool: Step | None = None


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One agent on the screen. None: nobody knows it."""

    nick: str
    backend: str
    group: Group
    state: str
    # As in server-time.
    since: str | None
    why: str
    status: str
    # The id of the running turn, and for whom and where it runs; empty without a turn.
    turn: str
    turn_for: str
    # The tool call that runs, in one line.
    tool: str
    # How many messages wait.
    queue: int | None
    cost_usd_today: float | None
    # How full the context is, from 0 to 1.
    context: float | None
    # Ids of its open questions, the oldest first.
    questions: tuple[str, ...]

    @property
    def doing(self) -> str:
        """Return one line that says what the agent does or why it does nothing."""
        if self.turn and self.group is Group.WORKING:
            return self.tool or f"turn {self.turn} {self.turn_for}"
        return self.why or self.status


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One open question."""

    id: str
    agent: str
    kind: str
    asked: str
    place: str
    text: str
    # The possible answers; none if any text is an answer.
    options: tuple[str, ...]
    # `nick: choice` of each vote.
    votes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkRow:
    """One link to another host."""

    host: str
    state: str
    lag_ms: float | None
    lacking_here: tuple[str, ...]
    lacking_there: tuple[str, ...]

    @property
    def is_up(self) -> bool:
        """Return whether the hosts are linked."""
        return self.state == "linked"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that was known at one moment."""

    # Unix time.
    taken_s: float
    host: str
    agents: tuple[AgentRow, ...] = ()
    questions: tuple[QuestionRow, ...] = ()
    links: tuple[LinkRow, ...] = ()
    cost_usd_today: float = 0.0
    # What could not be read, one line each.
    problems: tuple[str, ...] = ()

    def question(self, id: str) -> QuestionRow | None:
        """Return the open question with this id."""
        return next((each for each in self.questions if each.id == id), None)

    def agent(self, nick: str) -> AgentRow | None:
        """Return the agent with this nick."""
        return next((each for each in self.agents if each.nick == nick), None)

    def as_json(self) -> list[Row]:
        """Return a row for each question, agent and link, each with its `type`."""
        kinds = (("question", self.questions), ("agent", self.agents), ("link", self.links))
        return [{"type": kind, **asdict(row)} for kind, rows in kinds for row in rows]


class AgentRows(NamedTuple):
    """One agent and its open questions."""

    agent: AgentRow
    questions: tuple[QuestionRow, ...]


def rows_of(answers: Answers) -> AgentRows:
    """Return the rows of one agent. Raises KeyError, TypeError or ValueError if it answered nonsense."""
    nick = answers.report.row["nick"]
    return AgentRows(_agent_row(answers), tuple(_question_row(nick, row) for row in answers.questions))


def build(
    taken_s: float,
    host: str,
    found: Sequence[AgentRows],
    links: Sequence[Row] = (),
    costs: Mapping[str, float] | None = None,
    problems: Sequence[str] = (),
) -> Snapshot:
    """Return the snapshot of what was found. Without `costs`, agents are believed about their own."""
    agents = [each.agent for each in found]
    questions = [question for each in found for question in each.questions]
    if costs is not None:
        agents = [replace(row, cost_usd_today=costs.get(row.nick, row.cost_usd_today)) for row in agents]
    spent = costs.values() if costs is not None else (row.cost_usd_today or 0.0 for row in agents)
    return Snapshot(
        taken_s,
        host,
        # The longest wait comes first; the sort is stable, so others stay in the order of agents.yaml.
        tuple(sorted(agents, key=lambda row: (_ORDER.index(row.group), row.since or "~"))),
        tuple(sorted(questions, key=lambda row: row.asked)),
        tuple(_link_row(row) for row in links),
        sum(spent),
        tuple(problems),
    )


def _agent_row(answers: Answers) -> AgentRow:
    row, screen = answers.report.row, answers.report.screen or {}
    turn: dict[str, Any] = screen.get("turn") or {}
    group = _GROUPS.get(row["state"], Group.UNKNOWN)
    return AgentRow(
        nick=row["nick"],
        backend=row["backend"],
        group=Group.NEEDS_YOU if answers.questions else group,
        state=row["state"],
        since=row["since"],
        why=row["why"],
        status=row["status"],
        turn=turn.get("id", ""),
        turn_for=f"for {turn['for']} {turn['where']}" if turn else "",
        tool=describe_tool(answers.tool) if answers.tool is not None else "",
        queue=row["waiting"],
        cost_usd_today=row["cost_usd_today"],
        context=screen.get("context"),
        questions=tuple(question["id"] for question in answers.questions),
    )


def _question_row(nick: str, row: Row) -> QuestionRow:
    votes = tuple(f"{vote['nick']}: {vote['choice']}" for vote in row["votes"])
    return QuestionRow(
        row["id"],
        nick,
        *(row["kind"], row["asked"], row["place"], row["text"], tuple(row["options"]), votes),
    )


def _link_row(row: Row) -> LinkRow:
    lacking = (tuple(row["lacking_here"]), tuple(row["lacking_there"]))
    return LinkRow(row["host"], row["state"], row["lag_ms"], *lacking)


def describe_tool(call: Step) -> str:
    """Return a tool call in one line: its name, and the argument that says most."""
    try:
        arguments = json.loads(call.text)
    except ValueError:
        # The head of long arguments is no JSON.
        return call.name
    if not isinstance(arguments, dict):
        return call.name
    found = next((arguments[name] for name in _TELLING if isinstance(arguments.get(name), str)), "")
    return f"{call.name}: {' '.join(found.split())}" if found else call.name
