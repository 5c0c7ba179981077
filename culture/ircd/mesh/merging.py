"""Changes of channels from other hosts: of two changes of the same thing the later one wins everywhere.

They may come in any order, and again in a snapshot: what is older than what is known changes nothing.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from culture.ircd.bans import MASK_LISTS, Entry, MaskList
from culture.ircd.channel import FIRST_FLAGS, FLAGS, Channel, Flag, Setting, Status, Topic
from culture.ircd.core import Ircd
from culture.ircd.delivery import Delivery
from culture.ircd.events import MetadataChanged, ModesChanged, TopicChanged
from culture.ircd.mesh.lines import METADATA, Set, channel_line, setting_line, settings_of, standing_line
from culture.ircd.modes import MOST_PARAMETERS, Effective
from culture.ircd.stamps import NEVER, TOPIC, Stamp
from culture.ircd.text import room_behind
from culture.ircd.user import SignOn, User


class Given(NamedTuple):
    """A member got a status, or lost it."""

    who: SignOn
    status: Status
    stamp: Stamp
    is_set: bool


class Merge:
    """What one event, or one snapshot, changes in one channel."""

    def __init__(
        self, ircd: Ircd, channel: Channel, by: User, msgid: str, at: float, into: Delivery | None = None
    ) -> None:
        self._ircd = ircd
        self._channel = channel
        self._by = by
        self._msgid = msgid
        self._at = at
        self._into = into
        self._room = room_behind(by.mask, "MODE", channel.name)
        self._effective = Effective()
        self.news: list[str] = []
        """What was not known yet, as lines of a snapshot."""

    def merge(self, changes: Iterable[Given | Set] = (), made_anew: Stamp = NEVER) -> None:
        if made_anew > self._channel.made_anew:
            self._make_anew(made_anew)
        for change in changes:
            if isinstance(change, Given):
                self._give(change)
            else:
                self._set(change)
        self._show_statuses()
        self._tell()

    def _show_statuses(self) -> None:
        """Members are what they were given since they came, which may be later than was known here."""
        for user, held in self._channel.members.items():
            if (standing := user.standings.get(self._channel.key)) is not None:
                for status in sorted(held ^ standing.held):
                    self._took_effect(status not in held, status, user.nick)

    def _set(self, setting: Set) -> None:
        channel = self._channel
        known = max(channel.made_anew, channel.stamps.get(setting.key, NEVER))
        # What is local is no other host's business.
        if setting.kind != Flag.LOCAL and setting.stamp > known:
            channel.stamps[setting.key] = setting.stamp
            self.news.append(setting_line(channel, setting))
            self._put(setting)

    def _make_anew(self, stamp: Stamp) -> None:
        """All that was set up to then is as in a new channel."""
        self._channel.made_anew = stamp
        self.news.append(channel_line(self._channel))
        for setting in [*settings_of(self._channel)]:
            if setting.stamp <= stamp:
                del self._channel.stamps[setting.key]
                self._put(replace(setting, is_set=setting.kind in FIRST_FLAGS))

    def _give(self, given: Given) -> None:
        state, status = self._ircd.state, given.status
        standing = state.standing_of(given.who, self._channel.name)
        if standing.give(status, given.stamp, present=given.is_set) and given.who in state.signed_on:
            self.news.append(standing_line(self._channel.name, given.who, standing))

    def _put(self, setting: Set) -> None:
        if setting.kind == TOPIC:
            self._put_topic(setting)
        elif setting.kind == METADATA:
            value = setting.value if setting.is_set else None
            if self._channel.metadata.get(setting.name) != value:
                self._bring_about(MetadataChanged(self._by, self._channel, setting.name, value))
        elif setting.kind in FLAGS:
            flag = Flag(setting.kind)
            if (flag in self._channel.flags) is not setting.is_set:
                self._took_effect(setting.is_set, flag)
        elif setting.kind in MASK_LISTS:
            self._put_mask(MaskList(setting.kind), setting)
        else:
            self._put_value(Setting(setting.kind), setting)

    def _put_topic(self, setting: Set) -> None:
        topic = Topic(setting.value, setting.set_by, setting.set_at) if setting.is_set else None
        before = self._channel.topic
        if (before and before.text) != (topic and topic.text):
            self._bring_about(TopicChanged(self._by, self._channel, topic))
        else:
            self._channel.topic = topic

    def _put_mask(self, kind: MaskList, setting: Set) -> None:
        masks, held = self._channel.masks, self._channel.masks.find(kind, setting.name)
        if (held is not None) is not setting.is_set:
            self._took_effect(setting.is_set, kind, held.mask if held else setting.name)
        if setting.is_set:
            # As it was set where it was, whoever tells of it.
            masks.remove(kind, Entry(setting.name, "", 0.0))
            masks.add(kind, Entry(setting.name, setting.set_by, setting.set_at))

    def _put_value(self, name: Setting, setting: Set) -> None:
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
            self._bring_about(ModesChanged(self._by, self._channel, changed.changes, tuple(changed.params)))

    def _bring_about(self, event: ModesChanged | TopicChanged | MetadataChanged) -> None:
        self._ircd.bring_about(event, self._msgid, self._at, self._into)
