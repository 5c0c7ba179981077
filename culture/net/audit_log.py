"""Write the core's audit notes to the journal."""

import logging
from collections.abc import Iterable
from typing import Final

from culture.ircd.recording.audit import AuditNote
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

_WARNINGS: Final = frozenset({"impersonation-refused", "login-failed", "operator-refused"})


def log_notes(notes: Iterable[AuditNote]) -> None:
    """Log each note with its journal fields."""
    for note in notes:
        level = logging.WARNING if note.kind in _WARNINGS else logging.INFO
        extra = fields(
            note.kind,
            nick=note.nick,
            peer=note.peer,
            account=note.account,
            mechanism=note.mechanism,
            operator=note.operator,
            unix_user=note.unix_user,
        )
        log.log(level, "%s", note.text, extra=extra)
