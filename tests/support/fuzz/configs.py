"""How the server of a game is configured, one after the other."""

from dataclasses import replace
from typing import Final

from culture.config.ircd import AccountsConfig, IrcdConfig, Limits, OperConfig

PASSWORD: Final = "sesame"
ACCOUNT: Final = "a"
OPER: Final = "root"
LIMITS: Final = Limits(
    channels_per_client=3, list_entries=5, monitored_nicks=4, sendq_bytes=16384, login_failures=4
)

FIRST: Final = IrcdConfig(
    name="spark",
    nick_policy="open",
    limits=LIMITS,
    motd="hello",
    opers=(OperConfig(OPER, password_credential=OPER),),
    accounts=AccountsConfig(registration=True, reserve_nicks=True),
)
# What an operator of the server may change while people are on it.
CONFIGS: Final = (
    FIRST,
    replace(FIRST, nick_policy="prefixed", motd="", accounts=AccountsConfig(required=True), opers=()),
    replace(FIRST, limits=replace(LIMITS, nick_length=9, channel_length=9, topic_length=1)),
    replace(FIRST, accounts=AccountsConfig(), opers=(OperConfig(OPER, account=ACCOUNT, privileges=()),)),
)
