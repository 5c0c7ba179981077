"""A delegate with an account speaks for a person, and agents can tell."""

from pathlib import Path

import pytest
from support.accounts import PASSWORD, accounts_in
from support.bridge import BridgeProcess, text_of
from support.irc import connected
from support.servers import Server

from culture.protocol.authority.senders import SENDER_TAG

# Each test starts a server and a bridge, which imports much.
pytestmark = pytest.mark.timeout(180)


async def test_what_a_delegate_says_is_proved_to_be_a_persons_word(home: Path, server: Server):
    """Not by RELAYMSG, under which nothing is proved, although the bridge could relay in its own channel."""
    accounts_in(home / "server/state", "ori")
    credentials = home / "credentials"
    credentials.mkdir()
    (credentials / "ori").write_text(PASSWORD)
    bridge = BridgeProcess(home, server.address)
    bridge.add_client("delegate", "ori-delegate", account="ori", account_credential="ori")
    bridge.add_client("guest", "guest")
    async with (
        bridge.running(env={"CREDENTIALS_DIRECTORY": str(credentials)}),
        bridge.client("delegate") as delegate,
        bridge.client("guest") as guest,
    ):
        await guest.call_tool("create_channel", {"name": "#work"})
        async with connected(server.address.port, "bo", "#work", caps="message-tags account-tag") as bo:
            answer = {"channel": "#work", "text": "@spark-claude yes"}
            assert (
                text_of(await delegate.call_tool("send_message", answer)) == "sent to #work as ori-delegate"
            )
            line = await bo.until("@spark-claude yes")
            tags, _, rest = line.partition(" ")
            assert rest.startswith(":ori-delegate!")
            assert {"account=ori", f"{SENDER_TAG}=person"} <= set(tags.removeprefix("@").split(";"))

            await guest.call_tool("send_message", {"channel": "#work", "text": "@spark-claude no"})
            line = await bo.until("@spark-claude no")
            assert "account=" not in line
            assert f"{SENDER_TAG}=person" not in line
