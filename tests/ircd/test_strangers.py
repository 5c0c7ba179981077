"""Where an account is required, who has none sees nothing and does nothing, whatever they send."""

import pytest
from support.network import Client, Network

from culture.config.ircd import AccountsConfig
from culture.ircd.commands.table import COMMANDS
from culture.ircd.session import Phase

# CONNECT is a method of HTTP too, and ends the connection of who is not registered (test_http.py).
ONLY_AFTERWARDS = sorted(
    name
    for name, command in COMMANDS.items()
    if Phase.REGISTERING not in command.phases and name != "CONNECT"
)
PARAMETERS = [
    "",
    " #inside",
    " #inside :hello",
    " insider :hello",
    " #inside insider",
    " insider #inside x :y",
    " * * * *",
]


@pytest.fixture
def network() -> Network:
    return Network(nick_policy="open", accounts=AccountsConfig(required=True))


@pytest.fixture
def insider(network: Network) -> Client:
    insider = network.connect()
    insider.session.user.account = "clearance"
    insider.send(
        "NICK insider", "USER private 0 * :Somebody Known", "JOIN #inside", "TOPIC #inside :the plan"
    )
    insider.lines()
    return insider


@pytest.fixture
def stranger(network: Network, insider: Client) -> Client:
    """One that has said who it is, and would be let in if it only ended its negotiation."""
    stranger = network.connect()
    stranger.send("CAP LS 302", "CAP REQ :message-tags standard-replies", "NICK stranger", "USER s 0 * :s")
    stranger.lines()
    return stranger


def snapshot(network: Network) -> object:
    state = network.ircd.state
    return (
        {
            key: (user.nick, user.account, user.away, user.realname, set(user.modes))
            for key, user in state.users.items()
        },
        {
            key: (channel.topic, set(channel.members), set(channel.flags), dict(channel.settings))
            for key, channel in state.channels.items()
        },
    )


@pytest.mark.parametrize("command", ONLY_AFTERWARDS)
def test_they_are_told_to_register_and_nothing_else(network: Network, stranger: Client, command: str):
    for parameters in PARAMETERS:
        stranger.send(command + parameters)
        assert stranger.lines() == [":spark 451 stranger :You have not registered"]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_nobody_inside_notices_and_nothing_inside_is_told(
    network: Network, insider: Client, stranger: Client, command: str
):
    before = snapshot(network)
    for parameters in PARAMETERS:
        stranger.send(command + parameters)
    told = "\n".join(stranger.lines())
    assert insider.lines() == []
    assert snapshot(network) == before
    assert not any(secret in told for secret in ("the plan", "private", "Somebody Known", "clearance"))


def test_at_the_end_they_are_sent_away(network: Network, stranger: Client):
    stranger.send("CAP END")
    assert stranger.lines() == [
        ":spark FAIL * ACCOUNT_REQUIRED :This server requires an account; log in by SASL",
        "ERROR :Closing Link: spark (Log in first (SASL))",
    ]
    assert network.ircd.state.find_user("stranger") is None


def test_who_comes_from_where_it_is_not_required_is_let_in(network: Network, stranger: Client):
    stranger.session.is_trusted = True
    stranger.send("CAP END")
    assert stranger.numerics()[0] == "001"
