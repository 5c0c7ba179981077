"""JOIN, PART, NAMES and TOPIC: being in a channel."""

from culture.ircd.channel import Channel, Flag, Topic
from culture.ircd.core import Ircd
from culture.ircd.events import Joined, Parted, TopicChanged
from culture.ircd.refusal import Refusal, no_such_channel
from culture.ircd.session import Session
from culture.ircd.targets import for_each_target, require_channel, require_membership
from culture.ircd.text import cut, pack, room_behind
from culture.names import is_channel
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.numerics import (
    ERR_CHANOPRIVSNEEDED,
    ERR_TOOMANYCHANNELS,
    RPL_ENDOFNAMES,
    RPL_NAMREPLY,
    RPL_NOTOPIC,
    RPL_TOPIC,
    RPL_TOPICWHOTIME,
)


def join(ircd: Ircd, session: Session, line: Line) -> None:
    if line.param(0) == "0":
        # RFC 2812 section 3.2.1: leave everything.
        for channel in list(session.user.channels.values()):
            ircd.publish(Parted(session.user, channel, ""))
        return
    for_each_target(ircd, session, line.param(0), _join_one)


def _join_one(ircd: Ircd, session: Session, name: str) -> None:
    if not is_channel(name) or len(name) < 2 or len(name) > ircd.limits.channel_length:
        raise no_such_channel(name)
    user = session.user
    channel = ircd.state.find_channel(name) or Channel(name, created_at=ircd.clock())
    if user in channel.members:
        return
    if len(user.channels) >= ircd.limits.channels_per_client:
        raise Refusal(ERR_TOOMANYCHANNELS, name, "You have joined too many channels")
    ircd.publish(Joined(user, channel))
    if channel.topic:
        _send_topic(ircd, session, channel)
    _send_names(ircd, session, channel)


def part(ircd: Ircd, session: Session, line: Line) -> None:
    reason = line.param(1)

    def part_one(ircd: Ircd, session: Session, name: str) -> None:
        channel = require_membership(ircd, session, name)
        ircd.publish(Parted(session.user, channel, reason))

    for_each_target(ircd, session, line.param(0), part_one)


def names(ircd: Ircd, session: Session, line: Line) -> None:
    def names_of_one(ircd: Ircd, session: Session, name: str) -> None:
        channel = ircd.state.find_channel(name)
        if channel:
            _send_names(ircd, session, channel)
        else:
            ircd.reply(session, RPL_ENDOFNAMES, name, "End of /NAMES list")

    for_each_target(ircd, session, line.param(0) or "*", names_of_one)


def topic(ircd: Ircd, session: Session, line: Line) -> None:
    channel = require_channel(ircd, line.param(0))
    if len(line.params) == 1:
        _send_topic(ircd, session, channel)
        return
    require_membership(ircd, session, channel.name)
    if Flag.TOPIC_LOCKED in channel.flags and not channel.is_operator(session.user):
        raise Refusal(ERR_CHANOPRIVSNEEDED, channel.name, "You're not channel operator")
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
        for user in channel.members
        if not user.is_invisible or session.user in channel.members
    ]
    for part_of_them in pack(named, ircd.room_for(session, RPL_NAMREPLY, "=", channel.name)):
        ircd.reply(session, RPL_NAMREPLY, "=", channel.name, part_of_them)
    ircd.reply(session, RPL_ENDOFNAMES, channel.name, "End of /NAMES list")
