"""The steps of a game, and the text in which a game that failed is kept."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

Act = Literal["connect", "say", "stall", "read", "drop", "wait", "reload", "answer", "fail", "turn", "search"]

_NOBODYS = frozenset({"answer", "fail", "turn", "search"})


class Step(NamedTuple):
    """The number is a client's; of `wait` seconds, of `reload` one of several configurations."""

    act: Act
    number: int = 0
    data: bytes = b""


def format_steps(steps: Iterable[Step]) -> str:
    """A step on each line; what is not printable in it is escaped."""
    return "".join(f"{_format(step)}\n" for step in steps)


def parse_steps(text: str) -> list[Step]:
    """Lines that begin with `#` say what the game is about."""
    return [_parse(line) for line in text.splitlines() if line and not line.startswith("#")]


def _format(step: Step) -> str:
    if step.act in _NOBODYS:
        return step.act
    if step.act == "say":
        return f"say {step.number} {step.data.decode('latin-1').encode('unicode_escape').decode()}"
    return f"{step.act} {step.number}"


def _parse(line: str) -> Step:
    act, _, rest = line.partition(" ")
    number, _, escaped = rest.partition(" ")
    data = escaped.encode().decode("unicode_escape").encode("latin-1")
    return Step(cast(Act, act), int(number or 0), data)
