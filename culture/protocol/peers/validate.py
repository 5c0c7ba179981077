"""Validate input from linked hosts: the syntax and the size limit of every field and list.

A peer has proved that it knows the secret of its link, and nothing more, so its input is not trusted. Each
function returns the value that it parsed, or raises MalformedLine, which ends the link. All hosts of a mesh
apply the same rules, so that no honest host relays what another would refuse.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from culture.names import HOST_LENGTH, has_prefix, is_channel, is_host, is_nick, is_relayed_nick
from culture.protocol.authority.senders import HOPS_TAG, SENDER_TAG, SenderKind
from culture.protocol.event_record import (
    FOR_HOSTS,
    GENERATION_SHIFT,
    GENERATIONS,
    LINES_TAG,
    NAMED_TAG,
    PROOF_TAG,
    SOURCE_LENGTH,
    STAMP_TAG,
)
from culture.protocol.line import MalformedLine
from culture.protocol.mentions import TAG as MENTIONS_TAG
from culture.protocol.parties import is_session_id
from culture.protocol.render import RELAY_TAG
from culture.protocol.tags import is_client_only

# The end of the year 9999, the latest time that server-time can express.
LATEST_MS: Final = 253_402_300_799_999
# How far a time may be ahead of our clock. A later stamp would win over every change for years.
AHEAD_S: Final = 2 * 86_400
# Record versions stay exact where a reader stores numbers as floating point.
VERSIONS: Final = 1 << 53

NICK_LENGTH: Final = 200
CHANNEL_LENGTH: Final = 255
ACCOUNT_LENGTH: Final = 64
USERNAME_LENGTH: Final = 64
ID_LENGTH: Final = 128
WORD_LENGTH: Final = 512
# Topics, reasons and the like fit into one line of a client, which has 512 bytes.
TEXT_LENGTH: Final = 1024
# A line of a snapshot, without `HAS`.
STATE_LINE_LENGTH: Final = 4096
# Tags of clients plus tags of servers (IRCv3 message-tags, size limit).
TAGS_LENGTH: Final = 8191
PARAMS: Final = 32
CHANNELS: Final = 10_000
TAGS: Final = 64

# Limits of one snapshot.
STATE_LINES: Final = 500_000
STATE_BYTES: Final = 32 * 1024 * 1024
USERS: Final = 50_000
PLACES_OF_USER: Final = 2_000
METADATA_KEYS: Final = 200
STATE_CHANNELS: Final = 50_000
SETTINGS_OF_CHANNEL: Final = 2_000

# Limits of one link: hosts that only this peer leads to, hosts that it announces, neighbours of each of them,
# and generations in a list of levels.
HOSTS_BEHIND: Final = 64
HOSTS: Final = 256
NEIGHBOURS: Final = 128
LEVELS: Final = 100_000
HOPS: Final = 16

# The nick in the source of events that a host itself sends.
HOST_ITSELF: Final = "*"
BOT_TAG: Final = "bot"
# Tags that a peer may set. Time, msgid, account, batch and label are set by the server that delivers a
# message, never by a peer.
_TAGS: Final = frozenset({BOT_TAG, HOPS_TAG, MENTIONS_TAG, RELAY_TAG, SENDER_TAG, *FOR_HOSTS})
_SENDERS: Final = frozenset({SenderKind.PERSON, SenderKind.AGENT})
# More than an honest host counts between two messages of people.
HOPS_OF_AGENTS: Final = 10_000
_TAG_NAME: Final = re.compile(r"\+?[A-Za-z0-9./-]{1,128}")

_DIGITS: Final = re.compile(r"[0-9]{1,16}")
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f\x85\u2028\u2029]")
_NOT_IN_TEXT: Final = re.compile(r"[\r\n\0]")
_NOT_IN_MASK_PARTS: Final = re.compile(r"[\x00-\x20\x7f!@]")
_LENGTHS: Final = re.compile(r"\+?[0-9]{1,6}(,\+?[0-9]{1,6})*")
_PROOF: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MODES: Final = re.compile(r"[A-Za-z]{0,32}")


class ImplausibleTimeError(MalformedLine):
    """A time is further ahead of our clock than AHEAD_S.

    Clocks differ, so an honest host may have relayed a time that is just beyond our limit. Only the link to
    the origin of such an event ends.
    """


def refuse(what: str, value: str) -> MalformedLine:
    """Return the error for a value that is not valid."""
    return MalformedLine(f"{what}: '{value[:64]}'")


# Single fields.


def host_name(text: str) -> str:
    """Validate the name of a host."""
    if not is_host(text):
        raise refuse(f"not the name of a host (at most {HOST_LENGTH} letters)", text)
    return text


def nick(text: str, host: str) -> str:
    """Validate the nick of a user of this host."""
    if not is_nick(text) or len(text) > NICK_LENGTH or not has_prefix(text, host):
        raise refuse(f"not a nick of '{host}'", text)
    return text


def any_nick(text: str) -> str:
    """Validate the nick of a user of any host."""
    if not is_nick(text) or len(text) > NICK_LENGTH:
        raise refuse("not a nick", text)
    return text


def channel(text: str) -> str:
    """Validate the name of a channel."""
    if not is_channel(text) or len(text) > CHANNEL_LENGTH:
        raise refuse("not a channel", text)
    return text


def account(text: str) -> str:
    """Validate an account of the sending host. A qualified name would be the account of another host."""
    if not is_nick(text) or len(text) > ACCOUNT_LENGTH:
        raise refuse("not an account", text)
    return text


def user_name(text: str) -> str:
    """Validate the user name in a source."""
    if not text or len(text) > USERNAME_LENGTH or text.startswith(":") or _NOT_IN_MASK_PARTS.search(text):
        raise refuse("not a user name", text)
    return text


def address(text: str) -> str:
    """Validate the host part of a source."""
    if not text or len(text) > SOURCE_LENGTH or text.startswith(":") or _NOT_IN_MASK_PARTS.search(text):
        raise refuse("not the address of a user", text)
    return text


def source(text: str, host: str) -> str:
    """Validate `nick!user@address`: a user of the host, a relayed nick (RELAYMSG), or the host itself."""
    who, bang, rest = text.partition("!")
    user, at, where = rest.rpartition("@")
    if len(text) > SOURCE_LENGTH or not bang or not at:
        raise refuse("not the source of an event", text)
    user_name(user)
    address(where)
    if is_nick(who):
        if not has_prefix(who, host):
            raise MalformedLine(f"'{text}' is not of the host '{host}'")
    elif where != host or not (who == user == HOST_ITSELF or is_relayed_nick(who)):
        raise MalformedLine(f"'{text[:64]}' is not of the host '{host}'")
    return text


def word(text: str, longest: int = WORD_LENGTH) -> str:
    """Validate a parameter: no spaces, tabs or other control characters."""
    if len(text) > longest or _CONTROL.search(text):
        raise refuse("not one word", text)
    return text


def text_line(text: str, longest: int = TEXT_LENGTH) -> str:
    """Validate text on one line. Tabs and formatting are allowed."""
    if len(text) > longest or _NOT_IN_TEXT.search(text):
        raise refuse("not one line of text", text)
    return text


def mode_letters(text: str) -> str:
    """Validate the letters of user modes, without a sign."""
    if not _MODES.fullmatch(text):
        raise refuse("not the modes of a user", text)
    return text


def whole_number(text: str, below: int) -> int:
    """Parse a decimal number that is less than `below`."""
    # The pattern bounds the length first: int() raises ValueError for thousands of digits.
    if not _DIGITS.fullmatch(text) or int(text) >= below:
        raise refuse("not a number within its bounds", text)
    return int(text)


def generation(text: str) -> int:
    """Parse a generation."""
    return whole_number(text, GENERATIONS)


def version(text: str) -> int:
    """Parse the version of a host record."""
    return whole_number(text, VERSIONS)


def session_id(*params: str) -> str:
    """Validate the optional session id of a user; return nothing if it is missing or `-`."""
    if len(params) > 1:
        raise MalformedLine("more than one session of a user")
    text = params[0] if params else "-"
    if text != "-" and not is_session_id(text):
        raise refuse("not a session", text)
    return "" if text == "-" else text


def event_number(text: str) -> int:
    """Parse an event number, `generation.counter`."""
    run, dot, counter = text.partition(".")
    if not dot:
        raise refuse("not the number of an event", text)
    return generation(run) << GENERATION_SHIFT | whole_number(counter, 1 << GENERATION_SHIFT)


def levels(text: str) -> dict[int, int]:
    """Parse levels: the highest event number of each generation; `-` is none."""
    if text == "-":
        return {}
    numbers = [event_number(each) for each in at_most(text.split(","), LEVELS, "levels")]
    return {number >> GENERATION_SHIFT: number for number in numbers}


def hops(text: str) -> int:
    """Parse a hop count."""
    return whole_number(text, HOPS + 1)


def token(text: str) -> str:
    """Validate the token of a PING or WANT."""
    return word(text, 64)


def time_ms(text: str) -> int:
    """Parse a Unix time in milliseconds."""
    return whole_number(text, LATEST_MS + 1)


def time_and_host(text: str) -> tuple[int, str]:
    """Parse `milliseconds@host`, a stamp or the identity of a user; `0@` is none."""
    at_ms, _, host = text.partition("@")
    return time_ms(at_ms), host_name(host) if host else ""


def by_now(at_ms: int, now: float) -> int:
    """Return a time if it is not too far ahead of our clock. Raise ImplausibleTimeError otherwise."""
    if at_ms > (now + AHEAD_S) * 1000:
        raise ImplausibleTimeError(f"{at_ms} is more than {AHEAD_S // 3600} hours ahead of our clock")
    return at_ms


def at_most(items: Sequence[str], most: int, what: str) -> Sequence[str]:
    """Return the items if there are at most so many."""
    if len(items) > most:
        raise MalformedLine(f"more than {most} {what}")
    return items


def message_tags(tags: Mapping[str, str], host: str) -> Mapping[str, str]:
    """Validate the tags of a message: client-only tags, and those that servers relay to each other."""
    size = sum(len(name) + len(value) + 2 for name, value in tags.items())
    if len(tags) > TAGS or size > TAGS_LENGTH:
        raise MalformedLine(f"more than {TAGS} tags, or more than {TAGS_LENGTH} letters of them")
    for name, value in tags.items():
        if not _TAG_NAME.fullmatch(name) or not (is_client_only(name) or name in _TAGS):
            raise refuse("a tag that peers may not set", name)
        if "\0" in value:
            raise refuse("a NUL in the tag", name)
    if RELAY_TAG in tags:
        nick(tags[RELAY_TAG], host)
    if tags.get(MENTIONS_TAG):
        for each in at_most(tags[MENTIONS_TAG].split(","), TAGS, "mentions"):
            any_nick(each)
    if SENDER_TAG in tags and tags[SENDER_TAG] not in _SENDERS:
        raise refuse("neither a person nor an agent", tags[SENDER_TAG])
    if HOPS_TAG in tags:
        whole_number(tags[HOPS_TAG], HOPS_OF_AGENTS)
    if STAMP_TAG in tags:
        time_ms(tags[STAMP_TAG])
    if NAMED_TAG in tags:
        for each in at_most(tags[NAMED_TAG].split(","), PARAMS, "users that an event is about"):
            time_and_host(each)
    if LINES_TAG in tags and not _LENGTHS.fullmatch(tags[LINES_TAG]):
        raise refuse("not the lengths of lines", tags[LINES_TAG])
    if PROOF_TAG in tags and not _PROOF.fullmatch(tags[PROOF_TAG]):
        raise refuse("not a proof", tags[PROOF_TAG])
    return tags
