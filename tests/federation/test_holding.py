"""What a host holds of an origin: what it says, what it lacks, and what it may not be told."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from culture.federation.feeds.log_tail import LogTail
from culture.federation.feeds.watermarks import Watermarks, intersect_scopes, visible_part
from culture.federation.numbers import covers, number
from culture.names import Folded
from culture.protocol.event_record import EventRecord

A, B = Folded("#a"), Folded("#b")
ONLY_A, BOTH = frozenset({A}), frozenset({A, B})


def at(counter: int, generation: int = 1) -> int:
    return number(generation, counter)


def event(counter: int, target: str = "#a", command: str = "PRIVMSG", **fields: Any) -> EventRecord:
    happening = EventRecord(f"m{counter}", 1.0, command, target, "spark-ori!ori@spark", None, seq=at(counter))
    return happening._replace(origin="spark", **fields)


def test_everything_up_to_a_number_is_held_and_nothing_behind_it() -> None:
    watermarks = Watermarks()
    watermarks.advance(at(5), None)

    assert watermarks.missing_part(event(5)) is None
    assert watermarks.missing_part(event(6)) == event(6)
    assert watermarks.missing_part(event(1)._replace(seq=at(1, generation=2))) is not None


def test_what_came_by_a_limited_way_is_held_of_its_channels_only() -> None:
    watermarks = Watermarks()
    watermarks.advance(at(5), ONLY_A)

    assert watermarks.missing_part(event(5, "#a")) is None
    assert watermarks.missing_part(event(5, "@#A")) is None
    assert watermarks.missing_part(event(5, "#b")) is not None
    assert watermarks.level(None) == {}
    assert watermarks.level(ONLY_A) == {1: at(5)}
    assert watermarks.level(BOTH) == {1: 0}
    assert watermarks.channels_ahead() == {A: {1: at(5)}}


def test_of_a_quit_in_several_channels_only_those_are_lacking_where_it_is_not_known() -> None:
    watermarks = Watermarks()
    watermarks.advance(at(5), ONLY_A)
    left = event(5, "", "QUIT", channels=(("#a", True), ("#b", False)))

    assert watermarks.missing_part(left) == left._replace(channels=(("#b", False),))


def test_what_may_be_known_within_some_channels() -> None:
    left = event(5, "", "QUIT", channels=(("#a", True), ("#b", False)))

    assert visible_part(event(1, "#b"), None) == event(1, "#b")
    assert visible_part(event(1, "#b"), ONLY_A) is None
    assert visible_part(left, ONLY_A) == left._replace(channels=(("#a", True),))
    assert visible_part(event(1, "", "USER"), ONLY_A) is None
    assert visible_part(event(1, "#a", "RENAME", params=("#b",)), BOTH) is None


def test_a_way_is_as_narrow_as_its_narrowest_link() -> None:
    assert intersect_scopes(None, None) is None
    assert intersect_scopes(None, ONLY_A) == ONLY_A
    assert intersect_scopes(BOTH, ONLY_A) == ONLY_A
    assert intersect_scopes(ONLY_A, frozenset({B})) == frozenset()


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9), st.sampled_from([None, ONLY_A, BOTH]))))
def test_a_level_never_falls(taken: list[tuple[int, int, Any]]) -> None:
    watermarks = Watermarks()
    for generation, counter, scope in taken:
        before = {each: watermarks.level(each) for each in (None, ONLY_A, BOTH)}
        watermarks.advance(at(counter, generation), scope)
        assert all(covers(watermarks.level(each), level) for each, level in before.items())


def test_the_last_events_are_in_memory_in_the_order_of_numbers() -> None:
    tail = LogTail(3)
    for counter in (1, 2, 4):
        tail.add(event(counter), None)
    tail.add(event(3, "#b"), None)

    assert [each.seq for each in tail.between({1: at(1)}, {1: at(4)})] == [at(2), at(3), at(4)]
    assert tail.reaches({1: at(1)}, {1: at(4)})
    assert not tail.reaches({}, {1: at(4)})


def test_what_came_in_parts_is_told_whole() -> None:
    tail = LogTail(9)
    left = event(5, "", "QUIT", channels=(("#a", True), ("#b", True)))
    tail.add(left._replace(channels=left.channels[:1]), ONLY_A)
    tail.add(left._replace(channels=left.channels[1:]), None)

    assert tail.between({}, {1: at(5)}) == [left]


def test_what_history_does_not_keep_is_not_told_later() -> None:
    tail = LogTail(9)
    tail.add(event(1, "", "AWAY"), None)

    assert tail.between({}, {1: at(1)}) == []
    assert tail.committed.level(None) == {1: at(1)}
