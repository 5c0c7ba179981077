"""Who a text calls by `@nick`. See extensions/mentions.md."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from culture.names import NICK_CHARS, Folded, fold

TAG: Final = "agentirc.dev/mentions"
MOST: Final = 16
"""How many people one line can call. A line has room for more; it is no way to reach a crowd."""

# `a` and ``a ` b``: a run of backticks closes at the next run of the same length.
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# Not after a character of a mail address, and not before the second half of one.
_CALL = re.compile(r"(?<![\w.%+\-@])@([" + NICK_CHARS + r"]++)(?!@)")
# A nick may end in these, and so may a sentence around one: `[@spark-ori]`, `@spark-ori--`.
_CLOSING = "-_[]\\`^{}|"


def find_mentions(text: str, find_nick: Callable[[Folded], str | None]) -> list[str]:
    """The nicks that a text calls, each once, in order. `find_nick` gives the spelling of one in use."""
    if "@" not in text:
        return []
    found: dict[str, None] = {}
    for called in _calls(text):
        nick = _longest_known(called, find_nick)
        if nick is not None:
            found[nick] = None
        if len(found) == MOST:
            break
    return list(found)


def may_call(text: str) -> bool:
    """Whether a text could call anybody, whoever is there: a quick look."""
    return _CALL.search(text) is not None


def is_mentioned(text: str, nick: str) -> bool:
    """Whether a text calls this nick, for readers whose server does not flag mentions."""
    own = fold(nick)
    return bool(find_mentions(text, lambda folded: nick if folded == own else None))


def _calls(text: str) -> Iterator[str]:
    for found in _CALL.finditer(_CODE_SPAN.sub("``", text)):
        yield found[1]


def _longest_known(called: str, find_nick: Callable[[Folded], str | None]) -> str | None:
    while True:
        nick = find_nick(fold(called))
        if nick is not None or called[-1:] not in _CLOSING or not called:
            return nick
        called = called[:-1]
