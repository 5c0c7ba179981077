"""A row of the command table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from culture.ircd.session import READY, Phase, Session
from culture.ircd.slices import Steps
from culture.protocol.line import Line

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


@dataclass(frozen=True, slots=True)
class Command:
    """A command: the function to run, its least number of parameters, and the phases that allow it.

    A command that may take long is a generator, which `Slices` runs step by step.
    """

    run: Callable[["Ircd", Session, Line], Steps | None]
    params: int = 0
    phases: tuple[Phase, ...] = READY
