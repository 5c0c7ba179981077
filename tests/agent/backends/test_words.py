"""What every backend tells in the same words."""

import pytest

from culture.agent.backends import wording
from culture.agent.contract import Usage


def test_a_result_without_an_error_has_not_failed():
    told = wording.result(usage=Usage(9, 5, 1), context=0.1)

    assert (told.failed, told.error, told.status, told.asked) == (False, "", None, True)
    assert told.usage == Usage(9, 5, 1)


def test_the_status_of_the_api_says_what_failed():
    told = wording.result("whatever the program says", status=429)

    assert (told.failed, told.status) == (True, 429)
    assert told.error == "the rate limit of the model is reached (status 429)"


def test_an_error_is_one_line():
    assert wording.result("two\nlines  of it").error == "two lines of it"


@pytest.mark.parametrize(
    ("code", "last", "error"),
    [
        (-9, [], "the claude program was killed by signal 9"),
        (1, ["first", "no such model"], "the claude program ended with status 1: no such model"),
    ],
)
def test_the_end_of_a_program_is_told_with_its_last_words(code, last, error):
    assert wording.ended("claude", code, last) == error
