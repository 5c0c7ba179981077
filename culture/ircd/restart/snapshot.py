"""Convert sessions, channels, accounts and remote users to JSON values and back, for a restart.

Values at their default are left out. A change of their meaning needs a new FORMAT.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from culture.ircd.auth.proof import Proof
from culture.ircd.commands.session.authentication import abandon_exchange
from culture.ircd.delivery.multiline_draft import MultilineDraft, fail_draft, invalid_batch
from culture.ircd.model.ban_lists import MaskEntry, MaskList
from culture.ircd.model.channel import FLAGS, Channel, Flag, Setting, Status, Topic
from culture.ircd.model.state import State
from culture.ircd.model.user import USER_MODES, User, UserMode
from culture.ircd.replication.remote_users import add_remote_user
from culture.ircd.replication.snapshot_lines import user_lines
from culture.ircd.replication.snapshot_reader import read_snapshot
from culture.ircd.replication.stamps import NEVER, Stamp, Standing
from culture.ircd.sasl.exchange import MECHANISMS, Exchange
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session
from culture.names import Folded
from culture.protocol.capabilities import CAPS, Cap
from culture.protocol.multiline import Fragment

FORMAT: Final = 1

Values = dict[str, Any]

_OF_USER: Final = (
    "host", "signed_on_at", "named_at", "nick", "username", "realname", "account", "away",
    "metadata", "markers", "session_id",
)  # fmt: skip
_OF_SESSION: Final = (
    "peer", "connected_at", "cap_version", "is_negotiating", "is_trusted", "oper", "failures", "is_local",
    "is_secure", "fingerprint", "unix_user", "is_unidentified",
)  # fmt: skip


def session_values(ircd: Ircd, session: Session) -> Values:
    """Return the values of a session, without secrets and without the idle time."""
    user = session.user
    values = {name: getattr(user, name) for name in _OF_USER}
    values |= {name: getattr(session, name) for name in _OF_SESSION}
    values |= {
        "proof": session.proof if session.proof is not Proof.NONE else "",
        "is_registered": session.phase is Phase.REGISTERED,
        "knows_password": bool(ircd.password) and session.password == ircd.password,
        "modes": "".join(sorted(user.modes)),
        "caps": sorted(session.caps),
        "subscriptions": sorted(session.subscriptions),
        "channels": {channel.name: _statuses(channel, user) for channel in user.channels.values()},
        "standings": {key: standing_values(standing) for key, standing in user.standings.items()},
        "invited_to": _invites(user, ircd.state),
        "watches": ircd.state.monitors.watched_by(user),
        "draft": _draft_values(session.draft) if session.draft is not None else None,
        "exchange": session.exchange.name if session.exchange is not None else None,
    }
    return _without_defaults(values)


def restore_session(ircd: Ircd, values: Values, *, in_order: bool) -> Session:
    """Restore a session into channels that were restored before.

    `in_order` says that the session did not change after its values were saved.
    """
    user = User(**{name: values[name] for name in _OF_USER if name in values}, spoke_at=ircd.clock())
    session = Session(
        user, heard_at=ircd.timer(), **{name: values[name] for name in _OF_SESSION if name in values}
    )
    user.session = session
    session.proof = Proof(values.get("proof", Proof.NONE))
    # Files of an earlier version have no session id.
    user.session_id = user.session_id or ircd.new_session_id()
    session.set_caps({Cap(name) for name in values.get("caps", ()) if name in CAPS})
    session.subscriptions = frozenset(values.get("subscriptions", ()))
    session.password = ircd.password if values.get("knows_password") else ""
    ircd.sessions.add(session)
    if values.get("is_registered"):
        session.phase = Phase.REGISTERED
        ircd.state.add_user(user)
    for letter in values.get("modes", ""):
        if letter in USER_MODES:
            ircd.state.set_user_mode(user, UserMode(letter), present=True)
    for nick in values.get("watches", ()):
        ircd.state.monitors.add(user, nick, most=0)
    _restore_memberships(ircd.state, user, values)
    if "draft" in values:
        session.draft = _restore_draft(values["draft"])
    if name := values.get("exchange"):
        session.exchange = Exchange(name, MECHANISMS[name][1](session.fingerprint))
    _abort_unfinished(ircd, session, in_order=in_order)
    return session


def channel_values(channel: Channel) -> Values:
    """Return the values of a channel. The values of sessions name its members."""
    topic = channel.topic
    values = {
        "name": channel.name,
        "created_at": channel.created_at,
        "renamed_at": channel.renamed_at,
        "settings": dict(channel.settings),
        "topic": [topic.text, topic.set_by, topic.set_at] if topic is not None else None,
        "lists": {
            kind: [[entry.mask, entry.set_by, entry.set_at] for entry in entries]
            for kind in MaskList
            if (entries := channel.masks.of(kind))
        },
        "metadata": channel.metadata,
        "made_anew": list(channel.made_anew) if channel.made_anew > NEVER else None,
        "torn": sorted(channel.torn),
        "stamps": {key: list(stamp) for key, stamp in channel.stamps.items()},
    }
    return {"flags": "".join(sorted(channel.flags)), **_without_defaults(values)}


def restore_channel(state: State, values: Values) -> None:
    """Restore a channel without its members."""
    channel = Channel(
        values["name"],
        values["created_at"],
        flags={Flag(letter) for letter in values["flags"] if letter in FLAGS},
        settings={Setting(letter): value for letter, value in values.get("settings", {}).items()},
        topic=Topic(*values["topic"]) if "topic" in values else None,
        renamed_at=values.get("renamed_at", 0.0),
        metadata=values.get("metadata", {}),
        is_local=Flag.LOCAL in values["flags"],
        made_anew=Stamp(*values.get("made_anew", NEVER)),
        torn=frozenset(values.get("torn", ())),
        stamps={key: Stamp(*stamp) for key, stamp in values.get("stamps", {}).items()},
    )
    for kind, entries in values.get("lists", {}).items():
        for entry in entries:
            channel.masks.add(MaskList(kind), MaskEntry(*entry))
    state.channels[channel.key] = channel
    state.classify(channel.key)


def guest_values(state: State, user: User) -> Values:
    """Return the values of a user of another host, in the lines of a link snapshot."""
    standings = {key: standing_values(standing) for key, standing in user.standings.items()}
    lines = [*user_lines(user, state, user.channels.values())]
    return {"server": user.server, "lines": lines, "standings": standings}


def restore_guest(ircd: Ircd, values: Values) -> User:
    """Restore a user of another host into restored channels. Clients get no JOIN, as they saw no QUIT."""
    [known] = read_snapshot(values["lines"], ircd.name).users.values()
    standings = {Folded(key): standing_from(each) for key, each in values["standings"].items()}
    if ircd.state.find_user(known.nick) is not None:
        raise ValueError(f"'{known.nick}' is here already")
    user = add_remote_user(ircd, values["server"], known)
    user.standings = standings
    for key in known.places:
        channel = ircd.state.channels.get(key)
        if channel is not None and not channel.is_local:
            channel.add_member(user, user.standing_in(channel).held)
            user.channels[key] = channel
    return user


def drop_empty_channels(state: State) -> None:
    """Remove channels whose members did not return; keep tombstones of those with members on lost hosts."""
    for key, channel in [each for each in state.channels.items() if not each[1].members]:
        del state.channels[key]
        state.classify(key)
        if channel.torn:
            state.empty_channels.add_channel(channel)


def account_values(state: State, account: Folded) -> Values:
    """Return the metadata and read markers of an account."""
    return _without_defaults(
        {
            "metadata": state.metadata.of_accounts.get(account, {}),
            "markers": state.markers.of_accounts.get(account, {}),
        }
    )


def restore_account(state: State, account: Folded, values: Values) -> None:
    """Restore the metadata and read markers of an account."""
    for name, of_accounts in _BY_ACCOUNT.items():
        if name in values:
            of_accounts(state)[account] = values[name]


_BY_ACCOUNT: Final[Mapping[str, Callable[[State], dict[Folded, Any]]]] = {
    "metadata": lambda state: state.metadata.of_accounts,
    "markers": lambda state: state.markers.of_accounts,
}


def _without_defaults(values: Values) -> Values:
    return {name: value for name, value in values.items() if value or isinstance(value, float)}


def _statuses(channel: Channel, user: User) -> str:
    return "".join(sorted(channel.members[user]))


def standing_values(standing: Standing) -> list[Any]:
    """Return the values of a standing in a channel."""
    statuses = {status: [*stamp, present] for status, (stamp, present) in standing.statuses.items()}
    return [list(standing.joined), list(standing.kicked), statuses, standing.made_at]


def standing_from(values: list[Any]) -> Standing:
    """Restore a standing in a channel."""
    joined, kicked, statuses, made_at = values
    given = {Status(letter): (Stamp(*stamp), present) for letter, (*stamp, present) in statuses.items()}
    return Standing(Stamp(*joined), Stamp(*kicked), given, made_at)


def _invites(user: User, state: State) -> dict[str, tuple[float, bool]]:
    """Return the invitations of a user; a living channel replaces a gone one of the same name."""
    living = [each for each in user.invites.items() if state.channels.get(each[0].key) is each[0]]
    return {to.name: (to.created_at, by) for to, by in [*user.invites.items(), *living]}


def _restore_memberships(state: State, user: User, values: Values) -> None:
    for name, statuses in values.get("channels", {}).items():
        if (channel := state.find_channel(name)) is not None:
            channel.add_member(user, set(map(Status, statuses)))
            user.channels[channel.key] = channel
    for key, standing in values.get("standings", {}).items():
        user.standings[Folded(key)] = standing_from(standing)
    for name, (created_at, by_operator) in values.get("invited_to", {}).items():
        if (channel := state.find_channel(name)) is not None and channel.created_at == created_at:
            user.invites[channel] = by_operator


def _draft_values(draft: MultilineDraft) -> Values:
    return {
        "reference": draft.reference,
        "target": draft.target,
        "tags": dict(draft.tags),
        "opened_at": draft.opened_at,
        "label": draft.label,
        "command": draft.command,
        "fragments": [list(fragment) for fragment in draft.fragments],
        "size_bytes": draft.size_bytes,
        "is_given_up": draft.is_given_up,
    }


def _restore_draft(values: Values) -> MultilineDraft:
    return MultilineDraft(**{**values, "fragments": [Fragment(*each) for each in values["fragments"]]})


def _abort_unfinished(ircd: Ircd, session: Session, *, in_order: bool) -> None:
    """Abort the SASL exchange and an incomplete multiline message, and tell the client."""
    abandon_exchange(ircd, session)
    if not in_order and session.draft is not None and not session.draft.is_given_up:
        fail_draft(
            ircd,
            session,
            session.draft,
            invalid_batch("The server was restarted before the end of the batch"),
        )
