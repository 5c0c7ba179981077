"""The profiles skill: keep read markers and metadata of accounts across restarts."""

from collections.abc import Callable, Sequence
from pathlib import Path

from culture.ircd.skills import EventRecord, Remembered, Skill
from culture.skills.background_worker import BackgroundWorker
from culture.store.corruption import set_aside_if_damaged
from culture.store.profiles import FILE, MarkerMovedTo, ProfileChannelRenamed, Profiles, Published


class ProfilesSkill(Skill):
    """Stores read markers and metadata in a background thread."""

    name = "profiles"
    wants = frozenset({"MARKREAD", "METADATA", "RENAME"})

    def __init__(self, directory: Path, *, report: Callable[[str], None] = lambda text: None) -> None:
        set_aside_if_damaged(directory / FILE, report)
        self._profiles = Profiles(directory)
        self._behind = BackgroundWorker("what accounts have read and publish", self._profiles.add, report)

    def start(self) -> None:
        self._behind.start()

    def remembered(self) -> Remembered:
        return Remembered(self._profiles.markers(), self._profiles.metadata())

    def observe(self, happened: Sequence[EventRecord]) -> None:
        self._behind.put([change for each in happened if (change := _change(each)) is not None])

    def close(self) -> None:
        self._behind.close()


def _change(happening: EventRecord) -> MarkerMovedTo | Published | ProfileChannelRenamed | None:
    """Return the change to store, or None for a user who is not logged in."""
    if happening.command == "RENAME":
        return ProfileChannelRenamed(happening.target, happening.params[0])
    if happening.account is None:
        return None
    if happening.command == "MARKREAD":
        return MarkerMovedTo(happening.account, happening.target, happening.text)
    key, *value = happening.params
    return Published(happening.account, key, value[0] if value else None)
