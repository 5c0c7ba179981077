"""History as other hosts need it: what is held of each origin, and what each of them lacks."""

from collections.abc import Mapping, Sequence

from culture.federation.ports import Levels, ReadRequest
from culture.protocol.happening import Happening
from culture.store.history.archive import Archive
from culture.store.history.log import read_log


class HistoryLog:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def holdings(self) -> Mapping[str, Mapping[str, Levels]]:
        return self._archive.holdings()

    def read(self, request: ReadRequest) -> Sequence[Happening]:
        origin, after, channels, to, most = request
        with self._archive.reading() as connection:
            return read_log(connection, origin, after, most, channels=channels, to=to)


class NoLog:
    """Where nothing is remembered, other hosts get only what they are there for."""

    def holdings(self) -> Mapping[str, Mapping[str, Levels]]:
        return {}

    def read(self, request: ReadRequest) -> Sequence[Happening]:
        return []
