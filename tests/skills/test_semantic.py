"""HISTORY SEMANTIC: found by what was meant. It needs culture[semantic] and the model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.history import Remembering, remembering
from support.network import Client
from support.requirement import unable

from culture.skills.history.minilm import WIDTH, MiniLm, find_model
from culture.skills.history.semantic import Encoder, Semantic
from culture.skills.history.skill import History
from culture.store.history.archive import Archive
from culture.store.history.maintenance import opened
from culture.store.history.pruning import RetentionRule, prune

# What was said, and a question about it in other words.
NEEDS_NUMPY = "culture[semantic] is not installed"
PAIRS = [
    ("the disk of thor is full again", "which machine has run out of storage space"),
    ("I rolled the deployment back to last week's build", "did we revert the release"),
    ("the certificate of the web shop expires on friday", "when do we have to renew TLS"),
    ("lunch is at noon in the blue kitchen", "where do we eat today"),
    ("please do not push to main before the review is done", "are we allowed to merge without approval"),
    ("orin's fan makes a terrible noise since monday", "what is wrong with the cooling of the jetson"),
    ("I raised the memory limit of the indexer to 8 GB", "how much RAM does the search service get"),
    ("the invoices are sent out on the first of each month", "when are customers billed"),
    ("somebody left the door of the server room open", "physical security problem in the data centre"),
    ("tests on arm64 fail because of unaligned access", "why is the build red on the raspberry architecture"),
    ("backups go to the bucket in frankfurt every night", "where are our copies stored"),
    ("ori is on holiday until the twentieth", "who is away this month"),
    ("the login page takes ten seconds to load", "users complain that signing in is slow"),
    ("we decided to use postgres instead of mysql", "which database did the team choose"),
    ("the printer on the second floor is out of paper", "cannot print my document"),
    ("the api key leaked in a public gist and was revoked", "was there an incident with exposed credentials"),
    ("spark reboots by itself every night at three", "a host restarts unexpectedly"),
    ("the new colleague from lisbon starts in december", "are we hiring anybody"),
    ("queries over the event table need an index on time", "how to make the reports faster"),
    ("the wifi in the meeting room drops all the time", "network connection is unstable during calls"),
    ("budget for gpu hours is used up for this quarter", "is there money left for training models"),
    ("I merged the fix for the memory leak in the parser", "is the bug solved where usage keeps growing"),
    ("the customer wants the report as a spreadsheet", "in which format should we deliver the figures"),
    ("we will stop supporting python 3.8 in spring", "until when do old interpreter versions work"),
]
CHATTER = """
good morning / thanks! / ok / brb / see you tomorrow / has anybody seen my umbrella / that is a nice picture /
the train was late / coffee? / I agree / lol / who is in the call / the sun is out / let us talk after lunch /
happy birthday bo / that song is stuck in my head / the window is open / I will look at it tomorrow /
sounds good to me / what a game
""".replace("\n", " ").split(" / ")


def test_without_the_extra_the_answer_names_it(tmp_path: Path):
    with remembering(tmp_path) as network:
        ori = network.client("spark-ori", "#ops")
        ori.send("HISTORY SEMANTIC #ops :what happened")
        assert ori.lines() == [
            ":spark FAIL HISTORY NEED_SEMANTIC :This server does not have culture[semantic]; try SEARCH"
        ]


@pytest.fixture(scope="module")
def encoder() -> MiniLm:
    pytest.importorskip("numpy", reason=NEEDS_NUMPY)
    model = find_model()
    if model is None:
        unable("the model is not installed")
    return MiniLm(model)


@pytest.fixture
def network(tmp_path: Path, encoder: MiniLm) -> Iterator[Remembering]:
    network = remembering_by_meaning(tmp_path, encoder)
    yield network
    network.ircd.skills.close()


def remembering_by_meaning(directory: Path, encoder: Encoder) -> Remembering:
    pytest.importorskip("numpy", reason=NEEDS_NUMPY)
    archive = Archive(directory)
    return Remembering(History(archive, "spark", Semantic(archive, lambda: encoder, lambda text: None)))


def index(network: Remembering) -> int:
    """How many messages have a vector now that had none."""
    network.flush()
    network.history.archive.catch_up()
    assert network.history.semantic is not None
    return sum(iter(network.history.semantic.index, 0))


def found(client: Client, target: str, query: str) -> list[str]:
    client.lines()
    client.send(f"HISTORY SEMANTIC {target} :{query}")
    return [line.partition("Z :")[2] for line in client.lines()[:-1]]


def test_three_quarters_of_paraphrased_questions_find_their_answer_in_the_first_three(network: Remembering):
    ori = network.client("spark-ori", "#ops")
    for number, (said, _) in enumerate(PAIRS):
        ori.send(f"PRIVMSG #ops :{said}", f"PRIVMSG #ops :{CHATTER[number % len(CHATTER)]}")
    index(network)
    hits = sum(said in found(ori, "#ops", asked)[:3] for said, asked in PAIRS)
    assert hits >= 0.75 * len(PAIRS)


def test_words_count_too(network: Remembering):
    ori = network.client("spark-ori", "#ops")
    ori.send(*(f"PRIVMSG #ops :error E{number} in the pump" for number in range(4700, 4720)))
    index(network)
    assert found(ori, "#ops", "E4711")[0] == "error E4711 in the pump"


def test_only_what_may_be_read(network: Remembering):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo", "#dev")
    ori.send("PRIVMSG #ops :the disk is full", "MODE #ops +s", "PRIVMSG #ops :no space left on the volume")
    bo.send("PRIVMSG #dev :storage has run out", "PRIVMSG spark-ori :the drive is full")
    index(network)
    lea = network.client("spark-lea")
    assert found(lea, "*", "disk space") == ["storage has run out"]
    assert set(found(ori, "*", "disk space")) == {
        "the disk is full",
        "no space left on the volume",
        "storage has run out",
        "the drive is full",
    }
    assert set(found(ori, "#ops", "disk space")) == {"the disk is full", "no space left on the volume"}


class DiskOrNot:
    """An encoder that takes no time, for many messages."""

    def encode(self, texts: Sequence[str]) -> Any:
        numpy = pytest.importorskip("numpy")
        return numpy.eye(2, WIDTH, dtype=numpy.float32)[[text.count("disk") for text in texts]]


def test_what_others_say_among_themselves_hides_nothing(tmp_path: Path):
    network = remembering_by_meaning(tmp_path, DiskOrNot())
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo", "#dev")
    ori.send("PRIVMSG #ops :lunch is ready")
    bo.send("MODE #dev +s", *(f"PRIVMSG #dev :disk {number} is full" for number in range(510)))
    index(network)
    assert found(ori, "*", "disk space") == ["lunch is ready"]
    network.ircd.skills.close()


def test_what_was_redacted_has_no_vector_any_more(network: Remembering):
    ori = network.client("spark-ori", "#ops", caps="message-tags echo-message")
    ori.send("PRIVMSG #ops :the disk is full", "PRIVMSG #ops :lunch is ready")
    index(network)
    msgid = ori.lines()[0].split(" ")[0].removeprefix("@msgid=")
    ori.send(f"REDACT #ops {msgid}")
    network.flush()
    assert network.history.semantic is not None
    network.history.semantic.forget()
    assert len(network.history.semantic._tools()[1].numbers()) == 1
    assert found(ori, "#ops", "storage") == ["lunch is ready"]


def test_what_is_said_after_the_newest_were_pruned_has_a_vector_of_its_own(network: Remembering):
    ori = network.client("spark-ori", "#ops")
    ori.send("PRIVMSG #ops :the disk is full", "PRIVMSG #ops :lunch is ready")
    index(network)
    network.clock.advance(86400)
    with opened(network.history.archive.directory) as connection:
        prune(connection, RetentionRule(keep_days=1), {}, network.clock() + 1, lambda: None)
    ori.send("PRIVMSG #ops :the train was late", "PRIVMSG #ops :it rains")
    assert index(network) == 2
    assert network.history.semantic is not None
    network.history.semantic.forget()
    assert len(network.history.semantic._tools()[1].numbers()) == 2
    assert found(ori, "#ops", "storage")[0] in ("the train was late", "it rains")


def test_it_goes_on_where_it_stopped(tmp_path: Path, encoder: MiniLm):
    for text in ("the disk is full", "lunch is ready"):
        network = remembering_by_meaning(tmp_path, encoder)
        ori = network.client("spark-ori", "#ops")
        ori.send(f"PRIVMSG #ops :{text}")
        assert index(network) == 1
        assert index(network) == 0
        if text == "lunch is ready":
            assert found(ori, "#ops", "no space left")[0] == "the disk is full"
            assert found(ori, "#ops", "something to eat")[0] == "lunch is ready"
        network.ircd.skills.close()
