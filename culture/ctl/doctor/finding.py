"""What `culturectl doctor` finds, and where it looks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from culture.config.agents import AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.ctl.systemctl import Unit


class Finding(NamedTuple):
    """One thing that was looked at, and the command that mends it."""

    subject: str
    # problem: something does not work. warning: something will not work, or not as people expect.
    state: Literal["ok", "warning", "problem"]
    what: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """A host as its files and systemd describe it."""

    # None where a file has mistakes.
    ircd: IrcdConfig | None
    agents: AgentsConfig | None
    # By name; None where systemd does not run.
    units: dict[str, Unit] | None
    state_dir: Path
    # The directory below which files are looked for, for tests.
    root: Path = Path("/")


Check = Callable[[Patient], Iterable[Finding]]
