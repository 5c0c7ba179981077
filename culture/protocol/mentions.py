"""Find mentions in a text: `@nick` anywhere, `nick:` and `nick,` at the start (extensions/mentions.md)."""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

from culture.names import NICK_CHARS, Folded, fold

TAG: Final = "agentirc.dev/mentions"
# How many users one line can mention.
MOST: Final = 16
# How many unknown names find_unknown returns for one line.
MOST_UNKNOWN: Final = 4

Found = TypeVar("Found")

# `a` and ``a ` b``: a run of backticks closes at the next run of the same length.
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# Not after a character of a mail address, and not before the second half of one.
_CALL = re.compile(r"(?<![\w.%+\-@])@([" + NICK_CHARS + r"]++)(?!@)")
# `nick: ` and `nick, ` as clients complete a nick at the beginning of a line.
_ADDRESS = re.compile(r"\s*([" + NICK_CHARS + r"]++)[:,](?=\s|\Z)")
# A nick may end in these, and so may a sentence around one: `[@spark-ori]`, `@spark-ori--`.
_CLOSING: Final = "-_[]\\`^{}|"


class Unknown(NamedTuple):
    """A name that is written like a mention and is nobody's nick."""

    name: str
    # It was written as `@name`; the other form, `name:`, begins many ordinary sentences.
    has_sign: bool


def may_call(text: str) -> bool:
    """Return whether a text contains anything like a mention. Every message is tested, so it is cheap."""
    if "@" in text and _CALL.search(text) is not None:
        return True
    return (":" in text or "," in text) and _ADDRESS.match(text) is not None


def find_mentions(
    text: str, find: Callable[[Folded], Found | None], *, addresses: bool = True
) -> list[Found]:
    """Return the users that a text mentions, each once, in order. `find` looks up a nick.

    Without `addresses` only `@name` counts.
    """
    found: dict[Found, None] = {}
    text = _without_code(text)
    if addresses:
        for who in _addressed(text, find):
            found[who] = None
    if "@" in text:
        for called in _calls(text):
            who_called = _longest_known(called, find)
            if who_called is not None:
                found[who_called] = None
    return list(found)[:MOST]


def find_unknown(text: str, find: Callable[[Folded], Found | None]) -> list[Unknown]:
    """Return the names in a text that are written like mentions and that `find` does not know."""
    unknown = []
    for name, has_sign in _written_calls(_without_code(text)):
        # Closing punctuation is not part of the nick.
        bare = name.rstrip(_CLOSING)
        if bare and _longest_known(name, find) is None:
            unknown.append(Unknown(bare, has_sign))
        if len(unknown) == MOST_UNKNOWN:
            break
    return unknown


def is_mentioned(text: str, nick: str) -> bool:
    """Return whether a text mentions this nick, for clients whose server does not tag mentions."""
    own = fold(nick)
    return bool(find_mentions(text, lambda folded: nick if folded == own else None))


def _addressed(text: str, find: Callable[[Folded], Found | None]) -> Iterator[Found]:
    """Yield the users addressed at the beginning; the first unknown name ends the list."""
    for name in _addresses(text):
        who = _longest_known(name, find)
        if who is None:
            return
        yield who


def _written_calls(text: str) -> Iterator[tuple[str, bool]]:
    # Only the first address is checked: the sentence begins behind it.
    for name in _addresses(text):
        yield name, False
        break
    for name in _calls(text):
        yield name, True


def _addresses(text: str) -> Iterator[str]:
    at = 0
    while (address := _ADDRESS.match(text, at)) is not None:
        yield address[1]
        at = address.end()


def _calls(text: str) -> Iterator[str]:
    for found in _CALL.finditer(text):
        yield found[1]


def _without_code(text: str) -> str:
    return _CODE_SPAN.sub("``", text) if "`" in text else text


def _longest_known(called: str, find: Callable[[Folded], Found | None]) -> Found | None:
    while True:
        who = find(fold(called))
        if who is not None or called[-1:] not in _CLOSING or not called:
            return who
        called = called[:-1]
