"""JOIN, PART, NAMES and TOPIC."""

from culture.ircd.commands.messages.markread import tell_marker
from culture.ircd.commands.targets import for_each_target, require_channel, require_membership, require_server
from culture.ircd.delivery.metadata_push import send_on_join, tell_newcomer
from culture.ircd.delivery.text import as_middle_param, cut, pack, room_behind, size
from culture.ircd.events import AwayChanged, Joined, Parted, TopicChanged
from culture.ircd.model.channel import Channel, Flag, Setting, Topic
from culture.ircd.model.user import User
from culture.ircd.refusal import Refusal, no_such_channel, not_channel_operator
from culture.ircd.replication.remote_users import announce_statuses
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.slices import Steps
from culture.names import is_channel
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_BADCHANNELKEY,
    ERR_BANNEDFROMCHAN,
    ERR_CHANNELISFULL,
    ERR_INVITEONLYCHAN,
    ERR_NEEDREGGEDNICK,
    ERR_TOOMANYCHANNELS,
    RPL_ENDOFNAMES,
    RPL_NAMREPLY,
    RPL_NOTOPIC,
    RPL_TOPIC,
    RPL_TOPICWHOTIME,
)

# The capability under its final name and its draft name.
_NAMELESS = frozenset({Cap.NO_IMPLICIT_NAMES, Cap.NO_IMPLICIT_NAMES_DRAFT})


def join(ircd: Ircd, session: Session, line: Line) -> Steps:
    """Join channels, or leave all of them (`JOIN 0`)."""
    if line.param(0) == "0":
        # RFC 2812 section 3.2.1: leave everything.
        for channel in list(session.user.channels.values()):
            if session.user in channel.members:
                ircd.publish(Parted(session.user, channel, ""))
            yield
        return
    # The first key is for the first channel, and so on.
    keys = dict(zip(line.param(0).split(","), line.param(1).split(","), strict=False))

    def join_one(ircd: Ircd, session: Session, name: str) -> None:
        _join_one(ircd, session, name, keys.get(name, ""))

    yield from for_each_target(ircd, session, "JOIN", line.param(0), join_one)


def _join_one(ircd: Ircd, session: Session, name: str, key: str) -> None:
    if not is_channel(name) or len(name) < 2 or size(name) > ircd.limits.channel_length:
        raise no_such_channel(name)
    user = session.user
    channel = ircd.state.find_channel(name) or ircd.state.make_channel(name, ircd.clock())
    if user in channel.members:
        return
    if 0 < ircd.limits.channels_per_client <= len(user.channels):
        raise Refusal(ERR_TOOMANYCHANNELS, name, "You have joined too many channels")
    _check_admission(channel, user, key)
    ircd.publish(Joined(user, channel))
    if len(channel.members) > 1:
        announce_statuses(ircd, user, channel)
    if user.away:
        ircd.publish(AwayChanged(user, user.away, newcomer_to=channel))
    tell_newcomer(ircd, user, channel)
    send_welcome(ircd, session, channel)


def send_welcome(ircd: Ircd, session: Session, channel: Channel) -> None:
    """Send topic, read marker, names and metadata of a channel to a client that just joined it."""
    if channel.topic:
        _send_topic(ircd, session, channel)
    tell_marker(ircd, session, channel)
    if session.caps.isdisjoint(_NAMELESS):
        _send_names(ircd, session, channel)
    send_on_join(ircd, session, channel)


