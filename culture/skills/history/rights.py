"""Decide who may read what: public channels, members of others, and the ends of direct messages."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from culture.ircd.skills import Asker
from culture.names import SIGNS, Folded, fold, is_channel, is_nick
from culture.store.history.reading import (
    ALWAYS,
    Conversation,
    View,
    conversations,
    find_place,
    renamed_at,
    seated,
    was_called,
)


class Readable(NamedTuple):
    """What a client may read of one conversation."""

    # What is read, as it is spelled.
    name: str
    views: Sequence[View]


def readable(connection: sqlite3.Connection, asker: Asker, target: str) -> Readable | None:
    """Return what the asker may read of a channel or of conversations with a nick; None if nothing."""
    if is_channel(target.lstrip(SIGNS)):
        return _channel(connection, asker, target)
    if not is_nick(target):
        return None
    wanted = fold(target)
    # Somebody may have been called otherwise when they talked.
    now = asker.named.get(wanted)
    known = conversations(connection, asker.parties)
    talks = [
        talk for talk in known if fold(talk.nick) == wanted or (now is not None and talk.other == now.party)
    ]
    if not talks:
        # Nobody was talked with under that nick since.
        talks = [talk for talk in known if was_called(connection, talk, wanted)]
    spelled = next((talk.nick for talk in talks if fold(talk.nick) == wanted), target)
    return Readable(now.nick if now else spelled, [conversation_view(talk) for talk in talks])


def conversation_view(talk: Conversation) -> View:
    """Return the view of a whole conversation, for one of its two parties."""
    return View(talk.place, [ALWAYS])


def channel_view(connection: sqlite3.Connection, asker: Asker, place: int, key: Folded) -> View | None:
    """Return what the asker sees of a channel; of one that is gone, its public messages."""
    membership = asker.channels.get(key)
    if membership is not None:
        # Who makes a channel anew is no member of those that had its name before, unless they were in them.
        since_ms = int(membership.channel_since * 1000)
        seats = seated(connection, place, asker.parties)
        return View(place, seats, 0, since_ms, renamed_at(connection, place))
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
