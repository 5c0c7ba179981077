"""Parse who is an operator from NAMES and MODE, by the server's PREFIX and CHANMODES."""

from collections.abc import Iterator, Sequence
from typing import Final

_OPERATOR: Final = "o"


class Standing:
    """The prefixes and modes of a server; those of RFC 2811 until the server sends its own."""

    def __init__(self) -> None:
        self.prefixes = "~&@%+"
        self._operator_prefixes = "~&@"
        self._ranks = "ov"
        # The letters that come with a parameter: always, and only when they are set.
        self._always = "beIk"
        self._when_set = "l"

    def set_prefix(self, value: str) -> None:
        """Set the prefixes from a value such as `(ov)@+`, the highest first."""
        letters, closing, prefixes = value.removeprefix("(").partition(")")
        if closing and len(letters) == len(prefixes):
            self._ranks, self.prefixes = letters, prefixes
            self._operator_prefixes = prefixes[: letters.find(_OPERATOR) + 1]

    def set_modes(self, value: str) -> None:
        """Set the mode classes from a value such as `beI,k,l,imnst`."""
        kinds = value.split(",")
        if len(kinds) >= 4:
            self._always, self._when_set = kinds[0] + kinds[1], kinds[2]

    def split(self, name: str) -> tuple[str, bool]:
        """Return the nick of an entry of NAMES, and whether it is an operator's."""
        nick = name.lstrip(self.prefixes)
        shown = name[: len(name) - len(nick)]
        return nick, any(prefix in self._operator_prefixes for prefix in shown)

    def changes(self, params: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Return the nicks whose operator status a MODE line changes, with their new status."""
        letters, *values = params or ("",)
        sets = True
        for letter in letters:
            if letter in "+-":
                sets = letter == "+"
            elif letter in self._ranks + self._always or (sets and letter in self._when_set):
                value = values.pop(0) if values else ""
                if letter in self._ranks[: self._ranks.find(_OPERATOR) + 1] and value:
                    yield value, sets
