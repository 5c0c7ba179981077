"""Who may read what: public channels whom they let in, others their members, direct messages their ends."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from culture.ircd.skills import Asker
from culture.names import SIGNS, Folded, fold, is_channel, is_nick
from culture.store.history.reading import (
    ALWAYS,
    LAST,
    Conversation,
    View,
    conversations,
    find_place,
    seated,
    was_called,
)


class Readable(NamedTuple):
    name: str
    """What is read, as it is spelled."""
    views: Sequence[View]


def readable(connection: sqlite3.Connection, asker: Asker, target: str) -> Readable | None:
    """What somebody may read of a channel or of what was said with a nick; None is no."""
    if is_channel(target.lstrip(SIGNS)):
        return _channel(connection, asker, target)
    if not is_nick(target):
        return None
    wanted = fold(target)
    # Somebody may have been called otherwise when they talked.
    now = asker.named.get(wanted)
    ends = {f"nick:{wanted}", now.end if now else ""}
    known = conversations(connection, asker.ends)
    talks = [talk for talk in known if fold(talk.nick) == wanted or talk.other in ends]
    if not talks:
        # Nobody was talked with under that nick since.
        talks = [talk for talk in known if was_called(connection, talk, wanted)]
    spelled = next((talk.nick for talk in talks if fold(talk.nick) == wanted), target)
    return Readable(now.nick if now else spelled, [conversation_view(asker, talk) for talk in talks])


def conversation_view(asker: Asker, talk: Conversation) -> View:
    # A nick that anybody can take proves nothing about who had it before.
    is_theirs = asker.nicks_are_owned or not talk.mine.startswith("nick:")
    return View(talk.place, [ALWAYS], 0 if is_theirs else int(asker.named_at * 1000))


def channel_view(connection: sqlite3.Connection, asker: Asker, place: int, key: Folded) -> View | None:
    """What of a channel. One that is gone can be read as far as it was public."""
    membership = asker.channels.get(key)
    if membership is not None:
        # Who makes a channel anew is no member of those that had its name before, unless they were in them.
        ends = [end for end in asker.ends if asker.nicks_are_owned or not end.startswith("nick:")]
        since_ms = int(membership.channel_since * 1000)
        return View(place, [(since_ms, LAST), *seated(connection, place, ends)])
    return None if asker.is_kept_from(key) else View(place, [])


def _channel(connection: sqlite3.Connection, asker: Asker, target: str) -> Readable | None:
    name = target.lstrip(SIGNS)
    signs = target.removesuffix(name)
    membership = asker.channels.get(fold(name))
    if signs and (membership is None or signs[0] not in membership.signs):
        return None
    found = find_place(connection, target)
    if found is None:
        return None if membership is None else Readable(target, [])
    place, spelled = found
    view = channel_view(connection, asker, place, fold(name))
    return None if view is None else Readable(spelled, [view])
