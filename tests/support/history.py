"""A network with the history skill, on a directory of the test."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from culture.ircd.skills import Skill, Skills
from culture.skills.history.skill import History
from culture.store.history.archive import Archive
from support.network import Network


class Remembering(Network):
    def __init__(self, skill: History, *others: Skill, **config: object) -> None:
        super().__init__(skills=Skills([skill, *others]), **config)
        self.history = skill


@contextlib.contextmanager
def remembering(directory: Path, *others: Skill, **config: object) -> Iterator[Remembering]:
    network = Remembering(History(Archive(directory), "spark"), *others, **config)
    try:
        yield network
    finally:
        network.ircd.skills.close()
