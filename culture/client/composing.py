"""Turn a text into the lines that send it, in as few messages as the server accepts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from culture.client.splitting import split_fragments, split_text
from culture.protocol.framing import BODY_BYTES
from culture.protocol.line import format_line
from culture.protocol.multiline import BATCH_TAG, CONCAT_TAG, TYPE, Fragment

# How many lines any server takes at once from somebody who was silent until now.
BURST_LINES: Final = 5
# How long it takes until it takes as many again, and the PING behind them: a line each second. Servers that
# are less strict only slow down who is faster; these throw them off.
PAUSE_S: Final = 6.0


class Composed(NamedTuple):
    """A text as lines for the wire, grouped into bursts that belong together."""

    # As readers see them who get one line at a time.
    lines: list[str]
    # What goes to the wire: who waits for the server after each of them is not thrown off for flooding.
    bursts: list[list[str]]
    # How long to wait before the next one.
    pause_s: float


class Limits(NamedTuple):
    """The limits of one multiline message (IRCv3 draft/multiline)."""

    most_bytes: int
    # 0: any number.
    most_lines: int


def parse_limits(value: str) -> Limits:
    """Parse the value of the multiline capability, such as `max-bytes=4096,max-lines=24`."""
    said = {name: number for name, _, number in (word.partition("=") for word in value.split(","))}
    most_bytes, most_lines = said.get("max-bytes", ""), said.get("max-lines", "")
    return Limits(
        max(int(most_bytes), BODY_BYTES) if most_bytes.isdecimal() else BODY_BYTES,
        int(most_lines) if most_lines.isdecimal() else 0,
    )


def compose_lines(command: str, target: str, text: str, room_bytes: int, tags: Mapping[str, str]) -> Composed:
    """Return a text as separate messages of one line each."""
    lines = split_text(text, room_bytes)
    wire = [format_line(command, target, line, tags=tags, trailing=True) for line in lines]
    bursts = [wire[at : at + BURST_LINES] for at in range(0, len(wire), BURST_LINES)]
    return Composed(lines, bursts, PAUSE_S)


def compose_messages(
    command: str,
    target: str,
    text: str,
    room_bytes: int,
    tags: Mapping[str, str],
    limits: Limits,
    references: Iterator[str],
) -> Composed:
    """Return a text as multiline messages. Each message is one burst, however long it is."""
    lines = split_text(text, room_bytes)
    if len(lines) < 2:
        return compose_lines(command, target, text, room_bytes, tags)
    messages = split_fragments(text, room_bytes, *limits)
    batches = [_batch(command, target, each, tags, next(references)) for each in messages]
    return Composed(lines, batches, pause_s=0.0)


def rest_of(burst: list[str], arrived: int) -> list[str]:
    """Return what is left of a burst after this many messages of it. A batch counts as one message."""
    is_batch = burst[-1].startswith("BATCH ")
    return burst[arrived:] if not is_batch else [] if arrived else burst


def _batch(
    command: str, target: str, message: Sequence[Fragment], tags: Mapping[str, str], reference: str
) -> list[str]:
    inside = [
        format_line(command, target, text, tags=_part_of(reference, is_joined=is_joined), trailing=True)
        for text, is_joined in message
    ]
    opening = format_line("BATCH", f"+{reference}", TYPE, target, tags=tags)
    return [opening, *inside, format_line("BATCH", f"-{reference}")]


def _part_of(reference: str, *, is_joined: bool) -> dict[str, str]:
    return {BATCH_TAG: reference, CONCAT_TAG: ""} if is_joined else {BATCH_TAG: reference}
