"""The event log that links read from: watermarks per origin and events that a peer lacks."""

from collections.abc import Mapping, Sequence

from culture.federation.ports import Levels, ReadRequest
from culture.protocol.event_record import EventRecord
from culture.store.history.archive import Archive
from culture.store.history.log import read_log


class HistoryLog:
    """The event log of a server with history."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def holdings(self) -> Mapping[str, Mapping[str, Levels]]:
        return self._archive.holdings()

    def read(self, request: ReadRequest) -> Sequence[EventRecord]:
        origin, after, channels, to, most = request
        with self._archive.reading() as connection:
            return read_log(connection, origin, after, most, channels=channels, to=to)


class NoLog:
    """The empty event log of a server without history."""

    def holdings(self) -> Mapping[str, Mapping[str, Levels]]:
        return {}

    def read(self, request: ReadRequest) -> Sequence[EventRecord]:
        return []
