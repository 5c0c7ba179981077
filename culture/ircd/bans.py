"""Lists of masks on a channel: who is banned, who is exempt from it, and who needs no invitation."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from culture.ircd.user import User
from culture.names import Folded, fold
from culture.protocol.masks import is_match


class MaskList(StrEnum):
    """A list that a channel keeps. The value is the mode's letter."""

    BANS = "b"
    EXCEPTIONS = "e"
    INVITE_EXCEPTIONS = "I"


MASK_LISTS: frozenset[str] = frozenset(MaskList)

ACCOUNT: Final = "~a:"
"""`~a:ori` means whoever is logged in to the account `ori`."""
MUTE: Final = "~m:"
"""`~m:mask` keeps whom the mask means from speaking, not from joining."""

EXTBAN_TOKENS: Final = ("ACCOUNTEXTBAN=a", "EXTBAN=~,am")

MASK_BYTES: Final = 200

_EXTENDED = re.compile(r"~\w*:")
_UNSPEAKABLE = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Entry:
    mask: str
    set_by: str
    set_at: float


def complete_mask(text: str) -> str | None:
    """`ori` as `ori!*@*`, `10.0.0.7` as `*!*@10.0.0.7`; nothing for what cannot be a mask."""
    for kind in (MUTE, ACCOUNT):
        if text.startswith(kind):
            rest = text[len(kind) :]
            mask = complete_mask(rest) if kind == MUTE else rest
            is_mask = mask and _is_fit(mask) and not mask.startswith(MUTE)
            return f"{kind}{mask}" if is_mask else None
    if _EXTENDED.match(text):
        return None
    nick, bang, address = text.partition("!")
    if not bang:
        nick, address = _split_word(text)
    username, _, host = address.partition("@")
    mask = f"{nick or '*'}!{username or '*'}@{host or '*'}"
    return mask if text and _is_fit(mask) else None


def _split_word(text: str) -> tuple[str, str]:
    """A mask without `!`: an address if it has `@`, a host if no nick looks like it, else a nick."""
    if "@" in text:
        return "*", text
    return ("*", f"*@{text}") if "." in text or ":" in text else (text, "*@*")


def _is_fit(mask: str) -> bool:
    """Whether a mask can stand in the middle of a line, and its replies fit in one."""
    is_word = not mask.startswith(":") and _UNSPEAKABLE.search(mask) is None
    return is_word and len(mask.encode()) <= MASK_BYTES


class Guard(NamedTuple):
    """Whom a channel keeps out by what they are. It does not change, so that any thread may ask it."""

    bans: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    needs_account: bool = False

    @property
    def keeps_anybody_out(self) -> bool:
        return bool(self.bans) or self.needs_account

    def keeps_out(self, mask: str, account: str | None) -> bool:
        """Somebody of this `nick!user@host`, logged in to this account or to none."""
        if self.needs_account and account is None:
            return True
        return _any_means(self.bans, mask, account) and not _any_means(self.exceptions, mask, account)


class Masks:
    """The lists of one channel."""

    __slots__ = ("_guard", "_lists", "_silenced")

    def __init__(self) -> None:
        self._lists: dict[MaskList, dict[Folded, Entry]] = {}
        self._silenced: dict[User, tuple[str, str | None, bool]] = {}
        """What was found of members who spoke, as they were then: bans are many, and messages more."""
        self._guard: Guard | None = None

    def __len__(self) -> int:
        return sum(map(len, self._lists.values()))

    def of(self, kind: MaskList) -> list[Entry]:
        return list(self._lists.get(kind, {}).values())

    def find(self, kind: MaskList, mask: str) -> Entry | None:
        return self._lists.get(kind, {}).get(fold(mask))

    def add(self, kind: MaskList, entry: Entry) -> None:
        self._lists.setdefault(kind, {}).setdefault(fold(entry.mask), entry)
        self._changed()

    def remove(self, kind: MaskList, entry: Entry) -> None:
        self._lists.get(kind, {}).pop(fold(entry.mask), None)
        self._changed()

    def forget(self, user: User) -> None:
        self._silenced.pop(user, None)

    def is_banned(self, user: User) -> bool:
        """Whether a user is kept from joining."""
        return self.guard.keeps_out(user.mask, user.account)

    @property
    def guard(self) -> Guard:
        """Kept until the lists change: many may ask for it."""
        if self._guard is None:
            bans, exceptions = self._of(MaskList.BANS), self._of(MaskList.EXCEPTIONS)
            self._guard = Guard(tuple(mask for mask in bans if not mask.startswith(MUTE)), exceptions)
        return self._guard

    def needs_no_invitation(self, user: User) -> bool:
        return _any_means(self._of(MaskList.INVITE_EXCEPTIONS), user.mask, user.account)

    def is_silenced(self, user: User) -> bool:
        """Whether a user is kept from speaking."""
        return self._mutes(MaskList.BANS, user) and not self._mutes(MaskList.EXCEPTIONS, user)

    def is_member_silenced(self, user: User) -> bool:
        """The same, remembered until the lists change or the member leaves (`forget`)."""
        if not self._lists.get(MaskList.BANS):
            return False
        mask, account = user.mask, user.account
        known = self._silenced.get(user)
        if known is None or known[:2] != (mask, account):
            self._silenced[user] = known = (mask, account, self.is_silenced(user))
        return known[2]

    def _changed(self) -> None:
        self._silenced.clear()
        self._guard = None

    def _of(self, kind: MaskList) -> tuple[str, ...]:
        return tuple(entry.mask for entry in self._lists.get(kind, {}).values())

    def _mutes(self, kind: MaskList, user: User) -> bool:
        return _any_means((mask.removeprefix(MUTE) for mask in self._of(kind)), user.mask, user.account)


def _any_means(masks: Iterable[str], who: str, account: str | None) -> bool:
    return any(_means(mask, who, account) for mask in masks)


def _means(mask: str, who: str, account: str | None) -> bool:
    if mask.startswith(ACCOUNT):
        return account is not None and is_match(mask.removeprefix(ACCOUNT), account)
    return is_match(mask, who)
