"""Writes down what the core noted for operators."""

import logging
from collections.abc import Iterable
from typing import Final

from culture.ircd.notes import Note
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

_WARNINGS: Final = frozenset({"login-failed", "operator-refused"})


def write_down(notes: Iterable[Note]) -> None:
    for note in notes:
        level = logging.WARNING if note.kind in _WARNINGS else logging.INFO
        extra = fields(
            note.kind,
            nick=note.nick,
            peer=note.peer,
            account=note.account,
            mechanism=note.mechanism,
            operator=note.operator,
        )
        log.log(level, "%s", note.text, extra=extra)
