"""People and agents that are proven to be what they are."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from support.accounts import PASSWORD, accounts_in
from support.irc import Plain, connected

Enter = Callable[[str], AbstractAsyncContextManager[Plain]]


@pytest.fixture
def person(ircd, home) -> Enter:
    """A person in #general, by the name of an account, which proves it."""

    @asynccontextmanager
    async def enter(name: str) -> AsyncIterator[Plain]:
        accounts_in(home / "state", name)
        nick = f"spark-{name}"
        async with connected(ircd.port, nick, "#general", account=name, password=PASSWORD) as client:
            yield client

    return enter


@pytest.fixture
def other_agent(ircd, home) -> Enter:
    """Another agent in #general: it has an account of its own, and says that it is a bot."""

    @asynccontextmanager
    async def enter(nick: str) -> AsyncIterator[Plain]:
        accounts_in(home / "state", nick)
        async with connected(ircd.port, nick, "#general", account=nick, password=PASSWORD) as client:
            client.send(f"MODE {nick} +B", "PING bot")
            await client.until("PONG")
            yield client

    return enter


@pytest.fixture
async def ori(person) -> AsyncIterator[Plain]:
    """A person in #general."""
    async with person("ori") as ori:
        yield ori
