"""Where somebody searches: in one place, or in all that they may read."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from culture.ircd.failures import Failure
from culture.ircd.skills import Asker
from culture.names import SIGNS, fold
from culture.skills.history.rights import channel_view, conversation_view, readable
from culture.store.history.reading import Recorded, View, conversations, place_names

EVERYWHERE: Final = "*"


@dataclass(slots=True)
class Scope:
    connection: sqlite3.Connection
    asker: Asker
    places: Sequence[int] | None
    """None: anywhere."""
    _names: dict[int, str] = field(default_factory=dict)
    _views: dict[int, View | None] = field(default_factory=dict)

    def add(self, view: View, name: str) -> None:
        self._views[view.place], self._names[view.place] = view, name

    def readable(self, rows: Iterable[Recorded]) -> list[Recorded]:
        return [row for row in rows if self._may_read(row)]

    def name_of(self, row: Recorded) -> str:
        """The channel, or who was talked with."""
        return self._names[row.place]

    def _may_read(self, row: Recorded) -> bool:
        if row.place not in self._views:
            name = place_names(self.connection, [row.place])[row.place]
            self._names[row.place] = name
            # Of a conversation that they took part in they would have a view; what is for operators is not
            # found by those who search everywhere.
            is_open = bool(name) and name[0] not in SIGNS
            self._views[row.place] = (
                channel_view(self.connection, self.asker, row.place, fold(name)) if is_open else None
            )
        view = self._views[row.place]
        return view is not None and view.shows(row)


def search_scope(connection: sqlite3.Connection, asker: Asker, target: str) -> Scope:
    """`*` is everywhere. Raises Failure for what may not be read."""
    if target == EVERYWHERE:
        scope = Scope(connection, asker, None)
        for talk in conversations(connection, asker.ends):
            scope.add(conversation_view(asker, talk), talk.nick)
        return scope
    what = readable(connection, asker, target)
    if what is None:
        raise Failure("INVALID_TARGET", target, text="You cannot read that")
    scope = Scope(connection, asker, [view.place for view in what.views])
    for view in what.views:
        scope.add(view, what.name)
    return scope
