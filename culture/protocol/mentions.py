"""Who a text calls by `@nick`. See extensions/mentions.md."""

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from culture.names import NICK_CHARS, Folded, fold

TAG: Final = "agentirc.dev/mentions"
MOST: Final = 16
"""How many people one line can call. A line has room for more; it is no way to reach a crowd."""

Found = TypeVar("Found")

# `a` and ``a ` b``: a run of backticks closes at the next run of the same length.
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# Not after a character of a mail address, and not before the second half of one.
_CALL = re.compile(r"(?<![\w.%+\-@])@([" + NICK_CHARS + r"]++)(?!@)")
# A nick may end in these, and so may a sentence around one: `[@spark-ori]`, `@spark-ori--`.
_CLOSING = "-_[]\\`^{}|"


def find_mentions(text: str, find: Callable[[Folded], Found | None]) -> list[Found]:
    """Whom a text calls, each once, in order. `find` knows whose a nick is."""
    if "@" not in text:
        return []
    found: dict[Found, None] = {}
    for called in _calls(text):
        who = _longest_known(called, find)
        if who is not None:
            found[who] = None
        if len(found) == MOST:
            break
    return list(found)


def is_mentioned(text: str, nick: str) -> bool:
    """Whether a text calls this nick, for readers whose server does not flag mentions."""
    own = fold(nick)
    return bool(find_mentions(text, lambda folded: nick if folded == own else None))


def _calls(text: str) -> Iterator[str]:
    for found in _CALL.finditer(_CODE_SPAN.sub("``", text)):
        yield found[1]


def _longest_known(called: str, find: Callable[[Folded], Found | None]) -> Found | None:
    while True:
        who = find(fold(called))
        if who is not None or called[-1:] not in _CLOSING or not called:
            return who
        called = called[:-1]
