"""agents.yaml as it is now: read again when it changes."""

import logging
import os
from pathlib import Path

from culture.config import loader
from culture.config.agents import AgentsConfig
from culture.errors import CultureError

log = logging.getLogger(__name__)


class LiveConfig:
    """Returns the configuration; if a new version has mistakes, the last one without stays in force."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._stamp_now()
        self._config = loader.load(path, AgentsConfig)

    def __call__(self) -> AgentsConfig:
        """Return the configuration. Looking whether it changed takes some microseconds."""
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._config = loader.load(self._path, AgentsConfig)
                log.info("reloaded '%s'", self._path)
            except CultureError as error:
                log.warning("keeping the old budgets: %s", error)
        return self._config

    def _stamp_now(self) -> tuple[int, int, int]:
        try:
            status = os.stat(self._path)
        except OSError:
            return (0, 0, 0)
        return (status.st_mtime_ns, status.st_size, status.st_ino)
