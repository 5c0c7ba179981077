"""Parties: who said something, in a form that is the same for everybody."""

import pytest

from culture.protocol.parties import Party, PartyKind, parse_party, party_of


@pytest.mark.parametrize(
    "text",
    ["account:ori", "account:ori@thor", "session:5f0c", "session:5f0c.1@thor.example.org", "nick:spark-ori"],
)
def test_the_text_form_is_read_as_it_was_written(text: str):
    assert parse_party(text).text == str(parse_party(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "ori", "account:", "account:ori@", "account:ori@th or", "account:Ori", "account:o ri"),
        *("session:", "session:a b", "session:a:b", "session:" + "a" * 65, "session:é", "session:a@b@c"),
        *("nick:ori@thor", "nick:", "oper:ori", "account:ori@thor@spark", "account:ori\tbo"),
    ],
)
def test_nothing_else_is_a_party(text: str):
    with pytest.raises(ValueError, match=r"names|is not a valid PartyKind"):
        parse_party(text)


def test_an_account_comes_before_a_session_and_a_session_before_a_nick():
    assert party_of("Ori", "5f0c", "spark-Ori").text == "account:ori"
    assert party_of(None, "5f0c", "spark-Ori", "thor").text == "session:5f0c@thor"
    assert party_of(None, "", "spark-Ori", "thor").text == "nick:spark-ori"


def test_between_hosts_a_party_names_its_host():
    mine, theirs = parse_party("account:ori"), parse_party("account:ori@thor")
    assert [party.told_by("spark").text for party in (mine, theirs)] == [
        "account:ori@spark",
        "account:ori@thor",
    ]
    assert mine.told_by("spark").seen_from("spark") == mine
    assert mine.told_by("spark").seen_from("thor").text == "account:ori@spark"
    assert theirs.seen_from("thor").text == "account:ori"


def test_of_a_nick_nobody_can_show_that_it_is_theirs():
    nick = parse_party("nick:spark-ori")
    assert not nick.can_be_proved
    assert nick.told_by("spark") == nick.seen_from("thor") == Party(PartyKind.NICK, "spark-ori")
