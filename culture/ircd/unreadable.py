"""Lines that are none: too long, not UTF-8, or against the grammar."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from culture.ircd.draft import fail, invalid
from culture.ircd.labels import LABEL
from culture.protocol.framing import OVERLONG
from culture.protocol.line import Line, MalformedLine, format_line, parse_line
from culture.protocol.numerics import ERR_INPUTTOOLONG

if TYPE_CHECKING:
    from culture.ircd.core import Ircd
    from culture.ircd.session import Session


_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


def refuse_line(ircd: Ircd, session: Session, raw: bytes, error: UnicodeDecodeError | MalformedLine) -> None:
    """It does nothing, and a message of several lines of which it is a part is not sent without it."""
    if not raw.strip(b" "):
        return
    line = _as_far_as_read(raw)
    label = line.tags.get(LABEL) if line is not None and session.is_labeling else None
    if label and _UNREADABLE in label:
        label = None
    ircd.attempt(session, label or None, partial(_tell, ircd, session, raw, line, error))
    if session.draft is not None and not session.draft.is_given_up:
        fail(ircd, session, session.draft, invalid("A line could not be read"))


def _as_far_as_read(raw: bytes) -> Line | None:
    text = raw.decode(errors="replace").replace("\0", "").replace("\r", "*")
    with contextlib.suppress(MalformedLine):
        return parse_line(text)
    return None


def _tell(
    ircd: Ircd, session: Session, raw: bytes, line: Line | None, error: UnicodeDecodeError | MalformedLine
) -> None:
    if raw.endswith(OVERLONG):
        ircd.reply(session, ERR_INPUTTOOLONG, "Input line was too long")
    elif isinstance(error, MalformedLine):
        ircd.fail(session, "*", "INVALID_LINE", f"Your line was dropped: {error}")
    else:
        # Of which command, and whatever was negotiated: ISUPPORT announces it (IRCv3 utf8-only).
        command = line.command if line is not None and line.command in ircd.commands else "*"
        text = "Your line is not UTF-8 and was dropped"
        told = format_line("FAIL", command, "INVALID_UTF8", text, source=ircd.name, trailing=True)
        ircd.send(session, told)
