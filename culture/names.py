"""The grammar of nicks, hosts and channels, and the folding that makes two spellings one name."""

import re
from functools import lru_cache
from typing import NewType

Folded = NewType("Folded", str)
"""A name in the form in which names are compared. Only `fold` makes one."""

SIGNS = "@%+"
"""In front of a channel: those in it who are written to, by their standing."""
NICK_CHARS = r"A-Za-z0-9_\-\[\]\\`^{}|"

# RFC 2812 section 2.3.1, with the length left to the server's limits.
_NICK = re.compile(r"[A-Za-z_\[\]\\`^{}|][" + NICK_CHARS + r"]*")
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
# What systemd takes in an instance name without escaping, less what a nick cannot hold.
_AGENT_NICK = re.compile(r"[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*")
# RFC 2812 section 1.3, without control characters, which only serve to deceive.
_CHANNEL = re.compile(r"#[^\x00-\x20\x7f,:]*")

# CASEMAPPING=rfc1459: {}|^ are the lower case of []\~ (RFC 1459 section 2.2).
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ[]\\~", "abcdefghijklmnopqrstuvwxyz{}|^")


@lru_cache(maxsize=16384)
def fold(name: str) -> Folded:
    """Remembered, since every line names somebody who was named before."""
    return Folded(name.translate(_FOLD))


def is_nick(text: str) -> bool:
    return _NICK.fullmatch(text) is not None


def is_agent_nick(text: str) -> bool:
    """Whether an agent may have this nick: it is also the name of a unit and of a socket file."""
    return _AGENT_NICK.fullmatch(text) is not None


def is_host(text: str) -> bool:
    """Whether a host may be called this. No dash before the first dot: it ends the host in a nick."""
    return _HOST.fullmatch(text) is not None


def is_channel(text: str) -> bool:
    return _CHANNEL.fullmatch(text) is not None


def nick_prefix(host: str) -> str:
    """What the nicks of a host begin with: `spark-` for `spark` and for `spark.example.org`."""
    return host.partition(".")[0] + "-"


def has_prefix(nick: str, host: str) -> bool:
    """Whether a nick is `<host>-<name>` with this host."""
    prefix = fold(nick_prefix(host))
    return fold(nick).startswith(prefix) and len(nick) > len(prefix)


def host_from_machine(hostname: str) -> str:
    """A valid host name made of what the machine is called: `ip-10-0-0-7.internal` gives `ip10007`."""
    label = re.sub(r"[^A-Za-z0-9]", "", hostname.partition(".")[0]).lstrip("0123456789")
    return label.lower() or "culture"
