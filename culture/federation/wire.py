"""Events as lines of a link, and back."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from culture.federation.numbers import format_number, parse_number
from culture.protocol.happening import CROSSING, SEEN, SOURCE_LENGTH, SPOKEN, Happening
from culture.protocol.line import Line, MalformedLine
from culture.protocol.tags import escape_value

LINE_BYTES: Final = 65536
"""The longest line of a link, with its end."""

LATEST_MS: Final = 253_402_300_799_999
"""The end of the year 9999: a later time cannot be told to a client."""

_OF_LINES: Final = frozenset({"PRIVMSG", "NOTICE", "KNOWN", "MEMBERS"})
"""Events whose text may have several."""
_TOLD_BY_ID: Final = SPOKEN | SEEN
_NOT_IN_NAMES: Final = re.compile(r"[\x00-\x20\x7f]")
_NOT_IN_LINES: Final = re.compile(r"[\r\n\0]")
_NOT_IN_TEXTS: Final = re.compile(r"[\r\0]")

_WORD: Final = re.compile(r"^:|[ \\\n\r\0]")
_WORDS: Final = {":": "\\:", " ": "\\s", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_ESCAPED: Final = re.compile(r"\\(.)")
_UNESCAPED: Final = {escape[1]: plain for plain, escape in _WORDS.items()}


class Carried(NamedTuple):
    """An event on its way."""

    happening: Happening
    is_replayed: bool = False
    previous: int = 0
    """Of a direct message: the number of the one before it to the same host."""
    hops: int = 0
    """Of a direct message: over how many links it may still go."""
    is_returned: bool = False
    """A direct message on its way back to its origin, which lost it."""


def encode(carried: Carried) -> str:
    """A line without its end."""
    it, is_replayed, previous, hops, is_returned = carried
    tags = [f"o={it.origin}", f"n={format_number(it.seq)}", f"t={int(it.at * 1000)}", f"i={it.id}"]
    if it.account is not None:
        tags.append(f"a={escape_value(it.account)}")
    if it.is_public:
        tags.append("p")
    if is_replayed:
        tags.append("r")
    if it.ends is not None:
        tags.append(f"e={escape_value(' '.join(it.ends))}")
    if it.channels:
        channels = ",".join(f"{'+' if public else '-'}{name}" for name, public in it.channels)
        tags.append(f"c={escape_value(channels)}")
    if it.to:
        tags.append(f"d={it.to};v={format_number(previous)};h={hops}")
    if is_returned:
        tags.append("b")
    if it.tags:
        tags += [f".{name}={escape_value(value)}" for name, value in it.tags.items()]
    text = it.text
    if "\n" in text:
        tags.append("l")
        text = text.replace("\\", "\\\\").replace("\n", "\\n")
    words = "".join(f" {_as_word(param)}" for param in it.params)
    return f"@{';'.join(tags)} :{it.source} {it.command} {_as_word(it.target)}{words} :{text}"


def decode(line: Line) -> Carried:
    """Raises MalformedLine for what `encode` did not write."""
    tags = line.tags
    try:
        target, *params, text = line.params
        happening = Happening(
            tags["i"],
            _time(tags["t"]),
            line.command,
            _from_word(target),
            line.source,
            tags.get("a"),
            _from_word(text) if "l" in tags else text,
            _message_tags(tags),
            "p" in tags,
            _pair(tags["e"]) if "e" in tags else None,
            tuple((each[1:], each[0] == "+") for each in tags["c"].split(",")) if "c" in tags else (),
            tuple(map(_from_word, params)),
            tags["o"],
            parse_number(tags["n"]),
            tags.get("d", ""),
        )
        previous = parse_number(tags["v"]) if "v" in tags else 0
        hops = int(tags.get("h", 0))
    except (KeyError, ValueError, IndexError) as error:
        raise MalformedLine(f"no event: {error}") from None
    if line.command not in CROSSING or not line.source:
        raise MalformedLine(f"no event: '{line.command}'")
    _check(happening)
    return Carried(happening, "r" in tags, previous, hops, "b" in tags)


def _check(it: Happening) -> None:
    """What a host says is told to clients: nothing in it may end a word or a line of theirs."""
    names = "".join((it.id, it.source, it.account or "", it.to, *(it.ends or ())))
    if _NOT_IN_NAMES.search(names) or ";" in it.id or len(it.source) > SOURCE_LENGTH:
        raise MalformedLine(f"no event: names of '{it.command}'")
    if not it.id and it.command in _TOLD_BY_ID:
        raise MalformedLine(f"no event: '{it.command}' without an id")
    lines = "".join((it.target, *it.params, *(channel for channel, _ in it.channels)))
    outside = _NOT_IN_TEXTS if it.command in _OF_LINES else _NOT_IN_LINES
    if _NOT_IN_LINES.search(lines) or outside.search(it.text):
        raise MalformedLine(f"no event: lines in '{it.command}'")


def _message_tags(tags: Mapping[str, str]) -> Mapping[str, str]:
    return {name[1:]: value for name, value in tags.items() if name.startswith(".")}


def _time(text: str) -> float:
    if not 0 <= (at_ms := int(text)) <= LATEST_MS:
        raise ValueError(f"'{text[:32]}' is not a time")
    return at_ms / 1000


def _pair(text: str) -> tuple[str, str]:
    one, other = text.split(" ")
    return one, other


def _as_word(text: str) -> str:
    """A parameter that is followed by others: neither empty nor with anything that would end it."""
    return _WORD.sub(lambda found: _WORDS[found[0]], text) or "\\e"


def _from_word(text: str) -> str:
    if "\\" not in text:
        return text
    return "" if text == "\\e" else _ESCAPED.sub(lambda found: _UNESCAPED.get(found[1], found[1]), text)
