"""`culturectl failed`: tell the channels of an agent that its service failed.

culture-agent-failed@.service runs it.
"""

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import Final

from culture.agent.skill.calling import call, socket_of
from culture.client.client import Client
from culture.client.connection import tls_of
from culture.client.events import Echoed, Event, Registered
from culture.client.registration import Identity
from culture.client.session import Kind
from culture.config import loader, paths
from culture.config.agents import AgentConfig, AgentsConfig, find_agent
from culture.ctl import output, systemctl
from culture.ctl.agent_call import unit_of
from culture.ctl.options import add_agents_config
from culture.errors import CultureError, UnavailableError
from culture.protocol.capabilities import Cap
from culture.systemd.credentials import agent_directory, read_credential

TIMEOUT_S: Final = 20.0
# The meaning of exit statuses (sysexits) that prevent a restart.
_MEANINGS: Final = {
    "64": "a wrong command line",
    "77": "not allowed",
    "78": "a wrong configuration, or a program that is missing, too old or not logged in",
    # Statuses of systemd itself (systemd.exec(5)).
    "217": "its user does not exist",
    "243": "its credentials cannot be loaded",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("nick", metavar="NICK", help="Agent whose service failed")
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    path = options.config or paths.config_file("agents.yaml", os.environ)
    config = loader.load(path, AgentsConfig)
    agent = find_agent(config, options.nick, where=str(path))
    if is_agent_running(agent.nick):
        output.note(options, f"{agent.nick} is running; nothing to announce")
        return 0
    untold = asyncio.run(_tell(config, agent, failure_text(agent.nick, os.environ)))
    if len(untold) == len(agent.channels):
        raise UnavailableError(f"nobody was told: {'; '.join(untold) or 'it has no channels'}")
    for why in untold:
        output.warn(why)
    return 0


def is_agent_running(nick: str) -> bool:
    """Return whether the agent is running again, as far as this user may know."""
    path = socket_of(nick, os.environ)
    try:
        if path.parent == paths.SYSTEM_RUNTIME:
            # A connection would start the agent, because systemd owns its socket.
            return systemctl.is_active(unit_of(nick))
        call(path, {"type": "whoami", "by": "person"}, wait_s=0.0, answer_timeout_s=TIMEOUT_S)
    except CultureError:
        return False
    return True


def failure_text(nick: str, env: Mapping[str, str]) -> str:
    """Return the announcement, from what systemd says about the failed unit (systemd.exec(5))."""
    unit = f"culture-agent@{nick}"
    status, result = env.get("MONITOR_EXIT_STATUS", ""), env.get("MONITOR_SERVICE_RESULT", "")
    why = _MEANINGS.get(status) or " ".join(filter(None, [result, status])) or "it did not say why"
    return f"{nick} is not running any more: {why}. See: systemctl status {unit}"


async def _tell(config: AgentsConfig, agent: AgentConfig, text: str) -> list[str]:
    """Send the text to all channels, and return the reason for each channel that did not get it."""
    registered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    whys: list[CultureError] = []

    def received(event: Event) -> None:
        if isinstance(event, Registered) and not registered.done():
            registered.set_result(None)

    credential = config.server.password_credential
    password = read_credential(credential, os.environ, agent_directory(agent.nick)) if credential else ""
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
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.wait([running, registered], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                # A second attempt would fail too.
                running.result()
    except TimeoutError:
        why = whys[-1] if whys else UnavailableError(f"no answer from {client.address}")
        raise UnavailableError(f"nobody was told: {why}", hint=why.hint) from None
    else:
        # A channel that refuses the announcement does not keep it from the others.
        return [each for name in agent.channels if (each := await _tell_channel(client, name, text))]
    finally:
        client.quit("said what there was to say")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _tell_channel(client: Client, channel: str, text: str) -> str:
    """Send the text to a channel, and return why nobody got it, or an empty text."""
    try:
        await client.join(channel)
        answers = await client.ask(Kind.NOTICE.value, channel, text, trailing=True)
    except CultureError as error:
        return str(error)
    # A server drops a notice without an error (RFC 2812 section 3.3.2), but then does not echo it.
    if client.can(Cap.ECHO_MESSAGE) and not any(isinstance(answer, Echoed) for answer in answers):
        return f"'{channel}': the server does not pass on what is said there"
    return "" if len(client.members(channel)) > 1 else f"'{channel}': nobody is there"
