"""Find the nick that somebody probably meant when they mistyped it by one or two letters."""

from collections.abc import Iterable
from typing import Final

from culture.names import fold
from culture.protocol.mentions import Unknown

MOST_EDITS: Final = 2


def similar(unknown: Unknown, nicks: Iterable[str]) -> list[str]:
    """Return the nicks that may be close to what was typed. This is a cheap filter before meant_by."""
    typed = fold(unknown.name)
    letters = set(typed)
    return [
        nick
        for nick in nicks
        if (most := _allowed(unknown, nick))
        and abs(len(typed) - len(nick)) <= most
        # Each edit changes the set of letters by two at most.
        and len(letters ^ set(fold(nick))) <= 2 * most
    ]


def meant_by(unknown: Unknown, nicks: Iterable[str]) -> str | None:
    """Return the nick closest to what was typed, or None if all are too far off."""
    typed = fold(unknown.name)
    measured = ((_edits(typed, fold(nick)), nick) for nick in nicks)
    close = [(edits, nick) for edits, nick in measured if 0 < edits <= _allowed(unknown, nick)]
    return min(close)[1] if close else None


def _allowed(unknown: Unknown, nick: str) -> int:
    """Return how many letters may be wrong: few in short nicks, because ordinary words are close to them.

    `name:` begins ordinary sentences, too. There a short nick must at least be written with its dash.
    """
    if unknown.has_sign:
        return MOST_EDITS if len(nick) >= 6 else 1 if len(nick) >= 4 else 0
    if len(nick) >= 8:
        return MOST_EDITS
    return 1 if len(nick) >= 4 and "-" in unknown.name else 0


def _edits(typed: str, nick: str) -> int:
    """Return the edit distance of two words (optimal string alignment).

    Letters that are left out, added, changed, or swapped with their neighbour count as one each.
    """
    before: list[int] = []
    last = list(range(len(nick) + 1))
    for row, letter in enumerate(typed, start=1):
        current = [row]
        for column, other in enumerate(nick, start=1):
            cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == nick[column - 2] and typed[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]
