"""How a message reads on the wire, and who reads it."""

from collections.abc import Collection, Mapping

from culture.ircd.channel import PREFIXES, Channel
from culture.ircd.events import Said
from culture.ircd.user import User
from culture.protocol.mentions import TAG as MENTIONS_TAG
from culture.protocol.multiline import Message, RenderedLines
from culture.protocol.render import Rendered

BOT_TAG = "bot"
"""On everything that comes from a bot (IRCv3 bot-mode)."""


def spoken(event: Said, msgid: str, at: float) -> Message:
    sender, command, target, text, _, _, to, fragments = event
    tags = tags_of(event)
    name = target.name if isinstance(target, Channel) else target.nick
    if to is not None:
        name = PREFIXES[to] + name
    if command == "TAGMSG":
        return Rendered(f":{sender.mask} TAGMSG {name}", at, tags, msgid, sender.account)
    if fragments:
        head = f":{sender.mask} {command} {name} :"
        return RenderedLines(head, fragments, at, tags, msgid, sender.account)
    # The text was made to fit when it was said.
    return Rendered(f":{sender.mask} {command} {name} :{text}", at, tags, msgid, sender.account)


def tags_of(event: Said) -> Mapping[str, str]:
    """What its sender set, and what the server says of it."""
    tags = event.tags
    if event.mentioned:
        tags = {MENTIONS_TAG: ",".join(user.nick for user in event.mentioned), **tags}
    if event.sender.modes and event.sender.is_bot:
        tags = {BOT_TAG: "", **tags}
    return tags


def hearers(event: Said) -> Collection[User] | None:
    """Who is to read it; none where that is exactly the members of the channel. Its sender gets an echo."""
    sender, target = event.sender, event.target
    if not isinstance(target, Channel):
        return (target,)
    if event.to is not None:
        return target.at_least(event.to) - {sender}
    if event.command == "TAGMSG" or sender not in target.members:
        return target.members.keys() - {sender}
    return None
