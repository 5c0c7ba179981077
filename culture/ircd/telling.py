"""A line from somebody to one reader alone, with what the server says of them on all that they send."""

from culture.ircd.core import Ircd
from culture.ircd.session import Session
from culture.ircd.spoken import BOT_TAG
from culture.ircd.text import LINE_BYTES, cut
from culture.ircd.user import User
from culture.protocol.line import NO_TAGS
from culture.protocol.render import Rendered


def send_from(ircd: Ircd, user: User, reader: Session, line: str) -> None:
    """Who is logged in and who is a bot can be told from every line (IRCv3 account-tag and bot-mode)."""
    tags = {BOT_TAG: ""} if user.is_bot else NO_TAGS
    rendered = Rendered(cut(line, LINE_BYTES), ircd.clock(), tags, account=user.account)
    ircd.delivery.queue(reader, rendered.form(reader.form))
