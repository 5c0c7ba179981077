"""Tell people and agents apart: the tags that a server adds to messages, and the kinds of senders."""

from enum import StrEnum
from typing import Final

# On a message: what the server can prove about its sender, `person` or `agent`. Clients cannot send it,
# because it does not begin with a plus sign.
SENDER_TAG: Final = "agentirc.dev/sender"
# On a message of an agent: how often one agent took over from another since a person last spoke there.
HOPS_TAG: Final = "agentirc.dev/hops"


class SenderKind(StrEnum):
    """Who is behind a user. The value is that of SENDER_TAG."""

    # Nothing is proved: a guest on an open server, or a bot that only says so itself (mode B).
    UNKNOWN = ""
    PERSON = "person"
    AGENT = "agent"
