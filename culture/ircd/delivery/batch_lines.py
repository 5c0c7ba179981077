"""Wrap rendered lines in a batch (IRCv3 batch)."""

from collections.abc import Iterable

from culture.protocol.framing import CRLF


def wrap_in_batch(pieces: Iterable[bytes], reference: str, kind: str, server: str) -> bytes:
    """Return a batch of all lines in the pieces. `kind` is the batch type with its parameters.

    A piece may itself be a batch; its lines keep their own reference.
    """
    opening = f":{server} BATCH +{reference} {kind}".encode() + CRLF
    closing = f":{server} BATCH -{reference}".encode() + CRLF
    tag = f"batch={reference}"
    lines = [line for piece in pieces for line in piece.splitlines(keepends=True)]
    return b"".join([opening, *(line if _is_inside(line) else add_tag(line, tag) for line in lines), closing])


def add_tag(line: bytes, tag: str) -> bytes:
    """Add a tag to a rendered line, or to the first of several lines."""
    return f"@{tag};".encode() + line[1:] if line.startswith(b"@") else f"@{tag} ".encode() + line


def _is_inside(line: bytes) -> bool:
    """Return whether a line has a batch reference. The BATCH lines of a nested batch have none."""
    tags = line[1:].partition(b" ")[0].split(b";") if line.startswith(b"@") else []
    return any(tag.startswith(b"batch=") for tag in tags)
