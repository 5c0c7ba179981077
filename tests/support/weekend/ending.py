"""What holds at the end of a weekend: nothing is lost, and everything that waits has a reason."""

import contextlib
import sqlite3
from collections import Counter
from typing import TYPE_CHECKING

from culture.store.agent.questions import QuestionState
from culture.store.agent.queue import QueueState

if TYPE_CHECKING:
    from support.weekend.agent import SimulatedAgent
    from support.weekend.weekend import Weekend


def check_end(world: "Weekend") -> None:
    """Report every message that is lost, and every question that is forgotten."""
    for agent in world.agents.values():
        if agent.is_up:
            _check_agent(world, agent)


def _check_agent(world: "Weekend", agent: "SimulatedAgent") -> None:
    _check_tasks(world, agent)
    _check_waiting(world, agent)
    _check_questions(world, agent)


def _rows(agent: "SimulatedAgent", query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(agent.directory / "agent.db")) as connection:
        return connection.execute(query).fetchall()


def _check_tasks(world: "Weekend", agent: "SimulatedAgent") -> None:
    """Every task of a person is in the queue, was taken for an answer, or was answered aside."""
    known = Counter(
        row[0]
        for query in ("SELECT text FROM queue", "SELECT text FROM vote", "SELECT answer FROM question")
        for row in _rows(agent, query)
    )
    for nick, text in world.people.tasks:
        if nick != agent.nick or text in known:
            continue
        if not any(text.partition(" ")[2] in prompt for prompt in world.asked_aside):
            world.checks.fail(f"{nick} lost the message '{text}'")


def _check_waiting(world: "Weekend", agent: "SimulatedAgent") -> None:
    """Every message that still waits has a reason."""
    screen = agent.daemon.operations.status_screen()
    queue = agent.file.queue
    if queue.count(QueueState.INJECTED) and not screen["turn"]:
        world.checks.fail(f"{agent.nick} has injected messages without a turn: {screen['status']}")
    has_reason = screen["state"]["state"] not in ("idle",) or "waiting" in screen["status"]
    if queue.count(QueueState.QUEUED) and not (has_reason or "standing" in screen["status"]):
        held_back = agent.daemon.operations._turn_loop.held_back
        if held_back is None:
            world.checks.fail(f"{agent.nick} lets messages wait without a reason: {screen['status']}")


def _check_questions(world: "Weekend", agent: "SimulatedAgent") -> None:
    """Every question is answered once and delivered, or it is open and people could read it."""
    answered = Counter(row[0] for row in _rows(agent, "SELECT question FROM audit WHERE event = 'answered'"))
    for id, times in answered.items():
        if times != 1:
            world.checks.fail(f"question {id} of {agent.nick} was answered {times} times")
    for id, state, text in _rows(agent, "SELECT id, state, text FROM question"):
        is_read = any(nick == agent.nick and str(text) in read for nick, read in world.people.read_questions)
        match state:
            case QuestionState.DELIVERED | QuestionState.WITHDRAWN:
                continue
            case QuestionState.ANSWERED:
                world.checks.fail(f"{agent.nick} did not get the answer to question {id}")
            case _ if not is_read:
                world.checks.fail(f"nobody could read question {id} of {agent.nick}: {text}")
    for problem in agent.file.audit.problems():
        world.checks.fail(f"the audit log of {agent.nick}: {problem}")
