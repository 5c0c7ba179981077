"""Keep halts in a file of the state directory, so that they survive restarts of the server and the host."""

import json
import logging
import os
from pathlib import Path
from typing import Final

from culture.ircd.authority.halts import Halt, HaltScope
from culture.ircd.replication.stamps import Stamp
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

FILE: Final = "halt.json"


class HaltFile:
    """Implements `culture.ircd.authority.halts.HaltKeeper`."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE

    def load(self) -> dict[HaltScope, Halt]:
        """Return the halts of the last run. A file that cannot be read halts this host, to be safe."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except OSError as error:
            return self._halted_because(str(error.strerror))
        try:
            return {HaltScope(scope): _halt_of(values) for scope, values in json.loads(text).items()}
        except (ValueError, TypeError, AttributeError):
            return self._halted_because("it is damaged")

    def save(self, halts: dict[HaltScope, Halt]) -> None:
        """Write the halts to the disk, and log them."""
        values = {
            scope: [halt.is_on, *halt.stamp, halt.by, halt.why] for scope, halt in halts.items() if halt.by
        }
        latest = max(halts.items(), key=lambda item: item[1].stamp)
        self._log(*latest)
        new = self._path.with_suffix(".new")
        try:
            with new.open("w", encoding="utf-8") as file:
                json.dump(values, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            log.error(
                "the halt will not survive a restart: cannot write '%s': %s", self._path, error.strerror
            )

    def _log(self, scope: HaltScope, halt: Halt) -> None:
        where = "all linked hosts" if scope is HaltScope.MESH else "this host"
        what = "agents of %s are halted by %s" if halt.is_on else "the halt of agents of %s was ended by %s"
        log.warning(what, where, halt.by, extra=fields("halted" if halt.is_on else "unhalted"))

    def _halted_because(self, why: str) -> dict[HaltScope, Halt]:
        log.error("agents are halted, because '%s' cannot be read: %s", self._path, why)
        return {HaltScope.HOST: Halt(True, Stamp(1, ""), "culture-ircd", f"cannot read {FILE}")}


def _halt_of(values: list[object]) -> Halt:
    is_on, at_ms, host, by, why = values
    if not isinstance(is_on, bool) or not isinstance(at_ms, int):
        raise ValueError("not a halt")
    return Halt(is_on, Stamp(at_ms, str(host)), str(by), str(why))
