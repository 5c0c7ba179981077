"""What a host holds of an origin: what it says, what it lacks, and what it may not be told."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from culture.federation.holding import Holding, narrower, within
from culture.federation.numbers import covers, number
from culture.federation.shelf import Shelf
from culture.names import Folded
from culture.protocol.happening import Happening

A, B = Folded("#a"), Folded("#b")
ONLY_A, BOTH = frozenset({A}), frozenset({A, B})


def at(counter: int, generation: int = 1) -> int:
    return number(generation, counter)


def event(counter: int, target: str = "#a", command: str = "PRIVMSG", **fields: Any) -> Happening:
    happening = Happening(f"m{counter}", 1.0, command, target, "spark-ori!ori@spark", None, seq=at(counter))
    return happening._replace(origin="spark", **fields)


def test_everything_up_to_a_number_is_held_and_nothing_behind_it() -> None:
    holding = Holding()
    holding.took(at(5), None)

    assert holding.lacking(event(5)) is None
    assert holding.lacking(event(6)) == event(6)
    assert holding.lacking(event(1)._replace(seq=at(1, generation=2))) is not None


def test_what_came_by_a_limited_way_is_held_of_its_channels_only() -> None:
    holding = Holding()
    holding.took(at(5), ONLY_A)

    assert holding.lacking(event(5, "#a")) is None
    assert holding.lacking(event(5, "@#A")) is None
    assert holding.lacking(event(5, "#b")) is not None
    assert holding.level(None) == {}
    assert holding.level(ONLY_A) == {1: at(5)}
    assert holding.level(BOTH) == {1: 0}
    assert holding.further() == {A: {1: at(5)}}


def test_of_a_quit_in_several_channels_only_those_are_lacking_where_it_is_not_known() -> None:
    holding = Holding()
    holding.took(at(5), ONLY_A)
    left = event(5, "", "QUIT", channels=(("#a", True), ("#b", False)))

    assert holding.lacking(left) == left._replace(channels=(("#b", False),))


def test_what_may_be_known_within_some_channels() -> None:
    left = event(5, "", "QUIT", channels=(("#a", True), ("#b", False)))

    assert within(event(1, "#b"), None) == event(1, "#b")
    assert within(event(1, "#b"), ONLY_A) is None
    assert within(left, ONLY_A) == left._replace(channels=(("#a", True),))
    assert within(event(1, "", "USER"), ONLY_A) is None
    assert within(event(1, "#a", "RENAME", params=("#b",)), BOTH) is None


def test_a_way_is_as_narrow_as_its_narrowest_link() -> None:
    assert narrower(None, None) is None
    assert narrower(None, ONLY_A) == ONLY_A
    assert narrower(BOTH, ONLY_A) == ONLY_A
    assert narrower(ONLY_A, frozenset({B})) == frozenset()


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9), st.sampled_from([None, ONLY_A, BOTH]))))
def test_a_level_never_falls(taken: list[tuple[int, int, Any]]) -> None:
    holding = Holding()
    for generation, counter, scope in taken:
        before = {each: holding.level(each) for each in (None, ONLY_A, BOTH)}
        holding.took(at(counter, generation), scope)
        assert all(covers(holding.level(each), level) for each, level in before.items())


def test_the_last_events_are_in_memory_in_the_order_of_numbers() -> None:
    shelf = Shelf(3)
    for counter in (1, 2, 4):
        shelf.add(event(counter), None)
    shelf.add(event(3, "#b"), None)

    assert [each.seq for each in shelf.between({1: at(1)}, {1: at(4)})] == [at(2), at(3), at(4)]
    assert shelf.reaches({1: at(1)}, {1: at(4)})
    assert not shelf.reaches({}, {1: at(4)})


def test_what_came_in_parts_is_told_whole() -> None:
    shelf = Shelf(9)
    left = event(5, "", "QUIT", channels=(("#a", True), ("#b", True)))
    shelf.add(left._replace(channels=left.channels[:1]), ONLY_A)
    shelf.add(left._replace(channels=left.channels[1:]), None)

    assert shelf.between({}, {1: at(5)}) == [left]


def test_what_history_does_not_keep_is_not_told_later() -> None:
    shelf = Shelf(9)
    shelf.add(event(1, "", "AWAY"), None)

    assert shelf.between({}, {1: at(1)}) == []
    assert shelf.holding.level(None) == {1: at(1)}
