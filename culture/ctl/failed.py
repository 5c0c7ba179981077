"""`culturectl failed`: where an agent was, people read that its service gave up. Its unit starts it."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from culture.client.client import Client
from culture.client.connection import tls_of
from culture.client.events import Echoed, Event, Registered
from culture.client.registration import Identity
from culture.client.session import Kind
from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig, find_agent
from culture.errors import CultureError, UnavailableError
from culture.protocol.capabilities import Cap
from culture.systemd.credentials import read_credential

PATIENCE_S: Final = 20.0
# Those that are not tried again (sysexits), as a person would say it.
_MEANINGS: Final = {
    "64": "a wrong command line",
    "77": "not allowed",
    "78": "a wrong configuration, or a program that is missing, too old or not logged in",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nick", metavar="NICK", help="whose service failed")
    where = "default: ~/.culture/agents.yaml if it exists, else /etc/culture/agents.yaml"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)


def run(options: argparse.Namespace) -> int:
    path = options.config or paths.config_file("agents.yaml", os.environ)
    config = loader.load(path, AgentsConfig)
    agent = find_agent(config, options.nick, where=str(path))
    untold = asyncio.run(_tell(config, agent, words(agent.nick, os.environ)))
    if len(untold) == len(agent.channels):
        raise UnavailableError(f"nobody was told: {'; '.join(untold) or 'it has no channels'}")
    for why in untold:
        print(why, file=sys.stderr)
    return 0


def words(nick: str, env: Mapping[str, str]) -> str:
    """systemd says what happened to the unit that it was triggered by (systemd.exec(5))."""
    unit = f"culture-agent@{nick}"
    status, result = env.get("MONITOR_EXIT_STATUS", ""), env.get("MONITOR_SERVICE_RESULT", "")
    why = _MEANINGS.get(status) or " ".join(filter(None, [result, status])) or "it did not say why"
    return f"{nick} is not running any more: {why}. See: systemctl status {unit}"


async def _tell(config: AgentsConfig, agent: AgentConfig, text: str) -> list[str]:
    """Why nobody was told there, of each channel where that is so."""
    registered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    whys: list[CultureError] = []

    def received(event: Event) -> None:
        if isinstance(event, Registered) and not registered.done():
            registered.set_result(None)

    credential = config.server.password_credential
    password = read_credential(credential, os.environ) if credential else ""
    host = agent.nick.partition("-")[0]
    identity = Identity(f"{host}-systemd", "systemd", "tells what failed", password, is_bot=True)
    client = Client(
        config.server.address,
        identity,
        (),
        received,
        lambda why, wait_s: whys.append(why),
        tls=tls_of(config.server),
    )
    running = asyncio.create_task(client.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait([running, registered], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                # Trying again would not mend it.
                running.result()
    except TimeoutError:
        why = whys[-1] if whys else UnavailableError(f"no answer from {client.address}")
        raise UnavailableError(f"nobody was told: {why}", hint=why.hint) from None
    else:
        # One that lets nobody in is no reason to leave out the next.
        return [each for name in agent.channels if (each := await _tell_channel(client, name, text))]
    finally:
        client.quit("said what there was to say")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _tell_channel(client: Client, channel: str, text: str) -> str:
    """Why nobody was told, or nothing."""
    try:
        await client.join(channel)
        answers = await client.ask(Kind.NOTICE.value, channel, text, trailing=True)
    except CultureError as error:
        return str(error)
    # A server says nothing of a notice that it drops (RFC 2812 section 3.3.2); it only does not echo it.
    if client.can(Cap.ECHO_MESSAGE) and not any(isinstance(answer, Echoed) for answer in answers):
        return f"'{channel}': the server does not pass on what is said there"
    return "" if len(client.members(channel)) > 1 else f"'{channel}': nobody is there"
