"""The record of an event that history stores and links carry."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from culture.protocol.line import NO_TAGS
from culture.protocol.parties import Party, party_of

# An event number is `generation << 31 | counter`. Each start of a server begins a new generation, which is
# the Unix time of the start in seconds. That fits into SQLite's 63 bits until 2106.
GENERATION_SHIFT: Final = 31
GENERATIONS: Final = 1 << 63 - GENERATION_SHIFT
# How far a clock may have been ahead when a generation began.
AHEAD_S: Final = 10 * 365 * 86_400
# A clock before this time (September 2026) was not set since the machine was switched on.
_BEGINNING: Final = 1_790_000_000
# A longer source (nick!user@host) leaves no room for a command in a line to clients.
SOURCE_LENGTH: Final = 255

SPOKEN: Final = frozenset({"PRIVMSG", "NOTICE", "TAGMSG"})
SEEN: Final = frozenset(
    {"JOIN", "KICK", "MODE", "NICK", "PART", "QUIT", "REDACT", "RENAME", "TOPIC"},
)
# Events that other hosts need and history does not.
LINKS_ONLY: Final = frozenset(
    {
        "ACCOUNT", "AWAY", "CHGHOST", "ENTER", "GONE", "HALT", "INVITE", "KILL", "KNOWN", "LEFT", "MEMBERS",
        "META", "NAMED", "SETNAME", "UMODE", "USER", "WALLOPS",
    }
)  # fmt: skip
# All events that links carry. Read markers and metadata of accounts stay on the host of the account.
CROSSING: Final = SPOKEN | SEEN | LINKS_ONLY

# On a change whose stamp (milliseconds) is later than its time, because the clock of its host is behind.
STAMP_TAG: Final = "agentirc.dev/stamp"
# On a change that names users: their identities in the same order, because nicks may have changed.
NAMED_TAG: Final = "agentirc.dev/named"
# On a JOIN that creates a channel: it is a new one, not the earlier channel of that name.
MADE_TAG: Final = "agentirc.dev/made"
# On a multi-line message whose line breaks do not tell its fragments: see `multiline.composition`.
LINES_TAG: Final = "agentirc.dev/lines"
# On an event that other hosts store: proves to its origin that the event is its own, see `links.md`.
PROOF_TAG: Final = "agentirc.dev/proof"
# Tags that are never sent to clients.
FOR_HOSTS: Final = frozenset({STAMP_TAG, NAMED_TAG, MADE_TAG, LINES_TAG, PROOF_TAG})


class EventRecord(NamedTuple):
    """One event as clients saw it. It is a tuple for speed, because every message becomes one."""

    # The msgid, the same on every host.
    id: str
    at: float
    command: str
    # The channel as it is spelled, `@#ops` for its operators, or a nick. Empty if `channels` is used.
    target: str
    # nick!user@host, as it was before a NICK.
    source: str
    account: str | None
    # The last parameter. The lines of a multi-line message have a line feed between them.
    text: str = ""
    tags: Mapping[str, str] = NO_TAGS
    # The channel was neither secret nor keyed nor invite-only. A MODE that shows a key is never public.
    is_public: bool = False
    # Author and recipient of a direct message. For its redaction, whoever redacted it comes first.
    ends: tuple[Party, Party] | None = None
    # The channels in which a QUIT or a NICK was seen, each with `is_public`.
    channels: tuple[tuple[str, bool], ...] = ()
    # The parameters between target and text: the kicked nick, the modes, or the redacted msgid.
    params: tuple[str, ...] = ()
    # The host where it happened; empty for this one.
    origin: str = ""
    # Its event number on that host, see GENERATION_SHIFT.
    seq: int = 0
    # The destination host of a direct message, if that is another one.
    to: str = ""
    # It stays on this host, because the channel is local.
    is_local: bool = False
    # What the number is a watermark for: `*` for everything, or the channels (folded, separated by commas)
    # that its route is limited to. See `culture.federation.feeds.watermarks`.
    scope: str = "*"
    # The session id of a source that is not logged in.
    session_id: str = ""

    @property
    def author(self) -> Party:
        """Return the party that caused the event, as this host knows it."""
        return party_of(self.account, self.session_id, self.source.partition("!")[0], self.origin)

    @property
    def is_between_local_users(self) -> bool:
        """Return whether it is a direct message between users of its origin, which no other host may see."""
        return self.ends is not None and not self.to


def latest_generation(now: float) -> int:
    """Return the latest plausible generation. A later one could use up all numbers."""
    return min(int(max(now, _BEGINNING)) + AHEAD_S, GENERATIONS - 2)
