"""Where an agent is, also after a restart: in which channels, and in which directory."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from culture.names import fold
from culture.store.agent.file import AgentFile

_CHANNELS: Final = "channels"
_DIRECTORY: Final = "directory"


class SavedLocation:
    """What is configured, and where the agent went since; `is_fresh` forgets the latter."""

    def __init__(self, file: AgentFile, channels: Iterable[str], directory: Path, *, is_fresh: bool) -> None:
        self._file = file
        if is_fresh:
            file.keep(_CHANNELS, "")
            file.keep(_DIRECTORY, "")
        configured = list(dict.fromkeys(channels))
        self._configured = set(map(fold, configured))
        self.channels = configured + self._beyond_those_configured(file.kept(_CHANNELS).splitlines())
        self.directory = Path(file.kept(_DIRECTORY) or directory)

    def joined(self, channel: str) -> None:
        self._keep_channels([*self._without(channel), channel])

    def left(self, channel: str) -> None:
        self._keep_channels(self._without(channel))

    def moved(self, directory: Path) -> None:
        self._file.keep(_DIRECTORY, str(directory))
        self.directory = directory

    def _without(self, channel: str) -> list[str]:
        return [name for name in self.channels if fold(name) != fold(channel)]

    def _beyond_those_configured(self, channels: Iterable[str]) -> list[str]:
        return [name for name in channels if fold(name) not in self._configured]

    def _keep_channels(self, channels: list[str]) -> None:
        # Of the others the next configuration decides.
        self._file.keep(_CHANNELS, "\n".join(self._beyond_those_configured(channels)))
        self.channels = channels
