"""Events on a link: what is sent is what arrives, whatever is in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.federation.event_lines import CarriedEvent, decode, encode
from culture.federation.numbers import format_levels, format_number, number
from culture.names import is_channel
from culture.protocol.event_record import EventRecord
from culture.protocol.line import MalformedLine, parse_line
from culture.protocol.parties import parse_party
from culture.protocol.peers import validate

NUMBER = number(1790000000, 7)
ENDS = (parse_party("account:ori@spark"), parse_party("session:5f0c@thor"))
WORDS = st.text(
    st.characters(exclude_characters=" \x7f\x85\u2028\u2029", exclude_categories=["Cc"], codec="utf-8"),
    max_size=20,
)
CHANNELS = WORDS.filter(lambda name: is_channel(f"#{name}"))
TEXTS = st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), max_size=60)


def said(**fields: Any) -> EventRecord:
    happening = EventRecord("m1", 1790000000.25, "PRIVMSG", "#ops", "spark-ori!ori@spark", None, "hi")
    return happening._replace(**{"origin": "spark", "seq": NUMBER, **fields})


def carried_over(carried: CarriedEvent) -> CarriedEvent:
    return decode(parse_line(encode(carried)))


def test_a_message_is_a_line_that_people_can_read() -> None:
    line = encode(CarriedEvent(said(account="ori", is_public=True)))

    assert (
        line == "@o=spark;n=1790000000.7;t=1790000000250;i=m1;a=ori;p :spark-ori!ori@spark PRIVMSG #ops :hi"
    )


@given(text=TEXTS, tag=TEXTS, name=CHANNELS)
def test_nothing_that_is_in_a_message_changes_what_it_is(text: str, tag: str, name: str) -> None:
    happening = said(text=text, target=f"#{name}", tags={"+draft/reply": tag, "bot": ""})

    assert carried_over(CarriedEvent(happening)) == CarriedEvent(happening)


@given(params=st.lists(WORDS, min_size=1, max_size=3), name=CHANNELS)
def test_nothing_that_is_in_a_change_changes_what_it_is(params: list[str], name: str) -> None:
    happening = said(command="MODE", text="", params=tuple(params), target=f"@#{name}"[1:])

    assert carried_over(CarriedEvent(happening)) == CarriedEvent(happening)


def test_where_a_quit_was_seen_goes_along() -> None:
    happening = said(
        command="QUIT", target="", channels=(("#ops", True), ("#in,side"[:3], False)), text="bye"
    )

    assert carried_over(CarriedEvent(happening, is_replayed=True)) == CarriedEvent(
        happening, is_replayed=True
    )


def test_a_direct_message_knows_its_ends_its_host_and_the_one_before_it() -> None:
    happening = said(target="thor-bo", to="thor", ends=ENDS)
    carried = CarriedEvent(happening, previous=number(1789000000, 3), hops=16)

    assert carried_over(carried) == carried


def test_who_is_not_logged_in_is_named_by_their_session() -> None:
    carried = CarriedEvent(said(session_id="5f0c"))

    assert ";s=5f0c " in encode(carried)
    assert carried_over(carried) == carried


def test_the_time_of_an_event_stays_the_same_to_the_millisecond() -> None:
    for ms in range(1790000000000, 1790000000999, 7):
        assert int(carried_over(CarriedEvent(said(at=ms / 1000))).event.at * 1000) == ms


@pytest.mark.parametrize(
    "line",
    [
        "@o=spark;n=7;t=1;i=m :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.x;t=1;i=m :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;i=m :spark-ori PRIVMSG #ops :hi",
        "@n=1.2;t=1;i=m :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i= :spark-ori JOIN #ops :",
        "@o=spark;n=1.2;t=1;i=m PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i=m;s=x:y :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i=m;s= :spark-ori PRIVMSG #ops :hi",
        r"@o=spark;n=1.2;t=1;i=m;d=thor;e=account:ori\saccount:bo@thor :spark-ori PRIVMSG thor-bo :hi",
        r"@o=spark;n=1.2;t=1;i=m;d=thor;e=account:ori@spark\sthor-bo :spark-ori PRIVMSG thor-bo :hi",
        r"@o=spark;n=1.2;t=1;i=m;d=thor;e=session:@spark\saccount:bo@thor :spark-ori PRIVMSG thor-bo :hi",
        r"@o=spark;n=1.2;t=1;i=m;d=thor;e=account:ori@spark :spark-ori PRIVMSG thor-bo :hi",
        "@o=spark;n=1.2;t=1;i=m :spark-ori OPER #ops :hi",
        "@o=spark;n=1.2;t=1;i=m :spark-ori PRIVMSG",
        "@o=spark;n=1.99999999999;t=1;i=m :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i=m\\r\\nQUIT :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i=m\\:x :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i=m;a=o\\r\\nQUIT :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=1;i=m;a=o\\sri :spark-ori JOIN #ops :",
        "@o=spark;n=1.2;t=1;i=m;c=+#a\\nb :spark-ori QUIT \\e :bye",
        "@o=spark;n=1.2;t=1;i=m;l :spark-ori PRIVMSG #ops :hi\\rQUIT",
        "@o=spark;n=1.2;t=1;i=m;l :spark-ori TOPIC #ops :hi\\nQUIT",
        "@o=spark;n=1.2;t=1;i=m :spark-ori PRIVMSG #o\\nps :hi",
        "@o=spark;n=1.2;t=1;i=m :spark-ori KICK #ops thor-bo\\nQUIT :out",
        f"@o=spark;n=1.2;t=1;i=m :spark-{'o' * 250} PRIVMSG #ops :hi",
        "@o=spark;n=4294967296.1;t=1;i=m :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=-1;i=m :spark-ori PRIVMSG #ops :hi",
        "@o=spark;n=1.2;t=253402300800000;i=m :spark-ori PRIVMSG #ops :hi",
        f"@o=spark;n=1.2;t={'9' * 400};i=m :spark-ori PRIVMSG #ops :hi",
    ],
)
def test_what_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(MalformedLine):
        decode(parse_line(line))


def test_a_number_is_a_generation_and_a_counter() -> None:
    assert format_number(NUMBER) == "1790000000.7"
    assert validate.event_number("1790000000.7") == NUMBER
    assert format_levels({}) == "-"
    assert validate.levels("1.5,3.2") == {1: number(1, 5), 3: number(3, 2)}
