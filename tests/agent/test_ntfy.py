"""Notifications reach a real ntfy server, as a phone would get them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.ntfy import Ntfy, ntfy_server

from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.webhooks import Notification, WebhookEvent, Webhooks
from culture.config.agent.webhooks import WebhooksConfig

# It downloads the server once.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

JOURNAL = JournalEvents("spark-claude", "claude")
QUESTION = Notification(
    WebhookEvent.QUESTION, "spark-claude", 'needs input: "Löschen? 47 Dateien 🗑"', "#ops", "3f2a"
)


@pytest.fixture(scope="module")
def ntfy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ntfy]:
    home: Path = tmp_path_factory.mktemp("ntfy")
    with ntfy_server(home) as server:
        yield server


def failures(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "webhook" in record.getMessage()]


async def test_a_question_arrives_with_title_text_and_priority(
    ntfy: Ntfy, caplog: pytest.LogCaptureFixture
) -> None:
    webhooks = Webhooks(WebhooksConfig(kind="ntfy", url=ntfy.url), JOURNAL, token=ntfy.token)

    webhooks.notify(QUESTION)
    await webhooks.close()

    assert failures(caplog) == []
    [message] = ntfy.messages()
    assert message["title"] == "spark-claude: question"
    assert message["message"] == 'needs input: "Löschen? 47 Dateien 🗑"'
    assert message["priority"] == 4


async def test_a_wrong_token_is_told_in_the_journal(ntfy: Ntfy, caplog: pytest.LogCaptureFixture) -> None:
    before = ntfy.messages()
    webhooks = Webhooks(WebhooksConfig(kind="ntfy", url=ntfy.url), JOURNAL, token="tk_forged")

    webhooks.notify(QUESTION)
    await webhooks.close()

    assert "the receiver answered 401" in failures(caplog)[0]
    assert ntfy.messages() == before


async def test_a_text_longer_than_ntfy_takes_arrives_cut(
    ntfy: Ntfy, caplog: pytest.LogCaptureFixture
) -> None:
    long = Notification(WebhookEvent.ERROR, "spark-claude", "ä" * 10_000)
    webhooks = Webhooks(WebhooksConfig(kind="ntfy", url=ntfy.url), JOURNAL, token=ntfy.token)

    webhooks.notify(long)
    await webhooks.close()

    assert failures(caplog) == []
    last = ntfy.messages()[-1]
    assert last["message"].startswith("ää")
    # A message over the limit becomes an attachment, which nobody reads on a phone.
    assert "attachment" not in last
