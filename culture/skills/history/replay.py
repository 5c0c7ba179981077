"""Turn stored events into replies: original lines for CHATHISTORY, or lines of HISTORY."""

from collections.abc import Iterator, Set
from typing import Final

from culture.ircd.authority.marks import believed_tags
from culture.ircd.delivery.text import LINE_BYTES, fragments_of, size
from culture.ircd.skills import Reply
from culture.protocol.accounts import account_at
from culture.protocol.capabilities import Cap
from culture.protocol.event_record import FOR_HOSTS, LINES_TAG
from culture.protocol.render import format_time
from culture.store.history.indexing import SPEECH
from culture.store.history.reading import Recorded

EVENTS: Final = ("JOIN", "PART", "KICK", "QUIT", "NICK", "TOPIC", "MODE")
# These name no channel on the wire.
_NOWHERE: Final = frozenset({"QUIT", "NICK"})
# These have a text, also an empty one.
_TEXTUAL: Final = frozenset({"PRIVMSG", "NOTICE", "TOPIC", "QUIT"})


def commands_for(caps: Set[str]) -> tuple[str, ...]:
    """Return the commands that a client accepts in a history batch (IRCv3 draft/event-playback)."""
    if not {Cap.EVENT_PLAYBACK, Cap.BATCH} <= caps:
        return SPEECH
    tags_only = ("TAGMSG",) if Cap.MESSAGE_TAGS in caps else ()
    redactions = ("REDACT",) if Cap.MESSAGE_REDACTION in caps else ()
    return (*SPEECH, *EVENTS, *tags_only, *redactions)


def replayed(row: Recorded, name: str, caps: Set[str], believed: Set[str]) -> Reply:
    """Return the original line. `name` is its channel, `caps` are the reader's capabilities.

    Only the hosts in `believed` are believed about who is a person, besides this one.
    """
    at, account = row.at_ms / 1000, account_at(row.account, row.origin)
    tags = believed_tags(row.tags, is_believed=not row.origin or row.origin in believed)
    tags = {tag: value for tag, value in tags.items() if tag not in FOR_HOSTS}
    where = () if row.command in _NOWHERE else (row.target or name,)
    head = (*where, *row.params)
    if row.command in SPEECH:
        room = LINE_BYTES - size(f":{row.mask} {row.command} {head[0]} :")
        lines = row.tags.get(LINES_TAG, "")
        fragments = fragments_of(row.text, room, lines)
        if len(fragments) > 1 or lines:
            return Reply(row.command, head, row.mask, at, row.msgid, account, tags, fragments=fragments)
    has_text = bool(row.text) or row.command in _TEXTUAL
    if row.command == "JOIN":
        # Its text is the real name.
        has_text = Cap.EXTENDED_JOIN in caps
        head = (*head, account or "*") if has_text else head
    params = (*head, row.text) if has_text else head
    return Reply(row.command, params, row.mask, at, row.msgid, account, tags, trailing=has_text)


def told(row: Recorded, name: str, server: str) -> Iterator[Reply]:
    """Yield `HISTORY <target> <sender> <timestamp> :<text>` in as many lines as needed."""
    head = (name, row.nick, format_time(row.at_ms / 1000))
    account = account_at(row.account, row.origin)
    room = LINE_BYTES - size(f":{server} HISTORY {' '.join(head)} :")
    for fragment in fragments_of(row.text, room):
        yield Reply("HISTORY", (*head, fragment.text), "", row.at_ms / 1000, row.msgid, account)
