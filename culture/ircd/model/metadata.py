"""Metadata of users and channels: values by key (IRCv3 draft/metadata-3)."""

import re
from collections.abc import Mapping
from typing import Final

from culture.config.ircd import Limits
from culture.ircd.delivery.text import room_behind
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import HOST_LENGTH, User
from culture.names import Folded, fold
from culture.protocol.line import format_line
from culture.protocol.numerics import RPL_KEYNOTSET, RPL_KEYVALUE

Target = User | Channel

KEY_BYTES: Final = 64
# The visibility of a value: everyone may see all metadata.
EVERYONE: Final = "*"

_KEY = re.compile(r"[a-z0-9_./-]+")


def is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None and len(text) <= KEY_BYTES


def value_bytes(limits: Limits) -> int:
    """Return how long a value may be to fit in a line, whatever the key and the names beside it are."""
    host, nick, key = "h" * HOST_LENGTH, "n" * limits.nick_length, "k" * KEY_BYTES
    name = max(nick, "#" * limits.channel_length, key=len)
    return max(
        0, min(limits.metadata_value_length, room_behind(host, RPL_KEYVALUE, nick, name, key, EVERYONE))
    )


def name_of(target: Target) -> str:
    return target.nick if isinstance(target, User) else target.name


def value_line(server: str, nick: str, target: Target, key: str, value: str | None) -> str:
    """Return the numeric that tells a reader with this nick a value, or that there is none."""
    if value is None:
        about = (name_of(target), key, "Key not set")
        return format_line(RPL_KEYNOTSET, nick, *about, source=server, trailing=True)
    about = (name_of(target), key, EVERYONE)
    return format_line(RPL_KEYVALUE, nick, *about, value, source=server, trailing=True)


class Metadata:
    """The metadata of accounts, and access to that of users and channels."""

    def __init__(self) -> None:
        # It outlasts the connections that published it.
        self.of_accounts: dict[Folded, dict[str, str]] = {}

    def of(self, target: Target) -> Mapping[str, str]:
        """Return the metadata of a target. All connections of an account share that of the account."""
        if isinstance(target, User) and target.account is not None and not target.server:
            return self.of_accounts.get(fold(target.account), {})
        return target.metadata

    def change(self, target: Target, key: str, value: str | None) -> None:
        """Set the value of a key, or remove it."""
        values = target.metadata
        if isinstance(target, User) and target.account is not None and not target.server:
            values = self.of_accounts.setdefault(fold(target.account), {})
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
