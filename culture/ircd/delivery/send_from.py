"""Send a line from a user to a single session, with the tags that the server adds to a user's lines."""

from culture.ircd.delivery.message_lines import BOT_TAG
from culture.ircd.delivery.text import LINE_BYTES, cut
from culture.ircd.model.user import User
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.line import NO_TAGS
from culture.protocol.render import Rendered


def send_from(ircd: Ircd, user: User, reader: Session, line: str) -> None:
    """Send one session a line from a user, tagged with their account and bot mode (account-tag, bot-mode)."""
    tags = {BOT_TAG: ""} if user.is_bot else NO_TAGS
    rendered = Rendered(cut(line, LINE_BYTES), ircd.clock(), tags, account=user.account)
    ircd.delivery.queue(reader, rendered.form(reader.form))
