"""Agents of a simulated host: one with a Unix user of its own, and one that runs as a person."""

from culture.ircd.auth.agents import AgentNick
from culture.ircd.commands.session.authentication import log_in
from support.network import Client, Network

OWN_UID, SHARED_UID = 7, 1009


class KnownAgents:
    """spark-claude and spark-codex have Unix users of their own, spark-helper runs as a person."""

    def __init__(self) -> None:
        self._known = {
            "spark-claude": AgentNick("spark-claude", frozenset({OWN_UID}), True),
            "spark-codex": AgentNick("spark-codex", frozenset({OWN_UID + 1}), True),
            "spark-helper": AgentNick("spark-helper", frozenset({SHARED_UID}), False),
        }

    def find(self, nick: str) -> AgentNick | None:
        return self._known.get(nick.lower())

    def runs_as(self, uid: int) -> bool:
        return any(uid in agent.uids for agent in self._known.values())


def agent_of(network: Network, *channels: str, nick: str = "spark-claude", caps: str = "") -> Client:
    """An agent with a Unix user of its own, as the driver lets it in, with nothing left to read."""
    client = network.connect()
    client.session.uid = OWN_UID + (nick != "spark-claude")
    client.session.unix_user = f"culture-{nick}"
    log_in(network.ircd, client.session, nick, "agent")
    client.send(f"CAP REQ :{caps}", f"NICK {nick}", "USER claude 0 * :agent", "CAP END")
    client.send(*(f"JOIN {channel}" for channel in channels))
    client.lines()
    return client


def unix_person(network: Network, nick: str, *channels: str, uid: int = 1000, user: str = "ori") -> Client:
    """A client whose Unix user the kernel named, with nothing left to read."""
    client = network.connect()
    client.session.uid, client.session.unix_user = uid, user
    client.send(f"NICK {nick}", "USER ori 0 * :Ori", *(f"JOIN {channel}" for channel in channels))
    client.lines()
    return client
