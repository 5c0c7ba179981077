"""The profiles skill: what accounts have read, and what they publish, outlives the server."""

from collections.abc import Callable, Sequence
from pathlib import Path

from culture.ircd.skills import Happening, Remembered, Skill
from culture.skills.behind import Behind
from culture.store.damage import set_aside_if_damaged
from culture.store.profiles import FILE, Profiles, Published, Read, Renamed


class ProfilesSkill(Skill):
    name = "profiles"
    wants = frozenset({"MARKREAD", "METADATA", "RENAME"})

    def __init__(self, directory: Path, *, report: Callable[[str], None] = lambda text: None) -> None:
        set_aside_if_damaged(directory / FILE, report)
        self._profiles = Profiles(directory)
        self._behind = Behind("what accounts have read and publish", self._profiles.add, report)

    def start(self) -> None:
        self._behind.start()

    def remembered(self) -> Remembered:
        return Remembered(self._profiles.markers(), self._profiles.metadata())

    def observe(self, happened: Sequence[Happening]) -> None:
        self._behind.put([change for each in happened if (change := _change(each)) is not None])

    def close(self) -> None:
        self._behind.close()


def _change(happening: Happening) -> Read | Published | Renamed | None:
    """Nothing of who is not logged in: it ends with the connection."""
    if happening.command == "RENAME":
        return Renamed(happening.target, happening.params[0])
    if happening.account is None:
        return None
    if happening.command == "MARKREAD":
        return Read(happening.account, happening.target, happening.text)
    key, *value = happening.params
    return Published(happening.account, key, value[0] if value else None)
