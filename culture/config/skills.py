"""The model of skills in `ircd.yaml`: which skills run, and their settings."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from culture.config.rules import absolute_path, at_least, checked, none_twice
from culture.names import fold, is_channel

BUILT_IN: Final = ("history", "logger", "profiles", "urlindex")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def is_class_name(text: str) -> bool:
    """Return whether a text names a class as `module:Class`."""
    return _MODULE.fullmatch(text) is not None


def check_skills(names: tuple[str, ...]) -> str | None:
    """Return what is wrong with the list of skills, or None."""
    for name in names:
        if name not in BUILT_IN and not is_class_name(name):
            return f"'{name}' is no skill: {', '.join(BUILT_IN)}, or a class of yours as 'module:Class'"
    return none_twice(names)


@dataclass(frozen=True, slots=True)
class ChannelRetention:
    """How long the history of one channel is kept, instead of the default."""

    name: str = checked(lambda name: None if is_channel(name) else f"'{name}' is not a channel")
    keep_days: int = checked(at_least(0), default=0)
    keep_messages: int = checked(at_least(0), default=0)


def _check_channels(channels: tuple[ChannelRetention, ...]) -> str | None:
    return none_twice([fold(each.name) for each in channels])


@dataclass(frozen=True, slots=True)
class LoggerConfig:
    """The settings of the logger skill."""

    # Empty: beside the server's other files.
    directory: str = checked(absolute_path, default="")
    # How often the files are committed to a git repository in the directory; 0: never.
    commit_interval_s: int = checked(at_least(0), default=0)


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """The settings of the history skill."""

    # Whether a message is on the disk, not only in the system's memory, before it is delivered.
    sync: bool = False
    # 0: for ever, and all of them.
    keep_days: int = checked(at_least(0), default=0)
    keep_messages: int = checked(at_least(0), default=0)
    # How fast one client, and all together, may write to history in the long run; 0: as fast as they like.
    client_bytes_per_s: int = checked(at_least(0), default=65536)
    total_bytes_per_s: int = checked(at_least(0), default=1048576)
    # Whether messages are indexed by meaning, where culture[semantic] and its model are installed.
    semantic: bool = True
    # Who may read what was said in a channel that anybody may join: those who are in it, or everyone.
    readable: Literal["members", "everyone"] = "everyone"
    # How long one can take back what one said; 0: for ever.
    redact_within_s: int = checked(at_least(0), default=86400)
    channels: tuple[ChannelRetention, ...] = checked(_check_channels, default=())
