"""What users and channels publish of themselves: values by key (IRCv3 draft/metadata-2)."""

import re
from collections.abc import Mapping
from typing import Final

from culture.config.ircd import Limits
from culture.ircd.channel import Channel
from culture.ircd.text import room_behind
from culture.ircd.user import HOST_LENGTH, USERNAME_LENGTH, User
from culture.names import Folded, fold
from culture.protocol.numerics import RPL_KEYVALUE

Target = User | Channel

KEY_BYTES: Final = 64
EVERYONE: Final = "*"
"""Who may see a value. There is nothing that only some may."""

_KEY = re.compile(r"[a-z0-9_./-]+")


def is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None and len(text) <= KEY_BYTES


def value_bytes(limits: Limits) -> int:
    """How long a value may be so that nobody gets it cut, whatever its key and the names beside it are."""
    host, nick, key = "h" * HOST_LENGTH, "n" * limits.nick_length, "k" * KEY_BYTES
    name = max(nick, "#" * limits.channel_length, key=len)
    mask = f"{nick}!{'n' * USERNAME_LENGTH}@{host}"
    told = room_behind(mask, "METADATA", name, key, EVERYONE)
    answered = room_behind(host, RPL_KEYVALUE, nick, name, key, EVERYONE)
    return max(0, min(limits.metadata_value_length, told, answered))


def name_of(target: Target) -> str:
    return target.nick if isinstance(target, User) else target.name


class Metadata:
    def __init__(self) -> None:
        self.of_accounts: dict[Folded, dict[str, str]] = {}
        """It outlasts the connections that published it."""

    def of(self, target: Target) -> Mapping[str, str]:
        """An account has the same on all its connections; of others it ends with the connection."""
        if isinstance(target, User) and target.account is not None and not target.server:
            return self.of_accounts.get(fold(target.account), {})
        return target.metadata

    def change(self, target: Target, key: str, value: str | None) -> None:
        values = target.metadata
        if isinstance(target, User) and target.account is not None and not target.server:
            values = self.of_accounts.setdefault(fold(target.account), {})
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
