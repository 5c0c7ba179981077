"""What an agent is doing, in one line for `systemctl status`."""

from collections.abc import Sequence

from culture.agent.turns import Ended, Turn, Turns


def describe(turns: Turns, channels: Sequence[str], address: str) -> str:
    return _busy(turns.current, len(turns.waiting)) if turns.current else _idle(turns, channels, address)


def _busy(turn: Turn, waiting: int) -> str:
    request = turn.request
    return f"turn {turn.id} for {request.sender} {request.where}" + (
        f"; {waiting} waiting" if waiting else ""
    )


def _idle(turns: Turns, channels: Sequence[str], address: str) -> str:
    where = f"in {', '.join(channels)}" if channels else "in no channel"
    return f"idle {where} on {address}" + (f"; {_past(turns.count, turns.last)}" if turns.last else "")


def _past(count: int, last: Ended) -> str:
    turns = "1 turn" if count == 1 else f"{count} turns"
    how = {"answered": "answered in", "silent": "ended without an answer after", "failed": "failed after"}
    return f"{turns}, last {how[last.outcome]} {last.duration_s:.1f} s"
