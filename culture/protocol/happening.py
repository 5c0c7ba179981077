"""What happened, as a plain value: what history keeps of it, and what links carry."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from culture.names import has_prefix, is_nick
from culture.protocol.line import NO_TAGS

GENERATION_SHIFT: Final = 31
"""A number is `generation << 31 | counter`: each start of a server begins a generation of its own, which is
the second of it. That fits into the 63 bits that SQLite has until 2106."""
GENERATIONS: Final = 1 << 63 - GENERATION_SHIFT
AHEAD_S: Final = 10 * 365 * 86_400
"""So far a clock may have been ahead when a generation began."""
_BEGINNING: Final = 1_790_000_000
"""A clock before that (September 2026) was not set since its machine was switched on."""
SOURCE_LENGTH: Final = 255
"""Who is called longer than that leaves no room for a command in what clients are told."""

SPOKEN: Final = frozenset({"PRIVMSG", "NOTICE", "TAGMSG"})
SEEN: Final = frozenset(
    {"JOIN", "KICK", "MODE", "NICK", "PART", "QUIT", "REDACT", "RENAME", "TOPIC"},
)
LINKS_ONLY: Final = frozenset(
    {
        "ACCOUNT", "AWAY", "CHGHOST", "ENTER", "GONE", "INVITE", "KILL", "KNOWN", "LEFT", "MEMBERS", "META",
        "NAMED", "SETNAME", "UMODE", "USER", "WALLOPS",
    }
)  # fmt: skip
"""What other hosts have to know, and history does not."""
CROSSING: Final = SPOKEN | SEEN | LINKS_ONLY
"""All that links carry. How far somebody read, and what an account published, stays where the account is."""

STAMP_TAG: Final = "agentirc.dev/stamp"
"""On a change that has to count as later than its time says (milliseconds): a clock may be behind another."""
NAMED_TAG: Final = "agentirc.dev/named"
"""On a change that names users: which ones, in the same order, whatever their nicks are by now."""
MADE_TAG: Final = "agentirc.dev/made"
"""On a JOIN of a channel that nobody was in: it is another one than what had its name before."""
LINES_TAG: Final = "agentirc.dev/lines"
"""On a message whose line breaks do not tell in which lines it was sent: see `multiline.composition`."""
FOR_HOSTS: Final = frozenset({STAMP_TAG, NAMED_TAG, MADE_TAG, LINES_TAG})
"""Tags that no client is told."""


class Happening(NamedTuple):
    """An event as its readers were told it. A tuple, since one is made of every message."""

    id: str
    """The msgid, the same on every host."""
    at: float
    command: str
    target: str
    """The channel as it is spelled, `@#ops` for its operators, or the nick written to. Empty: `channels`."""
    source: str
    """nick!user@host, as it was before a NICK."""
    account: str | None
    text: str = ""
    """What comes last on the line. Several lines in one message have a line feed between them."""
    tags: Mapping[str, str] = NO_TAGS
    is_public: bool = False
    """It was said in a channel that was neither secret nor keyed nor for invited people only.

    Not a MODE that tells the key of one.
    """
    ends: tuple[str, str] | None = None
    """Of a direct message: `end_of` who wrote it and of who it is for."""
    channels: tuple[tuple[str, bool], ...] = ()
    """Where a QUIT or a NICK was seen, each with `is_public`."""
    params: tuple[str, ...] = ()
    """What stands between target and text: who was kicked, which modes, which message was redacted."""
    origin: str = ""
    """The host where it happened. Empty: this one."""
    seq: int = 0
    """Its number among all that happened there; what counts them says how it is made up."""
    to: str = ""
    """Of a direct message: the host that it goes to, if that is another one."""
    is_local: bool = False
    """It stays on this host: the channel is local."""
    scope: str = "*"
    """What its number counts for here: all that may cross links, or, where the way it came is limited to some
    channels, these, folded and with commas between. See `culture.federation.holding`."""


def latest_generation(now: float) -> int:
    """What is later is none: a host that went on from there would have no numbers left some day."""
    return min(int(max(now, _BEGINNING)) + AHEAD_S, GENERATIONS - 2)


def may_come_from(source: str, origin: str) -> bool:
    """Whether a host may tell of this source: its users have its prefix, and what is relayed is no nick."""
    nick, _, address = source.partition("!")
    return has_prefix(nick, origin) if is_nick(nick) else address.rpartition("@")[2] == origin
