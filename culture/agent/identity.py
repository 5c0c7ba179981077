"""Who an agent is on the network."""

from typing import Final, NamedTuple

from culture.client.registration import Identity
from culture.config.agents import AgentConfig
from culture.protocol.capabilities import Cap


class Passwords(NamedTuple):
    # Of the server, and of the agent's account there.
    server: str = ""
    account: str = ""


NO_PASSWORDS: Final = Passwords()


def identity_of(config: AgentConfig, passwords: Passwords) -> Identity:
    """Without a password for its account it does not log in."""
    return Identity(
        config.nick,
        config.agent,
        f"{config.agent} agent",
        passwords.server,
        is_bot=True,
        account=(config.account or config.nick) if passwords.account else "",
        account_password=passwords.account,
        capabilities=(Cap.HALT,),
    )
