"""What must hold at the end of every turn."""

from collections.abc import Collection

from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.names import fold
from support.fuzz.configs import LIMITS
from support.fuzz.leftovers import held_by
from support.fuzz.player import Player


def check(ircd: Ircd, players: Collection[Player]) -> None:
    _check_outboxes(ircd, players)
    _check_members(ircd)
    _check_modes(ircd)
    _check_views(players)
    _check_labels(players)


def check_nobody_is_left(ircd: Ircd) -> None:
    for held in held_by(ircd):
        assert not isinstance(held, Session | User | Channel), f"left at the end: {held}"


def _check_outboxes(ircd: Ircd, players: Collection[Player]) -> None:
    sessions = {player.session for player in players}
    assert ircd.sessions == sessions, "sessions that nobody has, or the other way round"


def _check_members(ircd: Ircd) -> None:
    state = ircd.state
    for name, channel in state.channels.items():
        assert channel.members, f"{name} is empty"
        assert fold(channel.name) == name
        readers = {session: form for form, sessions in channel.readers.items() for session in sessions}
        assert readers == {session: session.form for user in channel.members if (session := user.session)}
        for user in channel.members:
            assert user.channels[name] is channel
            assert state.users[user.key] is user
    for key, user in state.users.items():
        assert fold(user.nick) == key
        assert user.session in ircd.sessions
        assert all(state.channels[name].members[user] is not None for name in user.channels)
        assert len(user.channels) <= LIMITS.channels_per_client
    logged_in = {user for users in state.by_account.values() for user in users}
    assert logged_in == {user for user in state.users.values() if user.account is not None}


def _check_labels(players: Collection[Player]) -> None:
    """IRCv3 labeled-response: every command is answered, if only by ACK."""
    for player in players:
        if not player.is_stalled and player.session.question is None:
            left = player.owed - player.reader.answered
            assert not left, f"not answered: {left}"


def _check_modes(ircd: Ircd) -> None:
    state = ircd.state
    for mode, having in state.by_mode.items():
        assert having == {user for user in state.users.values() if mode in user.modes}
    for channel in state.channels.values():
        letters, *params = channel.modes_for(next(iter(channel.members)))
        assert len(params) == sum(letter in "kl" for letter in letters)
        assert all(param and " " not in param for param in params)
        assert len(channel.masks) <= LIMITS.list_entries


def _check_views(players: Collection[Player]) -> None:
    """What each client was told about who is where, beside the truth."""
    for player in players:
        user, reader = player.session.user, player.reader
        if player.is_stalled or player.session.phase is not Phase.REGISTERED:
            continue
        assert reader.nick == user.nick, f"{user.nick} believes to be {reader.nick}"
        if not player.reader.is_nameless:
            truth = {name: {each.key for each in at.members} for name, at in user.channels.items()}
            assert reader.channels == truth, f"{user.nick} believes otherwise"


def check_leftovers(ircd: Ircd) -> None:
    """A session or a user that is held somewhere, after it is gone, is never forgotten."""
    # Of these a user lets go with the next invitation.
    invited = {channel for user in ircd.state.users.values() for channel in user.invites}
    for held in held_by(ircd):
        if isinstance(held, Session):
            assert held in ircd.sessions, f"left of a session that ended: {held}"
        elif isinstance(held, User):
            assert held.session in ircd.sessions, f"left of a user who is gone: {held}"
        elif isinstance(held, Channel) and held not in invited:
            assert ircd.state.channels.get(held.key) is held, f"left of a channel: {held}"
