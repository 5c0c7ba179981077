"""Who stands how high in a channel: what NAMES and MODE mean, as the server says in PREFIX and CHANMODES."""

from collections.abc import Iterator, Sequence
from typing import Final

_OPERATOR: Final = "o"


class Standing:
    """As RFC 2811 has it, until the server says otherwise in its ISUPPORT."""

    def __init__(self) -> None:
        self.prefixes = "~&@%+"
        self._operator_prefixes = "~&@"
        self._ranks = "ov"
        # The letters that come with a parameter: always, and only when they are set.
        self._always = "beIk"
        self._when_set = "l"

    def set_prefix(self, value: str) -> None:
        """`(ov)@+`: the highest first."""
        letters, closing, prefixes = value.removeprefix("(").partition(")")
        if closing and len(letters) == len(prefixes):
            self._ranks, self.prefixes = letters, prefixes
            self._operator_prefixes = prefixes[: letters.find(_OPERATOR) + 1]

    def set_modes(self, value: str) -> None:
        """`beI,k,l,imnst`: lists, always with a parameter, with one when set, never with one."""
        kinds = value.split(",")
        if len(kinds) >= 4:
            self._always, self._when_set = kinds[0] + kinds[1], kinds[2]

    def split(self, name: str) -> tuple[str, bool]:
        """A name in NAMES: the nick, and whether it is that of an operator."""
        nick = name.lstrip(self.prefixes)
        shown = name[: len(name) - len(nick)]
        return nick, any(prefix in self._operator_prefixes for prefix in shown)

    def changes(self, params: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """What a MODE changes about operators: nicks, and whether they are such now."""
        letters, *values = params or ("",)
        sets = True
        for letter in letters:
            if letter in "+-":
                sets = letter == "+"
            elif letter in self._ranks + self._always or (sets and letter in self._when_set):
                value = values.pop(0) if values else ""
                if letter in self._ranks[: self._ranks.find(_OPERATOR) + 1] and value:
                    yield value, sets
