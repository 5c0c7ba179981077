"""RPL_ISUPPORT: what this server does, in the tokens that clients read."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from culture.config.ircd import IrcdConfig
from culture.ircd.commands.channels.elist import ELIST
from culture.ircd.commands.targets import target_limits
from culture.ircd.delivery.text import pack
from culture.ircd.model.ban_lists import EXTBAN_TOKENS
from culture.ircd.model.channel import PREFIXES
from culture.ircd.model.modes import (
    CHANMODES_TOKEN,
    KEY_LENGTH,
    MASK_LIST_LETTERS,
    MOST_PARAMETERS,
    PREFIX_TOKEN,
)
from culture.ircd.model.user import USERNAME_LENGTH, UserMode

_TOKENS_PER_LINE = 12
# Next to the longest names of server and nick, and the closing text.
_TOKEN_BYTES_PER_LINE = 300


def isupport_tokens(config: IrcdConfig) -> list[str]:
    """Return the ISUPPORT tokens that this server advertises."""
    limits = config.limits
    return [
        f"AWAYLEN={limits.away_length}",
        f"BOT={UserMode.BOT}",
        "CASEMAPPING=rfc1459",
        f"CHANLIMIT=#:{limits.channels_per_client or ''}",
        CHANMODES_TOKEN,
        f"CHANNELLEN={limits.channel_length}",
        "CHANTYPES=#",
        *([f"CLIENTTAGDENY={','.join(config.denied_client_tags)}"] if config.denied_client_tags else []),
        f"ELIST={ELIST}",
        "EXCEPTS=e",
        *EXTBAN_TOKENS,
        "INVEX=I",
        f"KEYLEN={KEY_LENGTH}",
        f"KICKLEN={limits.kick_length}",
        *([f"MAXLIST={MASK_LIST_LETTERS}:{limits.list_entries}"] if limits.list_entries else []),
        f"MODES={MOST_PARAMETERS}",
        f"MONITOR={limits.monitored_nicks}" if limits.monitored_nicks else "MONITOR",
        f"NAMELEN={limits.realname_length}",
        "NETWORK=Culture",
        f"NICKLEN={limits.nick_length}",
        PREFIX_TOKEN,
        "SAFELIST",
        f"STATUSMSG={''.join(PREFIXES.values())}",
        f"TARGMAX={target_limits(limits)}",
        f"TOPICLEN={limits.topic_length}",
        f"USERLEN={USERNAME_LENGTH}",
        "UTF8ONLY",
        "WHOX",
        # IRCv3 draft/account-registration.
        *(["draft/ACCOUNTREQUIRED"] if config.accounts.required else []),
    ]


@lru_cache(maxsize=2)
def isupport_lines(config: IrcdConfig, by_skills: tuple[str, ...] = ()) -> Sequence[list[str]]:
    """Return the tokens as lines of at most fifteen parameters (RFC 2812) and the usual length."""
    return _lines([*isupport_tokens(config), *by_skills])


def isupport_changes(before: IrcdConfig, after: IrcdConfig) -> Sequence[list[str]]:
    """Return the tokens that are new or changed, and with a minus those that are gone."""
    old, new = isupport_tokens(before), isupport_tokens(after)
    gone = set(map(_name, old)).difference(map(_name, new))
    return _lines([*set(new).difference(old), *(f"-{name}" for name in gone)])


def _name(token: str) -> str:
    return token.partition("=")[0]


def _lines(told: Iterable[str]) -> list[list[str]]:
    lines = []
    for line in pack(sorted(told), _TOKEN_BYTES_PER_LINE):
        tokens = line.split(" ")
        lines += [tokens[at : at + _TOKENS_PER_LINE] for at in range(0, len(tokens), _TOKENS_PER_LINE)]
    return lines
