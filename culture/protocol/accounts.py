"""Qualify account names by host: `ori` is an account of this host, `ori@thor` one of the host thor.

No account name contains an @, so the two cannot be confused.
"""

from culture.names import Folded, fold
from culture.protocol.masks import Mask

AT = "@"


def account_at(account: str | None, host: str) -> str | None:
    """Return the account qualified with its host; an empty host is this one and is not written."""
    return f"{account}{AT}{host}" if account and host and AT not in account else account


def bare_account(account: str) -> str:
    """Return the account without its host."""
    return account.partition(AT)[0]


class AccountMask:
    """A compiled mask: `o*` matches accounts of this host, `o*@thor` those of thor, `o*@*` those of all."""

    __slots__ = ("_host", "_name")

    def __init__(self, mask: str) -> None:
        name, at, host = mask.partition(AT)
        self._name = Mask(name)
        self._host = Mask(host) if at else None

    def matches(self, account: Folded) -> bool:
        """Return whether the mask matches this folded account."""
        name, _, host = account.partition(AT)
        is_host = not host if self._host is None else self._host.matches(Folded(host))
        return is_host and self._name.matches(Folded(name))


def is_account_match(mask: str, account: str) -> bool:
    """Return whether a mask matches an account, ignoring case."""
    return AccountMask(mask).matches(fold(account))


def mask_seen_from(mask: str, own: str, told_by: str) -> str:
    """Translate an account mask that another host sent; one without a host is for that host's accounts."""
    name, at, host = mask.partition(AT)
    if not at:
        return f"{name}{AT}{told_by}" if told_by else name
    return name if fold(host) == fold(own) else mask


def mask_for_others(mask: str, own: str) -> str:
    """Return an account mask with our host named, as other hosts understand it."""
    return mask if AT in mask else f"{mask}{AT}{own}"
