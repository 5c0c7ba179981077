"""The short way for the line that is sent most: `PRIVMSG target :text`, with nothing special about it.

Whatever is special in any way takes the way of every command, which does the same for such a line in twice
the time. A test holds the two side by side.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from culture.ircd.channel import Channel
from culture.ircd.session import REGISTERED, Session
from culture.ircd.text import LINE_BYTES
from culture.ircd.user import User, UserMode
from culture.names import fold
from culture.protocol.framing import CRLF
from culture.protocol.line import NO_TAGS
from culture.protocol.mentions import find_mentions
from culture.protocol.render import Rendered

if TYPE_CHECKING:
    from culture.ircd.core import Ircd

MOST_BYTES: Final = 16383
"""That may come at once. With more the others have their turn in between."""

_BEGINNING: Final = b"PRIVMSG "
_SKIP: Final = len(_BEGINNING)
_BETWEEN: Final = (CRLF + _BEGINNING).decode()
_SHORT_BYTES: Final = LINE_BYTES // 2
_SHORT_MASK: Final = LINE_BYTES - _SHORT_BYTES - len(": ") - _SKIP
"""Words and a mask of these sizes fit in a line together, whatever they hold."""

_BOT: Final = UserMode.BOT
_REGISTERED_ONLY: Final = UserMode.REGISTERED_ONLY

_new = tuple.__new__

Key = TypeVar("Key")


class SayingError(Exception):
    """A bug that the words of one session brought out."""

    def __init__(self, key: Any, session: Session) -> None:
        super().__init__(session.peer)
        self.key, self.session = key, session


def say(
    ircd: "Ircd", arrivals: Iterable[tuple[Key, Session | None, bytes | None]]
) -> tuple[Key, bytes | None] | None:
    """Say what plain messages arrived, up to the first arrival of which something else is left.

    An arrival is bytes of a session that begin with a line. Told are whose key it is, and what is left of it:
    None if it was said, and enough has happened to be written down first. None alone: all was said.

    One call for all that came at a time: what is asked once for all of them is a third of what each costs.
    """
    state, record, delivery, new_id = ircd.state, ircd.record, ircd.delivery, ircd.new_id
    bots = state.by_mode[_BOT]
    at, heard_at = ircd.clock(), ircd.timer()
    session: Session | None = None
    said_in_all = 0
    try:
        for key, session, data in arrivals:
            if (
                session is None
                or not data
                or not data.startswith(_BEGINNING)
                or not data.endswith(CRLF)
                or not data.isascii()
                or len(data) > MOST_BYTES
                or session.phase is not REGISTERED
                or session.question is not None
                or session.draft is not None
            ):
                return key, data
            sender = session.user
            mask = sender.mask
            # Who has a mode is found in less memory than which modes somebody has.
            if len(mask) > _SHORT_MASK or sender in bots:
                return key, data
            lines = data[_SKIP:-2].decode().split(_BETWEEN)
            if session.credit < len(lines):
                return key, data
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
                    if "@" in text and find_mentions(text, state.users.get):
                        break
                    msgid = new_id()
                    values = (f":{mask} PRIVMSG {target.name} :{text}", at, NO_TAGS, msgid, sender.account)
                    delivery.say_in(target, _new(Rendered, values), sender)
                elif (reader := target.session) is not None:
                    form = reader.form
                    if form or record.is_wanted:
                        msgid = new_id()
                    if form:
                        line = f":{mask} PRIVMSG {target.nick} :{text}"
                        spoken = Rendered(line, at, NO_TAGS, msgid, sender.account).form(form)
                    else:
                        spoken = f":{mask} PRIVMSG {target.nick} :{text}\r\n".encode()
                    delivery.say_to(reader, spoken)
                if record.is_wanted:
                    record.spoke(sender, "PRIVMSG", target, text, NO_TAGS, None, msgid, at)
                said += 1
            if not said:
                return key, data
            said_in_all += said
            session.credit -= said
            session.heard_at, session.ping_sent_at, sender.spoke_at = heard_at, None, at
            if said < len(lines):
                return key, _BEGINNING + _BETWEEN.join(lines[said:]).encode() + CRLF
            if said > 1 and record.is_full:
                return key, None
    except Exception as error:
        if session is None:
            raise
        raise SayingError(key, session) from error
    finally:
        ircd.heard["PRIVMSG"] += said_in_all
    return None


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
