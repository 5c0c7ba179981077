"""The scope of a search: one place, or everything that the asker may read."""

import itertools
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from culture.ircd.failures import Failure
from culture.ircd.skills import Asker
from culture.names import SIGNS, fold
from culture.skills.history.rights import Readable, channel_view, conversation_view, readable
from culture.store.history.reading import Hit, Recorded, View, conversations, place_names, rows_of

EVERYWHERE: Final = "*"
_NOTHING: Final = Readable("", ())


@dataclass(slots=True)
class Scope:
    """The places to search and the asker's views of them."""

    connection: sqlite3.Connection
    asker: Asker
    # None: anywhere.
    places: Sequence[int] | None
    _names: dict[int, str] = field(default_factory=dict)
    _views: dict[int, View | None] = field(default_factory=dict)

    def add(self, what: Readable) -> None:
        for view in what.views:
            self._views[view.place], self._names[view.place] = view, what.name

    def first_readable(self, hits: Iterable[Hit], most: int) -> list[Recorded]:
        """Return the first `most` readable hits as rows, in the same order, without checking the rest."""
        numbers = (hit.number for hit in hits if self._may_read(hit))
        return rows_of(self.connection, list(itertools.islice(numbers, most)))

    def name_of(self, row: Recorded) -> str:
        """Return the channel, or the nick of the other party."""
        return self._names[row.place]

    def _may_read(self, hit: Hit) -> bool:
        if hit.place not in self._views:
            if not hit.is_public:
                # The asker has a view of every place with readable private messages.
                return False
            name = place_names(self.connection, [hit.place])[hit.place]
            self._names[hit.place] = name
            # Searches everywhere do not include `@#channel`.
            is_open = bool(name) and name[0] not in SIGNS
            self._views[hit.place] = (
                channel_view(self.connection, self.asker, hit.place, fold(name)) if is_open else None
            )
        view = self._views[hit.place]
        return view is not None and view.shows(hit)


def search_scope(connection: sqlite3.Connection, asker: Asker, target: str) -> Scope:
    """Return the scope for a target; `*` is everywhere. Raise Failure if it may not be read."""
    if target == EVERYWHERE:
        scope = Scope(connection, asker, None)
        for talk in conversations(connection, asker.parties):
            scope.add(Readable(talk.nick, [conversation_view(talk)]))
        for key in asker.channels:
            scope.add(readable(connection, asker, key) or _NOTHING)
        return scope
    what = readable(connection, asker, target)
    if what is None:
        raise Failure("INVALID_TARGET", target, text="You cannot read that")
    scope = Scope(connection, asker, [view.place for view in what.views])
    scope.add(what)
    return scope
