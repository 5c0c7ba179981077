"""RELAYMSG: a bridge relays a message of another network under its author's name (IRCv3 draft/relaymsg)."""

from culture.ircd.commands.messages.privmsg import call_absent, check_may_say, client_tags, fit
from culture.ircd.commands.session.confinement import is_refused_to_agents
from culture.ircd.commands.targets import require_membership
from culture.ircd.events import Said
from culture.ircd.failures import Failure
from culture.ircd.model.channel import Channel
from culture.ircd.model.opers import has_privilege
from culture.ircd.model.user import User
from culture.ircd.refusal import Refusal, not_channel_operator
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import is_relayed_nick
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line
from culture.protocol.mentions import find_mentions
from culture.protocol.numerics import ERR_NOTEXTTOSEND
from culture.protocol.render import RELAY_TAG

_USERNAME = "relay"


def relaymsg(ircd: Ircd, session: Session, line: Line) -> None:
    """Relay a message, given `channel nick text`. The nick has a separator that local nicks cannot have."""
    answer = Failure("AGENT_REFUSED", text="Agents speak under their own names")
    if is_refused_to_agents(ircd, session, "RELAYMSG", answer):
        return
    if Cap.RELAYMSG not in session.caps:
        # Without the tag a bridge would not recognise its own messages and would relay them in a loop.
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
    if len(nick.encode()) > longest or not is_relayed_nick(nick):
        text = f"A relayed nick is name/network without signs, of at most {longest} bytes"
        raise Failure("INVALID_NICK", nick, text=text)


def _relay(ircd: Ircd, session: Session, channel: Channel, line: Line) -> None:
    now = ircd.clock()
    absent = User(line.param(1), host=ircd.name, signed_on_at=now, username=_USERNAME, spoke_at=now)
    tags = {RELAY_TAG: session.user.nick, **client_tags(ircd, session, line)}
    text = fit(absent.mask, "PRIVMSG", channel.name, line.param(2))
    mentioned = tuple(find_mentions(text, ircd.state.users.get))
    ircd.publish(Said(absent, "PRIVMSG", channel, text, tags, mentioned))
    ircd.record.charge_sender(session, "RELAYMSG", channel.name)
    call_absent(ircd, absent, channel, mentioned)
