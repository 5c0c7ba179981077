"""RELAYMSG: a bridge says what somebody said elsewhere, under their name (IRCv3 draft/relaymsg)."""

import re

from culture.ircd.channel import Channel
from culture.ircd.commands.speech import call_absent, check_may_say, client_tags, fit
from culture.ircd.core import Ircd
from culture.ircd.events import Said
from culture.ircd.failures import Failure
from culture.ircd.offers import RELAY_SEPARATORS
from culture.ircd.privileges import has_privilege
from culture.ircd.refusal import Refusal, not_channel_operator
from culture.ircd.session import Session
from culture.ircd.targets import require_membership
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.mentions import find_mentions
from culture.protocol.numerics import ERR_NOTEXTTOSEND
from culture.protocol.render import RELAY_TAG

_USERNAME = "relay"
# What has a meaning in a line or a mask, and what would look like another line.
_RESERVED = re.compile(r"[\s!+%@&#$:'\"?*,.]")


def relaymsg(ircd: Ircd, session: Session, line: Line) -> None:
    """`channel nick text`. The nick has a sign that no nick of this network can have."""
    if Cap.RELAYMSG not in session.caps:
        # Without the tag a bridge would take its own words for somebody else's, and carry them in a circle.
        raise Failure("CAPABILITIES_NEEDED", text=f"Relaying needs the capability {Cap.RELAYMSG}")
    channel = _check_channel(ircd, session, line.param(0), line.param(2))
    _check_nick(line.param(1), ircd.limits.nick_length)
    _relay(ircd, session, channel, line)


def _check_channel(ircd: Ircd, session: Session, name: str, text: str) -> Channel:
    channel = require_membership(ircd, session, name)
    if not channel.is_operator(session.user) and not has_privilege(ircd, session, "relaymsg"):
        raise not_channel_operator(channel.name)
    if not text:
        raise Refusal(ERR_NOTEXTTOSEND, "No text to send")
    check_may_say(channel, session.user, text)
    return channel


def _check_nick(nick: str, longest: int) -> None:
    if not any(sign in nick for sign in RELAY_SEPARATORS):
        raise Failure("INVALID_NICK", nick, text=f"A relayed nick has one of {RELAY_SEPARATORS} in it")
    if len(nick.encode()) > longest or not nick.isprintable() or _RESERVED.search(nick):
        raise Failure("INVALID_NICK", nick, text=f"A relayed nick is a word of {longest} bytes without signs")


def _relay(ircd: Ircd, session: Session, channel: Channel, line: Line) -> None:
    now = ircd.clock()
    absent = User(line.param(1), host=ircd.name, signed_on_at=now, username=_USERNAME, spoke_at=now)
    tags = {RELAY_TAG: session.user.nick, **client_tags(ircd, session, line)}
    text = fit(absent.mask, "PRIVMSG", channel.name, line.param(2))
    mentioned = tuple(find_mentions(text, ircd.state.users.get))
    ircd.publish(Said(absent, "PRIVMSG", channel, text, tags, mentioned))
    ircd.record.wait_for(session, "RELAYMSG", channel.name)
    call_absent(ircd, absent, channel, mentioned)
