"""Lines that belong together, between the two that say so (IRCv3 batch)."""

from collections.abc import Iterable

from culture.protocol.framing import CRLF


def batched(pieces: Iterable[bytes], reference: str, kind: str, server: str) -> bytes:
    """All of it in one piece. `kind` is the type with its parameters; a piece may be a batch itself."""
    opening = f":{server} BATCH +{reference} {kind}".encode() + CRLF
    closing = f":{server} BATCH -{reference}".encode() + CRLF
    tag = f"batch={reference}"
    lines = [line for piece in pieces for line in piece.splitlines(keepends=True)]
    return b"".join([opening, *(line if _is_inside(line) else tagged(line, tag) for line in lines), closing])


def tagged(line: bytes, tag: str) -> bytes:
    """A rendered line with one more tag; of several, the first has it."""
    return f"@{tag};".encode() + line[1:] if line.startswith(b"@") else f"@{tag} ".encode() + line


def _is_inside(line: bytes) -> bool:
    """Whether a line is in a batch already. Its start and end are not, and refer to the one around it."""
    tags = line[1:].partition(b" ")[0].split(b";") if line.startswith(b"@") else []
    return any(tag.startswith(b"batch=") for tag in tags)
