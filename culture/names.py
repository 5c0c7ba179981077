"""The grammar of nicks, hosts and channels, and the case folding that compares them."""

import re
from functools import lru_cache
from typing import Final, NewType

# A case-folded name. Only `fold` returns one.
Folded = NewType("Folded", str)

# Prefixes of a channel that address only its members of that status or higher (ISUPPORT STATUSMSG).
SIGNS = "@%+"
NICK_CHARS = r"A-Za-z0-9_\-\[\]\\`^{}|"
# The Unix user of an agent is this prefix and its nick; units/culture-agent-user@.service creates it.
AGENT_USER_PREFIX: Final = "culture-"
# systemd-sysusers allows user names of at most 31 characters, as utmp(5) does.
AGENT_NICK_LENGTH: Final = 31 - len(AGENT_USER_PREFIX)

# The longest label of RFC 1035 section 2.3.4, and the longest `name` in ircd.yaml.
HOST_LENGTH = 63

# RFC 2812 section 2.3.1, with the length left to the server's limits.
_NICK = re.compile(r"[A-Za-z_\[\]\\`^{}|][" + NICK_CHARS + r"]*")
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
# The characters that systemd does not escape in an instance name, as far as a nick may contain them.
_AGENT_NICK = re.compile(r"[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*")
# RFC 2812 section 1.3, without control characters, spaces and invisible characters, which let two names look
# the same. Joiners are allowed: some scripts and emoji need them.
_BLANK = (
    r"\s\x00-\x20\x7f-\xa0\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202f"
    r"\u2060-\u206f\u2800\u3164\ufeff\uffa0"
)
_CHANNEL = re.compile(rf"#[^{_BLANK},:]*")

# Separates the two names of a relayed nick; no other nick contains it (IRCv3 draft/relaymsg).
RELAY_SEPARATORS: Final = "/"
# Neither name may contain a character that is special in a line or a mask.
_RELAYED_NICK = re.compile(r"[^\s/!+%@&#$:'\"?*,.]+/[^\s!+%@&#$:'\"?*,.]+")

# CASEMAPPING=rfc1459: {}|^ are the lower case of []\~ (RFC 1459 section 2.2).
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ[]\\~", "abcdefghijklmnopqrstuvwxyz{}|^")


@lru_cache(maxsize=16384)
def fold(name: str) -> Folded:
    """Return a name in lower case, as CASEMAPPING=rfc1459 defines it."""
    # Cached, because the same few names occur in almost every line.
    return Folded(name.translate(_FOLD))


def is_nick(text: str) -> bool:
    """Return whether this is a valid nick of any length."""
    return _NICK.fullmatch(text) is not None


def is_relayed_nick(text: str) -> bool:
    """Return whether a bridge may speak under this name, which no user can have: `zoe/matrix`."""
    return _RELAYED_NICK.fullmatch(text) is not None and text.isprintable()


def is_agent_nick(text: str) -> bool:
    """Return whether an agent may have this nick, which also names its unit and its socket file."""
    return _AGENT_NICK.fullmatch(text) is not None


def agent_user(nick: str) -> str:
    """Return the name of the Unix user that the service of this agent runs as."""
    return AGENT_USER_PREFIX + nick


def is_host(text: str) -> bool:
    """Return whether a host may have this name.

    The first label has no dash, because a dash ends the host in a nick.
    """
    return len(text) <= HOST_LENGTH and _HOST.fullmatch(text) is not None


def is_channel(text: str) -> bool:
    """Return whether this is a valid channel name of any length."""
    return _CHANNEL.fullmatch(text) is not None


def as_one_word(name: str, brackets: str) -> str:
    """Return a name with brackets and blanks replaced by escapes such as `\\u0020`.

    Names from other servers may contain such characters.
    """
    escaped = rf"[{_BLANK}{re.escape(brackets)}]"
    return re.sub(escaped, lambda match: f"\\u{ord(match[0]):04x}", name)


def nick_prefix(host: str) -> str:
    """Return the prefix of all nicks of a host: `spark-` for `spark` and for `spark.example.org`."""
    return host.partition(".")[0] + "-"


def host_key(host: str) -> Folded:
    """Return the key of a host, which is unique in a mesh.

    `spark`, `SPARK` and `spark.example.org` have one key, because the nicks of all three begin with `spark-`.
    """
    return fold(host.partition(".")[0])


def has_prefix(nick: str, host: str) -> bool:
    """Return whether a nick is `<host>-<name>` with this host."""
    prefix = fold(nick_prefix(host))
    return fold(nick).startswith(prefix) and len(nick) > len(prefix)


def host_from_machine(hostname: str) -> str:
    """Return a valid host name derived from the machine's: `ip-10-0-0-7.internal` gives `ip10007`."""
    label = re.sub(r"[^A-Za-z0-9]", "", hostname.partition(".")[0]).lstrip("0123456789")
    return label.lower() or "culture"
