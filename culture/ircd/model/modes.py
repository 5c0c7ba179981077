"""Parse mode strings and build the line of the changes that took effect."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from culture.ircd.model.ban_lists import MaskList
from culture.ircd.model.channel import PREFIXES, Flag, Setting, Status
from culture.ircd.model.user import UserMode

USER_LETTERS: Final = "".join(sorted(UserMode))
CHANNEL_LETTERS: Final = "".join(sorted([*Flag, *Setting, *MaskList, *Status]))
PARAMETER_LETTERS: Final = "".join(sorted([*Setting, *MaskList, *Status]))
# How many changes with a parameter one command can make (ISUPPORT MODES).
MOST_PARAMETERS: Final = 10
KEY_LENGTH: Final = 32
MASK_LIST_LETTERS: Final = "".join(MaskList)

PREFIX_TOKEN: Final = f"PREFIX=({''.join(PREFIXES)}){''.join(PREFIXES.values())}"
CHANMODES_TOKEN: Final = f"CHANMODES={MASK_LIST_LETTERS},{Setting.KEY},{Setting.LIMIT},{''.join(Flag)}"


def read_changes(letters: str) -> Iterator[tuple[bool, str]]:
    """Return the changes of a mode string such as `+o-v`: whether each is set, and its letter."""
    adding = True
    for letter in letters:
        if letter in "+-":
            adding = letter == "+"
        else:
            yield adding, letter


def read_all_changes(letters: str, params: Iterator[str]) -> Iterator[tuple[bool, str]]:
    """Return changes also from later words, as in `+b ori +e bo` (RFC 2812 section 3.2.3).

    The caller takes the parameters of each change from the same iterator.
    """
    yield from read_changes(letters)
    for word in params:
        if word.startswith(("+", "-")):
            yield from read_changes(word)


@dataclass(slots=True)
class Effective:
    """Collects mode changes that took effect into one line: `+o-v spark-ori spark-bo`."""

    changes: str = ""
    params: list[str] = field(default_factory=list)
    _adding: bool | None = None

    @property
    def size_bytes(self) -> int:
        return len(" ".join([self.changes, *self.params]).encode())

    def add(self, adding: bool, letter: str, param: str | None = None) -> None:
        if adding is not self._adding:
            self.changes += "+" if adding else "-"
            self._adding = adding
        self.changes += letter
        if param is not None:
            self.params.append(param)
