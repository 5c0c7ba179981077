"""The mask lists of a channel: bans, ban exceptions and invite exceptions."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from culture.ircd.model.user import User
from culture.names import Folded, fold
from culture.protocol.accounts import AccountMask, mask_for_others, mask_seen_from
from culture.protocol.masks import Mask


class MaskList(StrEnum):
    """A mask list of a channel. The value is the letter of its mode."""

    BANS = "b"
    EXCEPTIONS = "e"
    INVITE_EXCEPTIONS = "I"


MASK_LISTS: frozenset[str] = frozenset(MaskList)

# `~a:ori` means whoever is logged in to the account `ori` of this host, `~a:ori@thor` to that of thor.
ACCOUNT: Final = "~a:"
# `~m:mask` is a mute: users that match may join but not speak.
MUTE: Final = "~m:"

EXTBAN_TOKENS: Final = ("ACCOUNTEXTBAN=a", "EXTBAN=~,am")

MASK_BYTES: Final = 200

_EXTENDED = re.compile(r"~\w*:")
_UNSPEAKABLE = re.compile(r"[\x00-\x20\x7f]")


class Ban:
    """A compiled mask of a list: a hostmask, or `~a:` and a mask of accounts."""

    __slots__ = ("_is_account", "_mask")

    def __init__(self, text: str) -> None:
        """Compile a mask without the `~m:` prefix."""
        self._is_account = text.startswith(ACCOUNT)
        rest = text.removeprefix(ACCOUNT)
        self._mask: Mask | AccountMask = AccountMask(rest) if self._is_account else Mask(rest)

    def means(self, hostmask: Folded, account: Folded | None) -> bool:
        """Return whether the mask matches a user with this `nick!user@host` and account."""
        if self._is_account:
            return account is not None and self._mask.matches(account)
        return self._mask.matches(hostmask)


@dataclass(frozen=True, slots=True)
class MaskEntry:
    """A mask on a list, who set it and when."""

    mask: str
    set_by: str
    set_at: float
    # Compiled once: a JOIN compares the user with every ban of the channel.
    ban: Ban = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ban", Ban(self.mask.removeprefix(MUTE)))

    @property
    def is_mute(self) -> bool:
        return self.mask.startswith(MUTE)


def complete_mask(text: str) -> str | None:
    """Complete `ori` to `ori!*@*` and `10.0.0.7` to `*!*@10.0.0.7`; return None for an invalid mask."""
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


def ban_for_others(mask: str, own: str) -> str:
    """Return a mask in the form for other hosts, with `@host` added to accounts of this host."""
    return _with_accounts(mask, lambda accounts: mask_for_others(accounts, own))


def ban_seen_from(mask: str, own: str, told_by: str) -> str:
    """Return a mask from another host in the form of this host."""
    return _with_accounts(mask, lambda accounts: mask_seen_from(accounts, own, told_by))


def _with_accounts(mask: str, change: Callable[[str], str]) -> str:
    mute = MUTE if mask.startswith(MUTE) else ""
    rest = mask.removeprefix(MUTE)
    return f"{mute}{ACCOUNT}{change(rest.removeprefix(ACCOUNT))}" if rest.startswith(ACCOUNT) else mask


def _split_word(text: str) -> tuple[str, str]:
    """A mask without `!`: an address if it has `@`, a host if no nick looks like it, else a nick."""
    if "@" in text:
        return "*", text
    return ("*", f"*@{text}") if "." in text or ":" in text else (text, "*@*")


def _is_fit(mask: str) -> bool:
    """Return whether a mask is a valid middle parameter and short enough for its replies."""
    is_word = not mask.startswith(":") and _UNSPEAKABLE.search(mask) is None
    return is_word and len(mask.encode()) <= MASK_BYTES


class Guard(NamedTuple):
    """The users that a channel excludes. It is immutable, so any thread may use it."""

    bans: tuple[Ban, ...] = ()
    exceptions: tuple[Ban, ...] = ()
    needs_account: bool = False

    @property
    def excludes_anybody(self) -> bool:
        """Return whether there are bans or an account is required."""
        return bool(self.bans) or self.needs_account

    def excludes(self, mask: str, account: str | None) -> bool:
        """Return whether a user with this `nick!user@host` and account may not join."""
        if self.needs_account and account is None:
            return True
        return _any_means(self.bans, mask, account) and not _any_means(self.exceptions, mask, account)


class Masks:
    """The mask lists of one channel."""

    __slots__ = ("_guard", "_lists", "_silenced")

    def __init__(self) -> None:
        self._lists: dict[MaskList, dict[Folded, MaskEntry]] = {}
        # Cache: hostmask and account of members who spoke, and whether a ban silences them.
        self._silenced: dict[User, tuple[str, str | None, bool]] = {}
        self._guard: Guard | None = None

    def __len__(self) -> int:
        return sum(map(len, self._lists.values()))

    def of(self, kind: MaskList) -> list[MaskEntry]:
        """Return the entries of a list."""
        return list(self._lists.get(kind, {}).values())

    def find(self, kind: MaskList, mask: str) -> MaskEntry | None:
        """Return the entry of a mask, if it is on the list."""
        return self._lists.get(kind, {}).get(fold(mask))

    def add(self, kind: MaskList, entry: MaskEntry) -> None:
        """Add an entry, unless its mask is on the list already."""
        self._lists.setdefault(kind, {}).setdefault(fold(entry.mask), entry)
        self._changed()

    def remove(self, kind: MaskList, entry: MaskEntry) -> None:
        """Remove the entry with the same mask."""
        self._lists.get(kind, {}).pop(fold(entry.mask), None)
        self._changed()

    def forget(self, user: User) -> None:
        """Drop the cached result for a member who left."""
        self._silenced.pop(user, None)

    def is_banned(self, user: User) -> bool:
        """Return whether a ban keeps a user from joining."""
        return self.guard.excludes(user.mask, user.account)

    @property
    def guard(self) -> Guard:
        """Return the compiled bans and exceptions, cached until the lists change."""
        if self._guard is None:
            self._guard = Guard(
                tuple(entry.ban for entry in self._of(MaskList.BANS) if not entry.is_mute),
                tuple(entry.ban for entry in self._of(MaskList.EXCEPTIONS)),
            )
        return self._guard

    def is_invite_exempt(self, user: User) -> bool:
        """Return whether a user may join an invite-only channel without an invitation (+I)."""
        entries = self._of(MaskList.INVITE_EXCEPTIONS)
        return _any_means((entry.ban for entry in entries), user.mask, user.account)

    def is_silenced(self, user: User) -> bool:
        """Return whether a ban or a mute keeps a user from speaking."""
        return self._mutes(MaskList.BANS, user) and not self._mutes(MaskList.EXCEPTIONS, user)

    def is_member_silenced(self, user: User) -> bool:
        """Return `is_silenced` for a member, cached until the lists change or the member leaves."""
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

    def _of(self, kind: MaskList) -> Iterable[MaskEntry]:
        return self._lists.get(kind, {}).values()

    def _mutes(self, kind: MaskList, user: User) -> bool:
        return _any_means((entry.ban for entry in self._of(kind)), user.mask, user.account)


def _any_means(bans: Iterable[Ban], hostmask: str, account: str | None) -> bool:
    folded_mask, account = fold(hostmask), None if account is None else fold(account)
    return any(ban.means(folded_mask, account) for ban in bans)
