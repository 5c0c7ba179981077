"""LIST: which channels there are."""

from culture.ircd.core import Ircd
from culture.ircd.elist import narrows_down, read_conditions
from culture.ircd.session import Session
from culture.ircd.targets import require_server
from culture.protocol.line import Line
from culture.protocol.numerics import RPL_LIST, RPL_LISTEND, RPL_LISTSTART


def list_(ircd: Ircd, session: Session, line: Line) -> None:
    words = line.param(0).split(",")
    more = line.param(1).split(",")
    if all(map(narrows_down, more)):
        words += more
    else:
        # RFC 2812 section 3.2.6; modern clients have conditions there.
        require_server(ircd, line.param(1))
    is_wanted = read_conditions(words, ircd.clock())
    ircd.reply(session, RPL_LISTSTART, "Channel", "Users  Name")
    for channel in ircd.state.channels.values():
        if channel.is_visible_to(session.user) and is_wanted(channel):
            text = channel.topic.text if channel.topic else ""
            ircd.reply(session, RPL_LIST, channel.name, str(len(channel.members)), text)
    ircd.reply(session, RPL_LISTEND, "End of /LIST")
