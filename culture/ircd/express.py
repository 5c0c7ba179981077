"""The short way for the line that is sent most: `PRIVMSG target :text`, with nothing special about it.

Whatever is special in any way takes the way of every command, which does the same for such a line in twice
the time. A test holds the two side by side.
"""

from typing import TYPE_CHECKING, Final

from culture.ircd.channel import Channel
from culture.ircd.session import REGISTERED, Session
from culture.ircd.text import LINE_BYTES
from culture.ircd.user import User, UserMode
from culture.names import fold
from culture.protocol.line import NO_TAGS
from culture.protocol.mentions import may_call as _may_call
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


def say(ircd: "Ircd", session: Session, words: bytes) -> bool:
    """Whether it was said. The words are what stands behind BEGINNING, without the end of the line."""
    if session.phase is not REGISTERED or session.question is not None or session.draft is not None:
        return False
    if len(words) > _SHORT_BYTES or not words.isascii():
        return False
    name, _, text = words.decode().partition(" :")
    sender = session.user
    mask = sender.mask
    state, record = ircd.state, ircd.record
    # Who has a mode is found in less memory than which modes somebody has.
    if not text or not text.isprintable() or sender in state.by_mode[_BOT] or len(mask) > _SHORT_MASK:
        return False
    at = ircd.clock()
    msgid = ""
    target: Channel | User | None
    if name[0:1] == "#":
        # A name that is found as it was typed need not be folded.
        target = state.channels.get(name) or state.channels.get(fold(name))  # type: ignore[call-overload]
        if target is None or sender not in target.members or not target.may_speak(sender):
            return False
        if "@" in text and _may_call(text):
            return False
        msgid = ircd.new_id()
        line = (f":{mask} PRIVMSG {target.name} :{text}", at, NO_TAGS, msgid, sender.account)
        ircd.delivery.say_in(target, _new(Rendered, line), sender)
    else:
        target = state.users.get(name) or state.users.get(fold(name))  # type: ignore[call-overload]
        if target is None or target.away or target in state.by_mode[_REGISTERED_ONLY] or target is sender:
            return False
        if session.wants_echo or (reader := target.session) is None:
            return False
        bare = f":{mask} PRIVMSG {target.nick} :{text}"
        if reader.form or record.is_wanted:
            msgid = ircd.new_id()
        if reader.form:
            data = Rendered(bare, at, NO_TAGS, msgid, sender.account).form(reader.form)
        else:
            data = f"{bare}\r\n".encode()
        ircd.delivery.say_to(reader, data)
    if record.is_wanted:
        record.spoke(sender, "PRIVMSG", target, text, NO_TAGS, None, msgid, at)
    session.heard_at, session.ping_sent_at, sender.spoke_at = ircd.timer(), None, at
    return True
