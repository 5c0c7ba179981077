"""JOIN, PART, NAMES and TOPIC: being in a channel."""

from culture.ircd.channel import Channel, Flag, Setting, Topic
from culture.ircd.commands.markread import tell_marker
from culture.ircd.core import Ircd
from culture.ircd.events import AwayChanged, Joined, Parted, TopicChanged
from culture.ircd.publishing import send_on_join, tell_newcomer
from culture.ircd.refusal import Refusal, no_such_channel, not_channel_operator, not_on_channel
from culture.ircd.session import Session
from culture.ircd.targets import for_each_target, require_channel, require_membership, require_server
from culture.ircd.text import cut, one_word, pack, room_behind, size
from culture.ircd.user import User
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

_NAMELESS = frozenset({Cap.NO_IMPLICIT_NAMES, Cap.NO_IMPLICIT_NAMES_DRAFT})
"""Under its final name, and under the one that clients know it by from before."""


def join(ircd: Ircd, session: Session, line: Line) -> None:
    if line.param(0) == "0":
        # RFC 2812 section 3.2.1: leave everything.
        for channel in list(session.user.channels.values()):
            ircd.publish(Parted(session.user, channel, ""))
        return
    # The first key is for the first channel, and so on.
    keys = dict(zip(line.param(0).split(","), line.param(1).split(","), strict=False))

    def join_one(ircd: Ircd, session: Session, name: str) -> None:
        _join_one(ircd, session, name, keys.get(name, ""))

    for_each_target(ircd, session, "JOIN", line.param(0), join_one)


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
    if user.away:
        ircd.publish(AwayChanged(user, user.away, newcomer_to=channel))
    tell_newcomer(ircd, user, channel)
    send_welcome(ircd, session, channel)


def send_welcome(ircd: Ircd, session: Session, channel: Channel) -> None:
    """What a client reads of a channel that it is in from now on."""
    if channel.topic:
        _send_topic(ircd, session, channel)
    tell_marker(ircd, session, channel)
    if session.caps.isdisjoint(_NAMELESS):
        _send_names(ircd, session, channel)
    send_on_join(ircd, session, channel)


def _check_admission(channel: Channel, user: User, key: str) -> None:
    """Who was invited by an operator is let in, whatever else holds (RFC 2811 sections 4.2.2 and 4.3.1)."""
    if user.invites.get(channel):
        return
    if channel.masks.is_banned(user):
        raise Refusal(ERR_BANNEDFROMCHAN, channel.name, "Cannot join channel (+b)")
    if Flag.INVITE_ONLY in channel.flags and not channel.masks.needs_no_invitation(user):
        raise Refusal(ERR_INVITEONLYCHAN, channel.name, "Cannot join channel (+i)")
    if Flag.REGISTERED_JOIN in channel.flags and user.account is None:
        raise Refusal(ERR_NEEDREGGEDNICK, channel.name, "Cannot join channel (+R): log in to an account")
    if channel.settings.get(Setting.KEY, key) != key:
        raise Refusal(ERR_BADCHANNELKEY, channel.name, "Cannot join channel (+k)")
    limit = channel.settings.get(Setting.LIMIT)
    if limit is not None and len(channel.members) >= int(limit):
        raise Refusal(ERR_CHANNELISFULL, channel.name, "Cannot join channel (+l)")


def part(ircd: Ircd, session: Session, line: Line) -> None:
    reason = line.param(1)

    def part_one(ircd: Ircd, session: Session, name: str) -> None:
        channel = require_membership(ircd, session, name)
        ircd.publish(Parted(session.user, channel, reason))

    for_each_target(ircd, session, "PART", line.param(0), part_one)


def names(ircd: Ircd, session: Session, line: Line) -> None:
    require_server(ircd, line.param(1))

    def names_of_one(ircd: Ircd, session: Session, name: str) -> None:
        channel = ircd.state.find_channel(name)
        if channel and channel.is_visible_to(session.user):
            _send_names(ircd, session, channel)
        else:
            ircd.reply(session, RPL_ENDOFNAMES, one_word(name), "End of /NAMES list")

    for_each_target(ircd, session, "NAMES", line.param(0) or "*", names_of_one)


def topic(ircd: Ircd, session: Session, line: Line) -> None:
    channel = require_channel(ircd, line.param(0))
    if not channel.is_visible_to(session.user):
        raise not_on_channel(channel.name)
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
    all_prefixes = Cap.MULTI_PREFIX in session.caps
    whole_masks = Cap.USERHOST_IN_NAMES in session.caps
    named = [
        channel.prefix(user, all_of_them=all_prefixes) + (user.mask if whole_masks else user.nick)
        for user in channel.members_for(session.user)
    ]
    where = ("@" if Flag.SECRET in channel.flags else "=", channel.name)
    for part_of_them in pack(named, ircd.room_for(session, RPL_NAMREPLY, *where)):
        ircd.reply(session, RPL_NAMREPLY, *where, part_of_them)
    ircd.reply(session, RPL_ENDOFNAMES, channel.name, "End of /NAMES list")
