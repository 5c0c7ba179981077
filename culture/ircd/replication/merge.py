"""Merge channel changes from other hosts: last-writer-wins, by stamp.

Changes may arrive in any order and repeatedly; one with an older stamp than the known one has no effect.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from culture.ircd.delivery.queue import DeliveryQueue
from culture.ircd.delivery.text import room_behind
from culture.ircd.events import MetadataChanged, ModesChanged, TopicChanged
from culture.ircd.model.ban_lists import MASK_LISTS, MaskEntry, MaskList
from culture.ircd.model.channel import FIRST_FLAGS, FLAGS, Channel, Flag, Setting, Status, Topic
from culture.ircd.model.modes import MOST_PARAMETERS, Effective
from culture.ircd.model.user import SignOn, User
from culture.ircd.replication.snapshot_lines import (
    METADATA,
    SettingChange,
    channel_line,
    setting_line,
    settings_of,
    standing_line,
)
from culture.ircd.replication.stamps import NEVER, TOPIC, Stamp
from culture.ircd.server import Ircd
from culture.protocol.peers import validate


class StatusChange(NamedTuple):
    """A member gained or lost a status."""

    who: SignOn
    status: Status
    stamp: Stamp
    is_set: bool


class ChannelMerge:
    """Merges what one event or one snapshot changes in one channel."""

    def __init__(
        self, ircd: Ircd, channel: Channel, by: User, msgid: str, at: float, into: DeliveryQueue | None = None
    ) -> None:
        self._ircd = ircd
        self._channel = channel
        self._by = by
        self._msgid = msgid
        self._at = at
        self._into = into
        self._room = room_behind(by.mask, "MODE", channel.name)
        self._effective = Effective()
        # The changes that were not known yet, as snapshot lines.
        self.news: list[str] = []

    def merge(self, changes: Iterable[StatusChange | SettingChange] = (), made_anew: Stamp = NEVER) -> None:
        """Merge changes, and a reset of the channel, and tell clients what took effect."""
        if made_anew > self._channel.made_anew:
            self._make_anew(made_anew)
        for change in changes:
            if isinstance(change, StatusChange):
                self._give(change)
            else:
                self._set(change)
        self._show_statuses()
        self._tell()

    def _show_statuses(self) -> None:
        """Bring the statuses of all members in line with their stamps: a late join may void some."""
        for user, held in self._channel.members.items():
            if (standing := user.standings.get(self._channel.key)) is not None:
                for status in sorted(held ^ standing.held):
                    self._took_effect(status not in held, status, user.nick)

    def _set(self, setting: SettingChange) -> None:
        channel = self._channel
        known = max(channel.made_anew, channel.stamps.get(setting.key, NEVER))
        # Other hosts cannot set the mode that makes a channel local.
        if setting.key not in channel.stamps and len(channel.stamps) >= validate.SETTINGS_OF_CHANNEL:
            return
        if setting.kind != Flag.LOCAL and setting.stamp > known:
            channel.stamps[setting.key] = setting.stamp
            self.news.append(setting_line(channel, setting, self._ircd.name))
            self._put(setting)

    def _make_anew(self, stamp: Stamp) -> None:
        """Reset everything that was set up to the stamp to what it is in a new channel."""
        self._channel.made_anew = stamp
        self.news.append(channel_line(self._channel))
        for setting in [*settings_of(self._channel)]:
            if setting.stamp <= stamp:
                del self._channel.stamps[setting.key]
                self._put(replace(setting, is_set=setting.kind in FIRST_FLAGS))

    def _give(self, given: StatusChange) -> None:
        state, status = self._ircd.state, given.status
        standing = state.standing_of(given.who, self._channel.name)
        if standing.give(status, given.stamp, present=given.is_set) and given.who in state.signed_on:
            self.news.append(standing_line(self._channel.name, given.who, standing))

    def _put(self, setting: SettingChange) -> None:
        if setting.kind == TOPIC:
            self._put_topic(setting)
        elif setting.kind == METADATA:
            value = setting.value if setting.is_set else None
            if self._channel.metadata.get(setting.name) != value:
                self._apply(MetadataChanged(self._by, self._channel, setting.name, value))
        elif setting.kind in FLAGS:
            flag = Flag(setting.kind)
            if (flag in self._channel.flags) is not setting.is_set:
                self._took_effect(setting.is_set, flag)
        elif setting.kind in MASK_LISTS:
            self._put_mask(MaskList(setting.kind), setting)
        else:
            self._put_value(Setting(setting.kind), setting)

    def _put_topic(self, setting: SettingChange) -> None:
        topic = Topic(setting.value, setting.set_by, setting.set_at) if setting.is_set else None
        before = self._channel.topic
        if (before and before.text) != (topic and topic.text):
            self._apply(TopicChanged(self._by, self._channel, topic))
        else:
            self._channel.topic = topic

    def _put_mask(self, kind: MaskList, setting: SettingChange) -> None:
        masks, held = self._channel.masks, self._channel.masks.find(kind, setting.name)
        if (held is not None) is not setting.is_set:
            self._took_effect(setting.is_set, kind, held.mask if held else setting.name)
        if setting.is_set:
            # Keep who set the mask and when, as its own host recorded it.
            masks.remove(kind, MaskEntry(setting.name, "", 0.0))
            masks.add(kind, MaskEntry(setting.name, setting.set_by, setting.set_at))

    def _put_value(self, name: Setting, setting: SettingChange) -> None:
        held = self._channel.settings.get(name)
        if setting.is_set and held != setting.value:
            self._took_effect(True, name, setting.value)
        elif held is not None and not setting.is_set:
            self._took_effect(False, name, held if name is Setting.KEY else None)

    def _took_effect(self, adding: bool, letter: str, param: str | None = None) -> None:
        added_bytes = 3 + len((param or "").encode())
        is_long = self._effective.size_bytes + added_bytes > self._room
        if is_long or len(self._effective.params) == MOST_PARAMETERS:
            self._tell()
        self._effective.add(adding, letter, param)

    def _tell(self) -> None:
        if self._effective.changes:
            changed, self._effective = self._effective, Effective()
            self._apply(ModesChanged(self._by, self._channel, changed.changes, tuple(changed.params)))

    def _apply(self, event: ModesChanged | TopicChanged | MetadataChanged) -> None:
        self._ircd.apply_change(event, self._msgid, self._at, self._into)
