"""Whether something said concerns an agent, so that it is worth a turn. Everything else costs nothing."""

from enum import Enum, auto

from culture.client.events import Said
from culture.names import fold
from culture.protocol.mentions import is_mentioned

_CTCP = "\x01"
ACTION = _CTCP + "ACTION "


class Concern(Enum):
    MENTION = auto()
    DIRECT = auto()


def concern_of(said: Said, own_nick: str) -> Concern | None:
    """Why an agent must look at this, or None.

    A NOTICE never starts a turn, whoever sends it: programs do not answer notices (RFC 2812 section
    3.3.2), which is what keeps two of them from talking to each other without end.
    """
    if said.is_notice or said.is_from_server or fold(said.sender) == fold(own_nick):
        return None
    # Clients ask each other for versions and times by CTCP, unseen by people. Only /me is speech.
    if said.text.startswith(_CTCP) and not said.text.startswith(ACTION):
        return None
    if said.channel is None:
        return Concern.DIRECT
    return Concern.MENTION if _is_called(said, own_nick) else None


def _is_called(said: Said, own_nick: str) -> bool:
    """The server knows better than the text, where it says: it has seen who has which nick."""
    if said.mentions is None:
        return is_mentioned(said.text, own_nick)
    return fold(own_nick) in map(fold, said.mentions)
