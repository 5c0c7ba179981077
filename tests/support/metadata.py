"""Clients that publish, and that want to know what others do (IRCv3 draft/metadata-3)."""

import re

from support.network import Client, Network

CAPS = "draft/metadata-3 batch"


def read(client: Client) -> list[str]:
    """What arrived, with batches called 1, 2 … in their order."""
    lines = client.lines()
    references = [line.partition(" BATCH +")[2].split(" ")[0] for line in lines if " BATCH +" in line]
    for number, reference in enumerate(references, start=1):
        called = re.compile(rf"(?<=batch=){reference}(?=[; ])|(?<= BATCH [+-]){reference}(?= |$)")
        lines = [called.sub(str(number), line) for line in lines]
    return lines


def subscriber(network: Network, nick: str, *channels: str, keys: str = "state model") -> Client:
    client = network.client(nick, caps=CAPS)
    client.send(f"METADATA * SUB {keys}", *(f"JOIN {channel}" for channel in channels))
    client.lines()
    return client
