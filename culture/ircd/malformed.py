"""Reject malformed input: over-long lines, invalid UTF-8, bad grammar."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from culture.ircd.delivery.labels import LABEL
from culture.ircd.delivery.multiline_draft import fail_draft, invalid_batch
from culture.ircd.refusal import sasl_too_long
from culture.protocol.framing import OVERLONG
from culture.protocol.line import Line, MalformedLine, format_line, parse_line
from culture.protocol.numerics import ERR_INPUTTOOLONG

if TYPE_CHECKING:
    from culture.ircd.server import Ircd
    from culture.ircd.session import Session


_INVALID = "\N{REPLACEMENT CHARACTER}"


def refuse_line(ircd: Ircd, session: Session, raw: bytes, error: UnicodeDecodeError | MalformedLine) -> None:
    """Drop a malformed line, tell the client why, and fail the multiline message that it was part of."""
    if not raw.strip(b" "):
        return
    line = _parse_leniently(raw)
    label = line.tags.get(LABEL) if line is not None and session.is_labeling else None
    if label and _INVALID in label:
        label = None
    ircd.attempt(session, label or None, partial(_send_error, ircd, session, raw, line, error))
    if session.draft is not None and not session.draft.is_given_up:
        fail_draft(ircd, session, session.draft, invalid_batch("A line could not be read"))


def _parse_leniently(raw: bytes) -> Line | None:
    text = raw.decode(errors="replace").replace("\0", "").replace("\r", "*")
    with contextlib.suppress(MalformedLine):
        return parse_line(text)
    return None


def _send_error(
    ircd: Ircd, session: Session, raw: bytes, line: Line | None, error: UnicodeDecodeError | MalformedLine
) -> None:
    if raw.endswith(OVERLONG) and session.exchange and line is not None and line.command == "AUTHENTICATE":
        session.exchange = None
        ircd.refuse(session, sasl_too_long())
    elif raw.endswith(OVERLONG):
        ircd.reply(session, ERR_INPUTTOOLONG, "Input line was too long")
    elif isinstance(error, MalformedLine):
        ircd.fail(session, "*", "INVALID_LINE", f"Your line was dropped: {error}")
    else:
        # Clients get FAIL whatever they negotiated, because ISUPPORT announces UTF8ONLY (IRCv3 utf8-only).
        command = line.command if line is not None and line.command in ircd.commands else "*"
        text = "Your line is not UTF-8 and was dropped"
        reply = format_line("FAIL", command, "INVALID_UTF8", text, source=ircd.name, trailing=True)
        ircd.send(session, reply)
