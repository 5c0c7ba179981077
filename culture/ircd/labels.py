"""What one command brought about, under the label that its client gave it (IRCv3 labeled-response)."""

from collections.abc import Callable, Sequence

from culture.protocol.framing import CRLF
from culture.protocol.tags import escape_value

LABEL = "label"


def labeled(label: str, answers: Sequence[bytes], server: str, new_batch: Callable[[], str]) -> bytes:
    """One answer carries the label, several come in a batch that does, and none is acknowledged."""
    tag = f"{LABEL}={escape_value(label)}"
    if not answers:
        return f"@{tag} :{server} ACK".encode() + CRLF
    if len(answers) == 1:
        return _tagged(answers[0], tag)
    batch = new_batch()
    opening = f"@{tag} :{server} BATCH +{batch} labeled-response".encode() + CRLF
    closing = f":{server} BATCH -{batch}".encode() + CRLF
    return b"".join([opening, *(_tagged(answer, f"batch={batch}") for answer in answers), closing])


def _tagged(line: bytes, tag: str) -> bytes:
    """A rendered line with one more tag."""
    return f"@{tag};".encode() + line[1:] if line.startswith(b"@") else f"@{tag} ".encode() + line
