"""Attach a client's label to the replies to its command (IRCv3 labeled-response)."""

from collections.abc import Callable, Sequence

from culture.ircd.delivery.batch_lines import add_tag, wrap_in_batch
from culture.protocol.framing import CRLF
from culture.protocol.tags import escape_value

LABEL = "label"


def label_replies(label: str, answers: Sequence[bytes], server: str, new_batch: Callable[[], str]) -> bytes:
    """Return the replies with the label: on a single reply, on a batch of several, or on an ACK if none."""
    tag = f"{LABEL}={escape_value(label)}"
    if not answers:
        return f"@{tag} :{server} ACK".encode() + CRLF
    if len(answers) == 1:
        return add_tag(answers[0], tag)
    return add_tag(wrap_in_batch(answers, new_batch(), "labeled-response", server), tag)
