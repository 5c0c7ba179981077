"""IRCv3 draft/extended-isupport: what the server does, before registration, in a batch, and as it changes."""

import dataclasses

from support.network import Client, Network

from culture.config.ircd import Limits
from culture.ircd.commands.session.negotiation import announce_offers

CAPS = "batch draft/extended-isupport"


def are_told_in_a_batch(lines: list[str], nick: str) -> bool:
    opening, *told, closing = lines
    reference = opening.split(" ")[2].removeprefix("+")
    start = f"@batch={reference} :spark 005 {nick} "
    assert opening == f":spark BATCH +{reference} draft/isupport"
    assert closing == f":spark BATCH -{reference}"
    return bool(told) and all(line.startswith(start) for line in told)


def reconfigure(network: Network, **changes: object) -> None:
    before = network.ircd.config
    network.ircd.reconfigure(dataclasses.replace(before, **changes), {})
    announce_offers(network.ircd, before)


def newcomer(network: Network, caps: str = "") -> Client:
    client = network.connect()
    client.send(f"CAP REQ :{caps}")
    client.lines()
    return client


def test_it_is_told_before_registration_to_who_asked_for_the_capability():
    ori = newcomer(Network(), CAPS)
    ori.send("ISUPPORT")
    assert are_told_in_a_batch(ori.lines(), "*")


def test_without_batch_it_comes_line_by_line():
    ori = newcomer(Network(), "draft/extended-isupport")
    ori.send("ISUPPORT")
    lines = ori.lines()
    assert lines
    assert all(line.startswith(":spark 005 * ") for line in lines)


def test_without_the_capability_it_is_for_those_who_are_registered():
    network = Network()
    coming, ori = newcomer(network, "batch"), network.client("spark-ori", caps="batch")
    coming.send("ISUPPORT")
    assert coming.lines() == [":spark 451 * :You have not registered"]
    ori.send("ISUPPORT")
    assert set(ori.numerics()) == {"005"}


def test_nothing_of_it_comes_outside_a_batch():
    ori = newcomer(Network(), CAPS)
    ori.send("NICK spark-ori", "USER ori 0 * :Ori", "CAP END")
    welcome = ori.lines()
    batch = [line for line in welcome if "BATCH" in line or " 005 " in line]
    at = welcome.index(batch[0])
    assert welcome[at : at + len(batch)] == batch
    assert are_told_in_a_batch(batch, "spark-ori")

    ori.send("VERSION")
    version, *rest = ori.lines()
    assert " 351 " in version
    assert are_told_in_a_batch(rest, "spark-ori")


def test_the_batch_is_the_answer_to_a_labeled_question():
    ori = Network().client("spark-ori", caps=f"{CAPS} labeled-response")
    ori.send("@label=x ISUPPORT")
    opening, *rest = ori.lines()
    assert opening.startswith("@label=x ")
    assert are_told_in_a_batch([opening.removeprefix("@label=x "), *rest], "spark-ori")


def test_what_a_reload_changes_is_told_to_everyone():
    network = Network(denied_client_tags=("typing",))
    ori, bo = network.client("spark-ori"), network.client("spark-bo", caps=CAPS)
    reconfigure(network, limits=Limits(topic_length=100), denied_client_tags=())
    assert ori.lines() == [":spark 005 spark-ori -CLIENTTAGDENY TOPICLEN=100 :are supported by this server"]
    assert are_told_in_a_batch(bo.lines(), "spark-bo")


def test_a_reload_that_changes_nothing_of_it_is_not_told():
    network = Network()
    ori, coming = network.client("spark-ori"), newcomer(network, CAPS)
    reconfigure(network, motd="hello")
    assert ori.lines() == []
    reconfigure(network, limits=Limits(topic_length=100))
    assert coming.lines() == []