def _check_admission(channel: Channel, user: User, key: str) -> None:
    """Refuse users whom a mode keeps out, unless an operator invited them (RFC 2811, 4.2.2, 4.3.1)."""
    if user.invites.get(channel):
        return
    if channel.masks.is_banned(user):
        raise Refusal(ERR_BANNEDFROMCHAN, channel.name, "Cannot join channel (+b)")
    if Flag.INVITE_ONLY in channel.flags and not channel.masks.is_invite_exempt(user):
        raise Refusal(ERR_INVITEONLYCHAN, channel.name, "Cannot join channel (+i)")
    if Flag.REGISTERED_JOIN in channel.flags and user.account is None:
        raise Refusal(ERR_NEEDREGGEDNICK, channel.name, "Cannot join channel (+R): log in to an account")
    if channel.settings.get(Setting.KEY, key) != key:
        raise Refusal(ERR_BADCHANNELKEY, channel.name, "Cannot join channel (+k)")
    limit = channel.settings.get(Setting.LIMIT)
    if limit is not None and len(channel.members) >= int(limit):
        raise Refusal(ERR_CHANNELISFULL, channel.name, "Cannot join channel (+l)")


def part(ircd: Ircd, session: Session, line: Line) -> Steps:
    """Leave channels."""
    reason = line.param(1)

    def part_one(ircd: Ircd, session: Session, name: str) -> None:
        channel = require_membership(ircd, session, name)
        ircd.publish(Parted(session.user, channel, reason))

    return for_each_target(ircd, session, "PART", line.param(0), part_one)


def names(ircd: Ircd, session: Session, line: Line) -> Steps:
    """List the members of channels."""
    require_server(ircd, line.param(1))
    asked = line.param(0) or "*"
    known: list[str] = []

    def names_of_one(ircd: Ircd, session: Session, name: str) -> None:
        channel = ircd.state.find_channel(name)
        if channel and channel.is_visible_to(session.user):
            _send_members(ircd, session, channel)
            known.append(channel.name)

    yield from for_each_target(ircd, session, "NAMES", asked, names_of_one)
    # Echo a single channel as it is spelled, several as the client wrote them.
    is_one = len(known) == 1 and "," not in asked
    _end_names(ircd, session, known[0] if is_one else as_middle_param(asked))


def topic(ircd: Ircd, session: Session, line: Line) -> None:
    """Show or set the topic of a channel."""
    channel = require_channel(ircd, session, line.param(0))
    if len(line.params) == 1:
        _send_topic(ircd, session, channel)
        return
    require_membership(ircd, session, channel.name)
    if Flag.TOPIC_LOCKED in channel.flags and not channel.may_moderate(session.user):
        raise not_channel_operator(channel.name)
    now = ircd.clock()
    room = room_behind(session.user.mask, "TOPIC", channel.name)
    text = cut(line.param(1), min(room, ircd.limits.topic_length))
    changed = Topic(text, session.user.mask, now) if text else None
    ircd.publish(TopicChanged(session.user, channel, changed))


def _send_topic(ircd: Ircd, session: Session, channel: Channel) -> None:
    topic = channel.topic
    if topic is None:
        ircd.reply(session, RPL_NOTOPIC, channel.name, "No topic is set")
        return
    ircd.reply(session, RPL_TOPIC, channel.name, topic.text)
    who_and_when = (topic.set_by, str(int(topic.set_at)))
    ircd.reply(session, RPL_TOPICWHOTIME, channel.name, *who_and_when, trailing=False)


def _send_names(ircd: Ircd, session: Session, channel: Channel) -> None:
    _send_members(ircd, session, channel)
    _end_names(ircd, session, channel.name)


def _end_names(ircd: Ircd, session: Session, asked: str) -> None:
    ircd.reply(session, RPL_ENDOFNAMES, asked, "End of /NAMES list")


def _send_members(ircd: Ircd, session: Session, channel: Channel) -> None:
    all_prefixes = Cap.MULTI_PREFIX in session.caps
    whole_masks = Cap.USERHOST_IN_NAMES in session.caps
    named = [
        channel.prefix(user, show_all=all_prefixes) + (user.mask if whole_masks else user.nick)
        for user in channel.members_for(session.user)
    ]
    where = ("@" if Flag.SECRET in channel.flags else "=", channel.name)
    for part_of_them in pack(named, ircd.room_for(session, RPL_NAMREPLY, *where)):
        ircd.reply(session, RPL_NAMREPLY, *where, part_of_them)
