"""RPL_ISUPPORT: what this server does, in the tokens that clients read."""

from collections.abc import Iterator

from culture.config.ircd import IrcdConfig
from culture.ircd.modes import CHANMODES_TOKEN, MOST_PARAMETERS, PREFIX_TOKEN

_TOKENS_PER_LINE = 12


def isupport_tokens(config: IrcdConfig) -> list[str]:
    limits = config.limits
    return [
        "CASEMAPPING=rfc1459",
        f"CHANLIMIT=#:{limits.channels_per_client}",
        CHANMODES_TOKEN,
        f"CHANNELLEN={limits.channel_length}",
        "CHANTYPES=#",
        f"MODES={MOST_PARAMETERS}",
        "NETWORK=Culture",
        f"NICKLEN={limits.nick_length}",
        PREFIX_TOKEN,
        f"TARGMAX=JOIN:,NAMES:,NOTICE:{limits.targets},PART:,PRIVMSG:{limits.targets},TAGMSG:{limits.targets}",
        f"TOPICLEN={limits.topic_length}",
        "UTF8ONLY",
    ]


def isupport_lines(config: IrcdConfig) -> Iterator[list[str]]:
    """RFC 2812 gives a line fifteen parameters; nick and closing text take two."""
    tokens = isupport_tokens(config)
    for start in range(0, len(tokens), _TOKENS_PER_LINE):
        yield tokens[start : start + _TOKENS_PER_LINE]
