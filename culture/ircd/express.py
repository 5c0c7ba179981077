"""The short way for the line that is sent most: `PRIVMSG target :text`, with nothing special about it.

Whatever is special in any way takes the way of every command, which does the same for such a line in twice
the time. A test holds the two side by side.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from culture.ircd.channel import Channel
from culture.ircd.session import REGISTERED, Session
from culture.ircd.text import LINE_BYTES
from culture.ircd.user import User, UserMode
from culture.names import fold
from culture.protocol.line import NO_TAGS
from culture.protocol.mentions import find_mentions
from culture.protocol.render import Rendered

if TYPE_CHECKING:
    from culture.ircd.core import Ircd

BEGINNING: Final = b"PRIVMSG "
SKIP: Final = len(BEGINNING)
_SHORT_BYTES: Final = LINE_BYTES // 2
_SHORT_MASK: Final = LINE_BYTES - _SHORT_BYTES - len(": ") - SKIP
"""Words and a mask of these sizes fit in a line together, whatever they hold."""

_BOT: Final = UserMode.BOT
_REGISTERED_ONLY: Final = UserMode.REGISTERED_ONLY

_new = tuple.__new__


def say(ircd: "Ircd", session: Session, lines: Sequence[str]) -> int:
    """How many were said, from the first on. A line is the ASCII behind BEGINNING, without its end."""
    if session.phase is not REGISTERED or session.question is not None or session.draft is not None:
        return 0
    sender = session.user
    mask = sender.mask
    # Who has a mode is found in less memory than which modes somebody has.
    if len(mask) > _SHORT_MASK or sender in ircd.state.by_mode[_BOT]:
        return 0
    at, record, delivery = ircd.clock(), ircd.record, ircd.delivery
    said, named = 0, ""
    target: Channel | User | None = None
    for line in lines:
        name, _, text = line.partition(" :")
        if not text or len(line) > _SHORT_BYTES or not text.isprintable():
            break
        if name != named:
            # Nothing that is said here changes who may say the next thing.
            target, named = _hearer(ircd, session, name), name
        if target is None:
            break
        msgid = ""
        if isinstance(target, Channel):
            if "@" in text and find_mentions(text, ircd.state.users.get):
                break
            msgid = ircd.new_id()
            values = (f":{mask} PRIVMSG {target.name} :{text}", at, NO_TAGS, msgid, sender.account)
            delivery.say_in(target, _new(Rendered, values), sender)
        elif (reader := target.session) is not None:
            form = reader.form
            if form or record.is_wanted:
                msgid = ircd.new_id()
            if form:
                line = f":{mask} PRIVMSG {target.nick} :{text}"
                data = Rendered(line, at, NO_TAGS, msgid, sender.account).form(form)
            else:
                data = f":{mask} PRIVMSG {target.nick} :{text}\r\n".encode()
            delivery.say_to(reader, data)
        if record.is_wanted:
            record.spoke(sender, "PRIVMSG", target, text, NO_TAGS, None, msgid, at)
        said += 1
    if said:
        ircd.heard["PRIVMSG"] += said
        session.heard_at, session.ping_sent_at, sender.spoke_at = ircd.timer(), None, at
    return said


def _hearer(ircd: "Ircd", session: Session, name: str) -> Channel | User | None:
    """Whom the name means, if any plain text may be said there, and nothing besides has to be told."""
    sender, state = session.user, ircd.state
    # A name that is found as it was typed need not be folded.
    if name[0:1] == "#":
        channel = state.channels.get(name) or state.channels.get(fold(name))  # type: ignore[call-overload]
        may_speak = channel is not None and sender in channel.members and channel.may_speak(sender)
        return channel if may_speak else None
    user: User | None
    user = state.users.get(name) or state.users.get(fold(name))  # type: ignore[call-overload]
    if user is None or user.away or user in state.by_mode[_REGISTERED_ONLY] or user is sender:
        return None
    return None if session.wants_echo or user.session is None else user
