"""Render messages, and choose who receives them."""

from collections.abc import Collection, Mapping

from culture.ircd.events import Said
from culture.ircd.model.channel import PREFIXES, Channel
from culture.ircd.model.user import User
from culture.protocol.mentions import TAG as MENTIONS_TAG
from culture.protocol.multiline import Message, RenderedLines
from culture.protocol.render import Rendered

# The tag on every line from a bot (IRCv3 bot-mode).
BOT_TAG = "bot"


def render_message(event: Said, msgid: str, at: float) -> Message:
    """Return a message ready to be encoded in the form of each reader."""
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
    # The sender's command handler has already cut the text to fit.
    return Rendered(f":{sender.mask} {command} {name} :{text}", at, tags, msgid, sender.account)


def tags_of(event: Said) -> Mapping[str, str]:
    """Return the sender's tags with those that the server adds."""
    tags = event.tags
    if event.mentioned:
        tags = {MENTIONS_TAG: ",".join(user.nick for user in event.mentioned), **tags}
    if event.sender.modes and event.sender.is_bot:
        tags = {BOT_TAG: "", **tags}
    return tags


def recipients_of(event: Said) -> Collection[User] | None:
    """Return who receives a message besides the sender's echo.

    None means all members of the channel except the sender.
    """
    sender, target = event.sender, event.target
    if not isinstance(target, Channel):
        return (target,)
    if event.to is not None:
        return target.at_least(event.to) - {sender}
    if event.command == "TAGMSG" or sender not in target.members:
        return target.members.keys() - {sender}
    return None
