"""MODE for a channel: check each requested change and publish those that take effect as one event."""

import re

from culture.ircd.delivery.text import ECHOED_PARAM_BYTES, room_behind, size
from culture.ircd.events import ModesChanged
from culture.ircd.model.ban_lists import MASK_LISTS, MaskList, complete_mask
from culture.ircd.model.channel import FLAGS, RANKS, STATUSES, Channel, Flag, Setting, Status
from culture.ircd.model.modes import CHANNEL_LETTERS, KEY_LENGTH, MOST_PARAMETERS, Effective, read_all_changes
from culture.ircd.model.user import User
from culture.ircd.refusal import Refusal, need_more_params, no_such_nick, not_channel_operator
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import Folded, fold
from culture.protocol.numerics import (
    ERR_BANLISTFULL,
    ERR_INVALIDMODEPARAM,
    ERR_UNKNOWNMODE,
    ERR_USERNOTINCHANNEL,
    RPL_BANLIST,
    RPL_ENDOFBANLIST,
    RPL_ENDOFEXCEPTLIST,
    RPL_ENDOFINVEXLIST,
    RPL_EXCEPTLIST,
    RPL_INVEXLIST,
)

_LIST_REPLIES = {
    MaskList.BANS: (RPL_BANLIST, RPL_ENDOFBANLIST, "End of channel ban list"),
    MaskList.EXCEPTIONS: (RPL_EXCEPTLIST, RPL_ENDOFEXCEPTLIST, "End of channel exception list"),
    MaskList.INVITE_EXCEPTIONS: (
        RPL_INVEXLIST,
        RPL_ENDOFINVEXLIST,
        "End of Channel Invite Exception List",
    ),
}
# No comma, which separates keys in JOIN, and no colon in front, which would begin the last parameter.
_KEY = re.compile(r"[^\x00-\x20\x7f,:][^\x00-\x20\x7f,]*")
_LIMIT = re.compile(r"0*([1-9][0-9]{0,8})", re.ASCII)


def change_modes(ircd: Ircd, session: Session, channel: Channel, letters: str, params: list[str]) -> None:
    """Apply the mode changes that the client may make, refuse the others, and send requested lists."""
    changes = _Changes(ircd, session, channel)
    waiting = iter(params)
    left = MOST_PARAMETERS
    lists: dict[MaskList, None] = {}
    # Send each refusal once, so that a line full of the same mistake gets one reply.
    refused: set[tuple[str, ...]] = set()
    for adding, letter in read_all_changes(letters, waiting):
        takes_parameter = _takes_parameter(adding, letter)
        param = next(waiting, None) if takes_parameter else None
        if param is not None:
            left -= 1
            if left < 0:
                continue
        if letter in MASK_LISTS and param is None:
            lists[MaskList(letter)] = None
            continue
        if letter in CHANNEL_LETTERS and not channel.may_moderate(session.user):
            raise not_channel_operator(channel.name)
        try:
            changes.make(adding, letter, param)
        except Refusal as refusal:
            if refusal.args not in refused:
                refused.add(refusal.args)
                ircd.refuse(session, refusal)
    changes.publish()
    for kind in lists:
        _send_list(ircd, session, channel, kind)


def _takes_parameter(adding: bool, letter: str) -> bool:
    if letter == Setting.LIMIT:
        return adding
    return letter in STATUSES or letter in MASK_LISTS or letter == Setting.KEY


def _send_list(ircd: Ircd, session: Session, channel: Channel, kind: MaskList) -> None:
    row, end, text = _LIST_REPLIES[kind]
    for entry in channel.masks.of(kind):
        who_and_when = (entry.set_by, str(int(entry.set_at)))
        ircd.reply(session, row, channel.name, entry.mask, *who_and_when, trailing=False)
    ircd.reply(session, end, channel.name, text)


