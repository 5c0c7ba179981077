"""What one command brought about, under the label that its client gave it (IRCv3 labeled-response)."""

from collections.abc import Callable, Sequence

from culture.ircd.batched import batched, tagged
from culture.protocol.framing import CRLF
from culture.protocol.tags import escape_value

LABEL = "label"


def labeled(label: str, answers: Sequence[bytes], server: str, new_batch: Callable[[], str]) -> bytes:
    """One answer carries the label, several come in a batch that does, and none is acknowledged."""
    tag = f"{LABEL}={escape_value(label)}"
    if not answers:
        return f"@{tag} :{server} ACK".encode() + CRLF
    if len(answers) == 1:
        return tagged(answers[0], tag)
    return tagged(batched(answers, new_batch(), "labeled-response", server), tag)
