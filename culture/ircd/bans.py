"""Lists of masks on a channel: who is banned, who is exempt from it, and who needs no invitation."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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
            mask = complete_mask(rest) or "" if kind == MUTE else rest
            return f"{kind}{mask}" if mask and _is_fit(mask) else None
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


class Masks:
    """The lists of one channel."""

    __slots__ = ("_lists", "_silenced")

    def __init__(self) -> None:
        self._lists: dict[MaskList, dict[Folded, Entry]] = {}
        self._silenced: dict[User, tuple[str, str | None, bool]] = {}
        """What was found of members who spoke, as they were then: bans are many, and messages more."""

    def __len__(self) -> int:
        return sum(map(len, self._lists.values()))

    def of(self, kind: MaskList) -> list[Entry]:
        return list(self._lists.get(kind, {}).values())

    def find(self, kind: MaskList, mask: str) -> Entry | None:
        return self._lists.get(kind, {}).get(fold(mask))

    def add(self, kind: MaskList, entry: Entry) -> None:
        self._lists.setdefault(kind, {}).setdefault(fold(entry.mask), entry)
        self._silenced.clear()

    def remove(self, kind: MaskList, entry: Entry) -> None:
        self._lists.get(kind, {}).pop(fold(entry.mask), None)
        self._silenced.clear()

    def forget(self, user: User) -> None:
        self._silenced.pop(user, None)

    def is_banned(self, user: User) -> bool:
        """Whether a user is kept from joining."""
        return self._has(MaskList.BANS, user) and not self._has(MaskList.EXCEPTIONS, user)

    def needs_no_invitation(self, user: User) -> bool:
        return self._has(MaskList.INVITE_EXCEPTIONS, user)

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

    def _has(self, kind: MaskList, user: User) -> bool:
        return any(_means(entry.mask, user) for entry in self._lists.get(kind, {}).values())

    def _mutes(self, kind: MaskList, user: User) -> bool:
        entries = self._lists.get(kind, {}).values()
        return any(_means(entry.mask.removeprefix(MUTE), user) for entry in entries)


def _means(mask: str, user: User) -> bool:
    if mask.startswith(ACCOUNT):
        return user.account is not None and is_match(mask.removeprefix(ACCOUNT), user.account)
    return is_match(mask, user.mask)
