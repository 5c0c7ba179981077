"""What `ircd.yaml` says: the IRC server of this host."""

from dataclasses import dataclass, field
from typing import Literal

from culture.config.address import check_address
from culture.config.rules import at_least, checked, each
from culture.names import is_host


def _check_name(name: str) -> str | None:
    if not name or (is_host(name) and len(name) <= 63):
        return None
    return f"'{name}' is not a host name: a letter, then letters and digits, no dash before the first dot"


@dataclass(frozen=True, slots=True)
class Limits:
    nick_length: int = checked(at_least(9), default=64)
    channel_length: int = checked(at_least(9), default=64)
    topic_length: int = checked(at_least(1), default=390)
    channels_per_client: int = checked(at_least(1), default=100)
    targets: int = checked(at_least(1), default=8)
    sendq_bytes: int = checked(at_least(16384), default=1048576)
    registration_timeout_s: int = checked(at_least(1), default=30)
    ping_interval_s: int = checked(at_least(1), default=90)
    ping_timeout_s: int = checked(at_least(1), default=60)


@dataclass(frozen=True, slots=True)
class IrcdConfig:
    # Empty: made of the machine's own host name.
    name: str = checked(_check_name, default="")
    description: str = "Culture IRC server"
    listen: tuple[str, ...] = checked(each(check_address), default=("127.0.0.1:6667",))
    nick_policy: Literal["prefixed", "open"] = "prefixed"
    motd: str = ""
    password_credential: str = ""
    state_dir: str = ""
    limits: Limits = field(default_factory=Limits)
