"""Encode events as lines of a link, and decode them."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from culture.federation.numbers import format_number
from culture.protocol.event_record import EventRecord
from culture.protocol.line import Line, MalformedLine
from culture.protocol.parties import Party, is_session_id, parse_party
from culture.protocol.peers import validate
from culture.protocol.peers.events import check_event
from culture.protocol.tags import escape_value

# The longest line of a link, including its line end.
LINE_BYTES: Final = 65536

# The tags that carry fields of the event. The message's own tags have a dot in front of their name.
_FIELDS: Final = frozenset("abcdehilnoprstv")

_WORD: Final = re.compile(r"^:|[ \\\n\r\0]")
_WORDS: Final = {":": "\\:", " ": "\\s", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_ESCAPED: Final = re.compile(r"\\(.)")
_UNESCAPED: Final = {escape[1]: plain for plain, escape in _WORDS.items()}


class CarriedEvent(NamedTuple):
    """An event on a link, with what only links need to know."""

    event: EventRecord
    is_replayed: bool = False
    # For a direct message, the number of the previous one to the same host.
    previous: int = 0
    # For a direct message, how many more links it may pass.
    hops: int = 0
    # The message is sent back to its origin, which lost it.
    is_returned: bool = False


def encode(carried: CarriedEvent) -> str:
    """Return an event as a line without its line end."""
    event, is_replayed, previous, hops, is_returned = carried
    tags = [
        f"o={event.origin}",
        f"n={format_number(event.seq)}",
        f"t={int(event.at * 1000)}",
        f"i={event.id}",
    ]
    if event.account is not None:
        # Between hosts an account belongs to the origin: here it may be stored as `ori@thor`.
        tags.append(f"a={escape_value(event.account.partition('@')[0])}")
    elif event.session_id:
        tags.append(f"s={event.session_id}")
    if event.is_public:
        tags.append("p")
    if is_replayed:
        tags.append("r")
    if event.ends is not None:
        tags.append(f"e={escape_value(' '.join(party.text for party in event.ends))}")
    if event.channels:
        channels = ",".join(f"{'+' if public else '-'}{name}" for name, public in event.channels)
        tags.append(f"c={escape_value(channels)}")
    if event.to:
        tags.append(f"d={event.to};v={format_number(previous)};h={hops}")
    if is_returned:
        tags.append("b")
    if event.tags:
        tags += [f".{name}={escape_value(value)}" for name, value in event.tags.items()]
    text = event.text
    if "\n" in text:
        tags.append("l")
        text = text.replace("\\", "\\\\").replace("\n", "\\n")
    words = "".join(f" {_as_word(param)}" for param in event.params)
    return f"@{';'.join(tags)} :{event.source} {event.command} {_as_word(event.target)}{words} :{text}"


def decode(line: Line) -> CarriedEvent:
    """Decode and check an event. Raises MalformedLine for what `encode` does not write."""
    tags = line.tags
    for name in tags:
        if name not in _FIELDS and not name.startswith("."):
            raise validate.refuse("not a field of an event", name)
    try:
        target, *params, text = line.params
        event = EventRecord(
            tags["i"],
            validate.time_ms(tags["t"]) / 1000,
            line.command,
            _from_word(target),
            line.source,
            tags.get("a"),
            _from_word(text) if "l" in tags else text,
            _message_tags(tags),
            "p" in tags,
            _pair(tags["e"]) if "e" in tags else None,
            _channels(tags["c"]) if "c" in tags else (),
            tuple(map(_from_word, params)),
            tags["o"],
            validate.event_number(tags["n"]),
            tags.get("d", ""),
            session_id=_session_id(tags["s"]) if "s" in tags else "",
        )
        previous = validate.event_number(tags["v"]) if "v" in tags else 0
        hops = validate.hops(tags.get("h", "0"))
    except MalformedLine:
        raise
    except (KeyError, ValueError, IndexError) as error:
        raise MalformedLine(f"not an event: {error}") from None
    check_event(event)
    return CarriedEvent(event, "r" in tags, previous, hops, "b" in tags)


def _message_tags(tags: Mapping[str, str]) -> Mapping[str, str]:
    return {name[1:]: value for name, value in tags.items() if name.startswith(".")}


def _channels(text: str) -> tuple[tuple[str, bool], ...]:
    words = text.split(",")
    if any(each[:1] not in ("+", "-") for each in words):
        raise MalformedLine("a channel is marked neither public nor private")
    return tuple((each[1:], each[0] == "+") for each in words)


def _pair(text: str) -> tuple[Party, Party]:
    """Parse the two parties of a direct message, which both have to name their host."""
    one, other = map(parse_party, text.split(" "))
    if any(party.can_be_proved and not party.host for party in (one, other)):
        raise ValueError(f"'{text[:80]}' names no host")
    return one, other


def _session_id(text: str) -> str:
    if not is_session_id(text):
        raise ValueError(f"'{text[:80]}' is not a session")
    return text


def _as_word(text: str) -> str:
    """Escape a text so that it can be a parameter before the last one."""
    return _WORD.sub(lambda found: _WORDS[found[0]], text) or "\\e"


def _from_word(text: str) -> str:
    if "\\" not in text:
        return text
    return "" if text == "\\e" else _ESCAPED.sub(lambda found: _UNESCAPED.get(found[1], found[1]), text)
