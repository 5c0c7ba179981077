"""CAP LS and CAP LIST in one line or in several (IRCv3 capability negotiation, CAP LS Version)."""

from support.network import Client, Network

from culture.config.ircd import AccountsConfig
from culture.protocol.capabilities import Cap

LONGEST = "n" * 64
RATIFIED = {cap for cap in Cap if not cap.startswith("draft/") and cap != Cap.STS}


def make_client(**config: object) -> Client:
    return Network(nick_policy="open", accounts=AccountsConfig(registration=True), **config).connect()


def listed(lines: list[str]) -> list[str]:
    return [word.partition("=")[0] for line in lines for word in line.partition(" :")[2].split()]


def test_version_302_gets_all_of_them_in_as_many_lines_as_it_takes():
    client = make_client(name="s" * 63)
    client.send(f"NICK {LONGEST}", "CAP LS 302")
    lines = client.lines()
    *others, last = lines
    offers = listed(lines)
    assert set(offers) >= RATIFIED
    assert len(offers) == len(set(offers))
    assert all(" LS * :" in line for line in others)
    assert " LS :" in last
    assert all(len(line) <= 510 for line in lines)


def test_before_version_302_there_is_one_line_without_values():
    client = make_client()
    client.send("CAP LS")
    (line,) = client.lines()
    assert set(listed([line])) >= RATIFIED
    assert "=" not in line
    assert len(line) <= 510


def test_the_former_name_of_what_is_offered_takes_no_room_in_one_line():
    client = make_client()
    client.send("CAP LS")
    offers = set(listed(client.lines()))
    assert not {f"draft/{offer}" for offer in offers} & offers


def test_only_a_space_separates_capabilities():
    client = make_client()
    client.send("CAP REQ :batch\techo-message", "CAP REQ :batch\N{NO-BREAK SPACE}echo-message")
    assert [line.split(" ")[3] for line in client.lines()] == ["NAK", "NAK"]


def test_what_has_no_room_in_one_line_are_drafts():
    client = make_client(name="s" * 63)
    client.send(f"NICK {LONGEST}", "CAP LS")
    (line,) = client.lines()
    assert set(listed([line])) >= RATIFIED
    assert len(line) <= 510


def test_capabilities_can_be_typed_without_the_colon():
    client = make_client()
    client.send("CAP REQ batch echo-message", "CAP REQ batch nonsense")
    assert [line.partition(" * ")[2] for line in client.lines()] == [
        "ACK :batch echo-message",
        "NAK :batch nonsense",
    ]


def test_the_answer_is_one_to_the_version_that_was_asked_for_and_the_highest_is_remembered():
    client = make_client()
    client.send("CAP LS 307")
    assert "sasl=" in " ".join(client.lines())
    client.send("CAP LS", "CAP LIST")
    listing, enabled = client.lines()
    assert "=" not in listing
    assert enabled.endswith("LIST :cap-notify")