class _Changes:
    """The changes of one MODE and the resulting channel, so that `+m-m` announces only real changes."""

    def __init__(self, ircd: Ircd, session: Session, channel: Channel) -> None:
        self._ircd = ircd
        self._user = session.user
        self._channel = channel
        self._room = room_behind(session.user.mask, "MODE", channel.name)
        self._effective = Effective()
        self._flags = set(channel.flags)
        self._settings = dict(channel.settings)
        self._statuses: dict[User, set[Status]] = {}
        self._masks: dict[tuple[MaskList, Folded], str | None] = {}
        self._entries = len(channel.masks)

    def make(self, adding: bool, letter: str, param: str | None) -> None:
        """Check one change and add it if it has an effect. Raise Refusal if it is not allowed."""
        if letter in FLAGS:
            self._change_flag(adding, Flag(letter))
        elif letter in STATUSES:
            self._change_status(adding, Status(letter), param)
        elif letter == Setting.KEY:
            self._change_key(adding, param)
        elif letter == Setting.LIMIT:
            self._change_limit(adding, param)
        elif letter in MASK_LISTS and param is not None:
            self._change_list(adding, MaskList(letter), param)
        else:
            raise Refusal(ERR_UNKNOWNMODE, letter, "is unknown mode char to me")

    def publish(self) -> None:
        """Publish the changes collected so far as one event."""
        if self._effective.changes:
            changed = (self._effective.changes, tuple(self._effective.params))
            self._effective = Effective()
            self._ircd.publish(ModesChanged(self._user, self._channel, *changed))

    def _took_effect(self, adding: bool, letter: str, param: str | None = None) -> None:
        added_bytes = 3 + len((param or "").encode())
        if self._effective.size_bytes + added_bytes > self._room:
            self.publish()
        self._effective.add(adding, letter, param)

    def _change_flag(self, adding: bool, flag: Flag) -> None:
        if flag is Flag.LOCAL:
            self._check_local(adding)
        if (flag in self._flags) is not adding:
            self._flags ^= {flag}
            self._took_effect(adding, flag)

    def _check_local(self, adding: bool) -> None:
        """Refuse +L while remote users are members, and -L always: a local channel never becomes shared."""
        if not self._channel.is_operator(self._user):
            raise not_channel_operator(self._channel.name)
        if not adding and Flag.LOCAL in self._flags:
            raise self._invalid(Flag.LOCAL, "*", "A local channel stays local until everybody has left it")
        if adding and any(member.server for member in self._channel.members):
            raise self._invalid(Flag.LOCAL, "*", "Somebody in the channel is on another host")

    def _change_status(self, adding: bool, status: Status, nick: str | None) -> None:
        if nick is None:
            raise need_more_params("MODE")
        user = self._ircd.state.find_user(nick)
        if user is None:
            raise no_such_nick(nick)
        if user not in self._channel.members:
            name = self._channel.name
            raise Refusal(ERR_USERNOTINCHANNEL, user.nick, name, "They aren't on that channel")
        gives_up = user is self._user and not adding
        may_moderate_only = self._channel.rank(self._user) <= RANKS[Status.HALF_OPERATOR]
        # Whom an agent made operator would have their authority from an agent.
        may_not_grant = may_moderate_only or self._user.is_agent
        if status is not Status.VOICED and may_not_grant and not gives_up:
            raise not_channel_operator(self._channel.name)
        held = self._statuses.setdefault(user, set(self._channel.members[user]))
        if (status in held) is not adding:
            held ^= {status}
            self._took_effect(adding, status, user.nick)

    def _change_key(self, adding: bool, key: str | None) -> None:
        held = self._settings.get(Setting.KEY)
        if not adding:
            if held is not None:
                del self._settings[Setting.KEY]
                self._took_effect(adding, Setting.KEY, held)
            return
        if key is None:
            raise need_more_params("MODE")
        if not _KEY.fullmatch(key) or len(key.encode()) > KEY_LENGTH:
            raise self._invalid(Setting.KEY, key, f"A key is one word of at most {KEY_LENGTH} bytes")
        if key != held:
            self._settings[Setting.KEY] = key
            self._took_effect(adding, Setting.KEY, key)

    def _change_limit(self, adding: bool, limit: str | None) -> None:
        if not adding:
            if self._settings.pop(Setting.LIMIT, None):
                self._took_effect(adding, Setting.LIMIT)
            return
        if limit is None:
            raise need_more_params("MODE")
        number = _LIMIT.fullmatch(limit)
        if number is None:
            raise self._invalid(Setting.LIMIT, limit, "A limit is a positive number")
        if number[1] != self._settings.get(Setting.LIMIT):
            self._settings[Setting.LIMIT] = number[1]
            self._took_effect(adding, Setting.LIMIT, number[1])

    def _change_list(self, adding: bool, kind: MaskList, text: str) -> None:
        mask = complete_mask(text)
        if mask is None:
            raise self._invalid(kind, text, "Not a mask")
        entry = self._channel.masks.find(kind, mask)
        held = self._masks.get((kind, fold(mask)), entry.mask if entry else None)
        if (held is not None) is adding:
            return
        most = self._ircd.limits.list_entries
        if adding and most and self._entries >= most:
            raise Refusal(ERR_BANLISTFULL, self._channel.name, kind, "Channel list is full")
        self._entries += 1 if adding else -1
        self._masks[kind, fold(mask)] = mask if adding else None
        self._took_effect(adding, kind, held or mask)

    def _invalid(self, letter: str, param: str, text: str) -> Refusal:
        is_whole = size(param) <= ECHOED_PARAM_BYTES and param.isprintable()
        repeated = param if is_whole else "*"
        return Refusal(ERR_INVALIDMODEPARAM, self._channel.name, letter, repeated, text)
