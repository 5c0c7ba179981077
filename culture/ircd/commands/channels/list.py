"""LIST: list the channels."""

from culture.ircd.commands.channels.elist import narrows_down, read_conditions
from culture.ircd.commands.targets import check_number, require_server
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.slices import Steps
from culture.protocol.line import Line
from culture.protocol.numerics import RPL_LIST, RPL_LISTEND, RPL_LISTSTART


def list_(ircd: Ircd, session: Session, line: Line) -> Steps:
    """List the visible channels that match the conditions."""
    words = line.param(0).split(",")
    more = line.param(1).split(",")
    if all(map(narrows_down, more)):
        words += more
    else:
        # RFC 2812 section 3.2.6 has a server here; modern clients send conditions.
        require_server(ircd, line.param(1))
    check_number("LIST", words, ircd.limits)
    is_wanted = read_conditions(words, ircd.clock())
    ircd.reply(session, RPL_LISTSTART, "Channel", "Users  Name")
    for channel in list(ircd.state.channels.values()):
        # The channel may have become empty since the last step.
        if channel.members and channel.is_visible_to(session.user) and is_wanted(channel):
            text = channel.topic.text if channel.topic else ""
            ircd.reply(session, RPL_LIST, channel.name, str(len(channel.members)), text)
        yield
    ircd.reply(session, RPL_LISTEND, "End of /LIST")
