"""Fast path for the most frequent line: a plain `PRIVMSG target :text`.

Every line that is special in any way goes through the command dispatcher, which takes twice the time for a
plain line. A test sends the same lines both ways and compares what every client reads and what is recorded.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from culture.ircd.delivery.text import LINE_BYTES
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User, UserMode
from culture.ircd.session import REGISTERED, Session
from culture.names import fold
from culture.protocol.framing import CRLF
from culture.protocol.line import NO_TAGS
from culture.protocol.mentions import find_mentions, may_call
from culture.protocol.render import Rendered

if TYPE_CHECKING:
    from culture.ircd.server import Ircd

# Longer input goes through the dispatcher, so that other connections get their turn in between.
MAX_INPUT_BYTES: Final = 16383

_PREFIX: Final = b"PRIVMSG "
_PREFIX_BYTES: Final = len(_PREFIX)
_SEPARATOR: Final = (CRLF + _PREFIX).decode()
_SHORT_BYTES: Final = LINE_BYTES // 2
# A mask and a line of at most these sizes always fit in one rendered line.
_SHORT_MASK: Final = LINE_BYTES - _SHORT_BYTES - len(": ") - _PREFIX_BYTES

_BOT: Final = UserMode.BOT
_REGISTERED_ONLY: Final = UserMode.REGISTERED_ONLY

_new = tuple.__new__

Key = TypeVar("Key")


class FastPathError(Exception):
    """An unexpected error while the messages of one session were delivered."""

    def __init__(self, key: Any, session: Session) -> None:
        super().__init__(session.peer)
        self.key, self.session = key, session


def deliver_plain_messages(
    ircd: "Ircd", arrivals: Iterable[tuple[Key, Session | None, bytes | None]]
) -> tuple[Key, bytes | None] | None:
    """Deliver plain messages, and stop at the first arrival that the dispatcher has to handle.

    An arrival is the input of a session, which begins at the start of a line. Return the key of the arrival
    to stop at and its undelivered rest; the rest is None if the arrival was delivered and the record buffer
    is full. Return None if all arrivals were delivered.

    One call takes all arrivals of a loop tick: the lookups that they share are a third of the cost of each.
    """
    state, record, delivery, new_id = ircd.state, ircd.record, ircd.delivery, ircd.new_id
    bots, agents = state.by_mode[_BOT], state.agents
    at, heard_at = ircd.clock(), ircd.timer()
    session: Session | None = None
    delivered_total = 0
    try:
        for key, session, data in arrivals:
            if (
                session is None
                or not data
                or not data.startswith(_PREFIX)
                or not data.endswith(CRLF)
                or not data.isascii()
                or len(data) > MAX_INPUT_BYTES
                or session.phase is not REGISTERED
                or session.question is not None
                or session.draft is not None
            ):
                return key, data
            sender = session.user
            mask = sender.mask
            # Looking up the sender in the set of agents touches less memory than reading their modes.
            if len(mask) > _SHORT_MASK or sender in agents:
                return key, data
            lines = data[_PREFIX_BYTES:-2].decode().split(_SEPARATOR)
            if session.credit < len(lines):
                return key, data
            delivered, target_name = 0, ""
            target: Channel | User | None = None
            for line in lines:
                name, _, text = line.partition(" :")
                if not text or len(line) > _SHORT_BYTES or not text.isprintable():
                    break
                if name != target_name:
                    # Plain messages do not change who may speak, so one check serves all to a target.
                    target, target_name = _eligible_target(ircd, session, name), name
                if target is None:
                    break
                msgid = ""
                if isinstance(target, Channel):
                    if may_call(text) and (bots or find_mentions(text, state.users.get)):
                        # The sender may also have misspelled an agent's nick.
                        break
                    msgid = new_id()
                    values = (f":{mask} PRIVMSG {target.name} :{text}", at, NO_TAGS, msgid, sender.account)
                    delivery.deliver_to_channel(target, _new(Rendered, values), sender)
                elif (reader := target.session) is not None:
                    form = reader.form
                    if form or record.is_wanted:
                        msgid = new_id()
                    if form:
                        line = f":{mask} PRIVMSG {target.nick} :{text}"
                        line_bytes = Rendered(line, at, NO_TAGS, msgid, sender.account).form(form)
                    else:
                        line_bytes = f":{mask} PRIVMSG {target.nick} :{text}\r\n".encode()
                    delivery.deliver_to_session(reader, line_bytes)
                if record.is_wanted:
                    record.add_message(sender, "PRIVMSG", target, text, NO_TAGS, None, msgid, at)
                delivered += 1
            if not delivered:
                return key, data
            delivered_total += delivered
            session.credit -= delivered
            session.heard_at, session.ping_sent_at, sender.spoke_at = heard_at, None, at
            if delivered < len(lines):
                return key, _PREFIX + _SEPARATOR.join(lines[delivered:]).encode() + CRLF
            if delivered > 1 and record.is_full:
                return key, None
    except Exception as error:
        if session is None:
            raise
        raise FastPathError(key, session) from error
    finally:
        ircd.command_counts["PRIVMSG"] += delivered_total
    return None


def _eligible_target(ircd: "Ircd", session: Session, name: str) -> Channel | User | None:
    """Return the target if the sender may speak there and a message needs no further reply, else None."""
    sender, state = session.user, ircd.state
    # Try the name as typed first: folding is needed only for names in another case.
    if name[0:1] == "#":
        channel = state.channels.get(name) or state.channels.get(fold(name))  # type: ignore[call-overload]
        if channel is None or sender not in channel.members or not channel.may_speak(sender):
            return None
        # Messages that agents read say who sent them, where that is proved.
        return None if state.agents and channel.has_agents else channel
    user: User | None
    user = state.users.get(name) or state.users.get(fold(name))  # type: ignore[call-overload]
    if user is None or user.away or user in state.by_mode[_REGISTERED_ONLY] or user is sender:
        return None
    if user in state.agents:
        return None
    return None if session.wants_echo or user.session is None else user
