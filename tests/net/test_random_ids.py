"""Ids of messages and sessions: nobody guesses the next from those that they have seen."""

import itertools

from culture.net.random_ids import ID_BYTES, random_ids


def test_an_id_is_a_word_that_no_other_message_has():
    new_id = random_ids()
    ids = [new_id() for _ in range(2000)]
    assert len({*ids}) == len(ids)
    assert all(len(each) == 2 * ID_BYTES and each.isalnum() and each.isascii() for each in ids)


def test_an_id_has_nothing_of_the_one_before_it():
    """A counter, or a prefix that stays, would show as letters that two ids in a row share more often."""
    new_id = random_ids()
    ids = [new_id() for _ in range(1200)]
    shared = sum(one == other for pair in itertools.pairwise(ids) for one, other in zip(*pair, strict=True))
    assert shared < len(ids) * 2 * ID_BYTES / 16 * 1.3


def test_two_servers_give_different_ids_and_each_draws_on_the_randomness_that_it_is_given():
    assert random_ids()() != random_ids()()
    assert random_ids(bytes)() == "00" * ID_BYTES
