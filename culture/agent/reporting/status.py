"""What an agent is doing: in one line for `systemctl status`, and on one screen for `culturectl status`."""

from collections.abc import Sequence
from typing import Any, Final

from culture.agent.turns.turns import EndedTurn, Turn, Turns
from culture.errors import ConfigError, CultureError
from culture.protocol.render import format_time
from culture.store.agent.queue import Queue, QueueEntry, QueueState

_DONE_SHOWN: Final = 20
_OUTCOMES: Final = {
    "answered": "answered in",
    "silent": "ended without an answer after",
    "failed": "failed after",
    "interrupted": "interrupted after",
    "stopped": "stopped after",
}


def describe(
    turns: Turns,
    channels: Sequence[str],
    address: str,
    waiting: int,
    absence: str = "",
    paused: str = "",
    held_back: str = "",
    backend_down: str = "",
    disk: str = "",
) -> str:
    """Say what the agent is doing, or what keeps it from working.

    `absence` is why it is not on IRC, which comes first: nothing that it does is heard by anyone.
    `backend_down` is why its backend does not run, `disk` that there is no room for its file.
    """
    if absence:
        return absence + _waiting(waiting)
    if disk:
        return f"the disk is {disk}{_waiting(waiting)}"
    if paused:
        return f"paused: {paused}{_waiting(waiting)}"
    if turns.current:
        return _busy(turns.current) + _waiting(waiting)
    if backend_down:
        return f"not working: {backend_down}{_waiting(waiting)}"
    if held_back:
        return f"held back: {held_back}{_waiting(waiting)}"
    return _idle(turns, channels, address) + _waiting(waiting)


def _waiting(count: int) -> str:
    return f"; {count} waiting" if count else ""


def _busy(turn: Turn) -> str:
    return f"turn {turn.id} for {turn.senders} {turn.where}"


def _idle(turns: Turns, channels: Sequence[str], address: str) -> str:
    where = f"in {', '.join(channels)}" if channels else "in no channel"
    return f"idle {where} on {address}" + (f"; {_past(turns.count, turns.last)}" if turns.last else "")


def _past(count: int, last: EndedTurn) -> str:
    turns = "1 turn" if count == 1 else f"{count} turns"
    return f"{turns}, last {_OUTCOMES[last.outcome]} {last.duration_s:.1f} s"


def queue_rows(queue: Queue) -> list[dict[str, Any]]:
    """What waits or is worked on, and what was done last."""
    return [_queue_row(entry) for entry in queue.last(_DONE_SHOWN)]


def _queue_row(entry: QueueEntry) -> dict[str, Any]:
    question = entry.question
    return {
        "id": entry.number,
        "state": entry.state.value,
        "said": format_time(question.said_ms / 1000),
        "sender": question.sender,
        "channel": question.channel,
        "concern": question.concern,
        "turn": entry.turn,
        "tries": entry.tries,
        "note": entry.note,
        "text": question.text,
    }


def turn_row(turn: Turn | None, now_s: float) -> dict[str, Any] | None:
    if turn is None:
        return None
    return {"id": turn.id, "for": turn.senders, "where": turn.where, "seconds": round(now_s - turn.began_s)}


def queue_figures(queue: Queue) -> dict[str, int]:
    """Return how many messages are in each state."""
    return {state.value: queue.count(state) for state in QueueState}


def quit_message(why: CultureError | None) -> str:
    """Return what the channels read when the agent leaves them."""
    if isinstance(why, ConfigError):
        # systemd does not restart the agent after a configuration error; a person has to act first.
        return f"ending: {why}"
    return "stopping" if why is None else "restarting"
