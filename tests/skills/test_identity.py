"""A nick identifies nobody: what was said is for the account that said it, or for the same session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.accounts import accounts_in, logged_in
from support.history import Remembering, remembering
from support.network import Client, Network

from culture.ircd.restart.snapshot import restore_session, session_values
from culture.net.auth.accounts import StoredAccounts
from culture.skills.urlindex import UrlIndex

CAPS = "message-tags batch draft/chathistory draft/message-redaction echo-message"
TARGETS = "CHATHISTORY TARGETS timestamp=1970-01-01T00:00:00.000Z timestamp=2100-01-01T00:00:00.000Z 10"


@pytest.fixture(params=["prefixed", "open"])
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def network(tmp_path: Path, policy: str) -> Iterator[Remembering]:
    with remembering(tmp_path, UrlIndex(tmp_path), nick_policy=policy) as network:
        yield network


def told(client: Client, *lines: str) -> str:
    """All that a client reads when it sends this."""
    client.lines()
    client.send(*lines)
    return "\n".join(client.lines())


def say(client: Client, target: str, text: str) -> str:
    """The msgid of a message."""
    client.lines()
    client.send(f"PRIVMSG {target} :{text}")
    (line,) = client.lines()
    return line.partition("msgid=")[2].partition(" ")[0].partition(";")[0]


def everything_of(client: Client, *nicks: str) -> str:
    """All that a client finds of its direct messages with these."""
    asked = [f"{command} {nick} {rest}" for nick in nicks for command, rest in READS]
    return told(client, *asked, TARGETS, "HISTORY SEARCH * psst", "URLS")


READS = [
    ("HISTORY RECENT", "9"),
    ("HISTORY SINCE", "1970-01-01T00:00:00.000Z"),
    ("HISTORY SEARCH", "psst"),
    ("CHATHISTORY LATEST", "* 9"),
    ("CHATHISTORY AFTER", "timestamp=1970-01-01T00:00:00.000Z 9"),
    ("CHATHISTORY BEFORE", "timestamp=2100-01-01T00:00:00.000Z 9"),
    ("CHATHISTORY AROUND", "timestamp=1970-01-12T13:46:40.000Z 9"),
]


def test_who_takes_a_nick_reads_nothing_that_its_owner_wrote_or_was_told(network: Remembering):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
    ori.send("PRIVMSG spark-bo :psst one")
    bo.send("PRIVMSG spark-ori :psst two")
    ori.send("PRIVMSG spark-ori :psst to myself")
    assert everything_of(ori, "spark-bo").count("psst one") == len(READS) + 1
    ori.send("QUIT")
    thief = network.client("spark-ori", caps=CAPS)
    assert "psst" not in everything_of(thief, "spark-bo", "spark-ori")
    assert "spark-bo" not in told(thief, TARGETS)
    assert "psst one" in everything_of(bo, "spark-ori")


def test_who_changes_to_a_nick_is_not_who_had_it(network: Remembering):
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
    ori.send("PRIVMSG spark-bo :psst")
    ori.send("NICK spark-ori2")
    mia = network.client("spark-mia", caps=CAPS)
    mia.send("NICK spark-ori")
    assert "psst" not in everything_of(mia, "spark-bo")
    assert "psst" in everything_of(ori, "spark-bo")
    mia.send("PRIVMSG spark-bo :from mia")
    assert "psst" not in everything_of(mia, "spark-bo")
    assert "from mia" not in everything_of(ori, "spark-bo")
    assert "psst" in everything_of(bo, "spark-ori2")


def test_who_takes_a_nick_takes_back_nothing_that_its_owner_said(network: Remembering):
    ori, bo = network.client("spark-ori", "#ops", caps=CAPS), network.client("spark-bo", "#ops", caps=CAPS)
    public, direct = say(bo, "#ops", "one"), say(bo, "spark-ori", "two")
    bo.send("QUIT")
    thief = network.client("spark-bo", "#ops", caps=CAPS)
    answer = told(thief, f"REDACT #ops {public}", f"REDACT spark-ori {direct}")
    assert "REDACT_FORBIDDEN #ops" in answer
    assert "UNKNOWN_MSGID spark-ori" in answer
    assert "one" in told(ori, "HISTORY RECENT #ops 9")
    assert "two" in told(ori, "HISTORY RECENT spark-bo 9")


def test_a_guest_takes_back_what_they_said_under_another_nick(network: Remembering):
    ori, bo = network.client("spark-ori", "#ops", caps=CAPS), network.client("spark-bo", "#ops", caps=CAPS)
    public, direct = say(bo, "#ops", "one"), say(bo, "spark-ori", "two")
    bo.send("NICK spark-bo2", f"REDACT #ops {public}", f"REDACT spark-ori {direct}")
    assert "one" not in told(ori, "HISTORY RECENT #ops 9")
    assert "two" not in told(ori, "HISTORY RECENT spark-bo2 9", "HISTORY RECENT spark-bo 9")


def test_who_takes_the_nick_of_a_former_member_reads_nothing_of_a_secret_channel(network: Remembering):
    ori = network.client("spark-ori", "#board")
    ori.send("MODE #board +s", "PRIVMSG #board :psst http://example.org/secret")
    ori.send("QUIT")
    network.clock.advance(10)
    thief = network.client("spark-ori", "#board")
    assert "psst" not in everything_of(thief, "#board")
    assert "secret" not in everything_of(thief, "#board")


def test_a_guest_who_comes_back_to_a_secret_channel_reads_on_whatever_their_nick(network: Remembering):
    ori = network.client("spark-ori", "#board")
    ori.send("MODE #board +s", "PRIVMSG #board :psst", "PART #board", "NICK spark-ori2")
    network.clock.advance(10)
    ori.send("JOIN #board")
    assert "psst" in told(ori, "HISTORY RECENT #board 9")


def test_a_guest_is_the_same_after_a_restart_and_who_comes_then_is_not(tmp_path: Path, policy: str):
    with remembering(tmp_path, nick_policy=policy) as network:
        ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
        ori.send("PRIVMSG spark-bo :psst")
        kept = session_values(network.ircd, ori.session)
        network.flush()
    with remembering(tmp_path, nick_policy=policy) as network:
        thief = network.client("spark-bo", caps=CAPS)
        assert "psst" not in everything_of(thief, "spark-ori")
        ori = network.adopt(restore_session(network.ircd, kept, in_order=True))
        assert "psst" in everything_of(ori, "spark-bo")
    assert bo.session.user.session_id != thief.session.user.session_id


def test_a_session_that_an_earlier_version_kept_is_one_of_its_own(network: Network):
    ori = network.client("spark-ori")
    kept = session_values(network.ircd, ori.session)
    del kept["session_id"]
    ori.send("QUIT")
    again = restore_session(network.ircd, kept, in_order=True)
    assert again.user.session_id not in ("", ori.session.user.session_id)


def test_who_logs_in_reads_on_in_the_same_session_and_not_in_another(tmp_path: Path, policy: str):
    accounts = StoredAccounts(accounts_in(tmp_path, "zoe"))
    with remembering(tmp_path, authenticator=accounts, nick_policy=policy) as network:
        ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
        before = say(ori, "spark-bo", "psst before")
        logged_in(ori, "zoe")
        ori.send("PRIVMSG spark-bo :psst after")
        assert "psst before" in (found := everything_of(ori, "spark-bo"))
        assert "psst after" in found
        bo.send("PRIVMSG spark-ori :psst answer")
        again = logged_in(network.client("spark-ori2", caps=CAPS), "zoe")
        assert "psst before" not in (found := everything_of(again, "spark-bo"))
        assert "psst after" in found
        assert "psst answer" in found
        ori.send(f"REDACT spark-bo {before}")
        assert "psst before" not in everything_of(bo, "spark-ori")


def test_what_an_account_was_told_is_read_by_whoever_logs_in_to_it_and_nobody_else(
    tmp_path: Path, policy: str
):
    accounts = StoredAccounts(accounts_in(tmp_path, "zoe", "lea"))
    with remembering(tmp_path, authenticator=accounts, nick_policy=policy) as network:
        ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
        logged_in(ori, "zoe")
        said = say(ori, "spark-bo", "psst")
        ori.send("QUIT")
        thief = network.client("spark-ori", caps=CAPS)
        assert "psst" not in everything_of(thief, "spark-bo")
        assert "FAIL REDACT" in told(thief, f"REDACT spark-bo {said}")
        logged_in(thief, "lea")
        assert "psst" not in everything_of(thief, "spark-bo")
        assert "FAIL REDACT" in told(thief, f"REDACT spark-bo {said}")
        assert "psst" in everything_of(bo, "spark-ori")
