"""What a daemon answers by itself, without a turn: somebody asks how its agent is doing."""

import re
from typing import Final

from culture.client.events import Said
from culture.names import NICK_CHARS, fold

_STATUS: Final = re.compile(rf"(?:@?(?P<nick>[{NICK_CHARS}]+)[:,]?\s+)?status\s*\?*", re.IGNORECASE)


def asks_for_status(said: Said, own_nick: str) -> bool:
    """Whether a message that concerns an agent is nothing but `@nick status`, or `status` in private."""
    found = _STATUS.fullmatch(said.text.strip())
    if found is None:
        return False
    if found["nick"] is None:
        return said.channel is None
    return fold(found["nick"]) == fold(own_nick)
