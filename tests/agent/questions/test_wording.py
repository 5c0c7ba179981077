"""Which choice an answer makes, and how a question reads."""

import pytest

from culture.agent.questions.wording import DECISION, choice_of, is_question, options_in, without_address


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("yes", "yes"),
        ("Yes!", "yes"),
        ("y", "yes"),
        ("yes, go ahead", "yes"),
        ("looks safe, yes", "yes"),
        ("yes qabc", "yes"),
        ("qabc yes", "yes"),
        ("no", "no"),
        ("N", "no"),
        ("no, not before the backup", "no"),
        ("better not, no", "no"),
        ("abort", "abort"),
        ("abort, I will look at it", "abort"),
        # What is not clear is no decision.
        ("", ""),
        ("I would not say yes", ""),
        ("do not take this for a yes", ""),
        ("yes and no", ""),
        ("yes, no problem", ""),
        ("yes if the backup is done", ""),
        ("yes, but only the temp files", ""),
        ("which files? yes or no", ""),
        ("yes?", ""),
        ("sure", ""),
        ("yesterday", ""),
        ("nothing, really", ""),
        ("eyes on it", ""),
    ],
)
def test_a_decision_is_the_first_word_or_the_last_clause(text, choice):
    assert choice_of(text, DECISION, "qabc") == choice


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("This will delete 47 files. Proceed? [y/N]", True),
        ("Proceed? (yes/no)", True),
        ("go on [Y/n/a]", True),
        ("which disk?", False),
        ("may I?", False),
        ("see docs/y/n", False),
    ],
)
def test_a_text_says_itself_that_it_wants_a_decision(text, is_one):
    assert options_in(text) == (DECISION if is_one else ())


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("@spark-claude yes, go ahead", "yes, go ahead"),
        ("spark-claude: yes", "yes"),
        ("SPARK-CLAUDE, yes", "yes"),
        ("spark-claude2: yes", "spark-claude2: yes"),
        ("yes", "yes"),
    ],
)
def test_the_address_is_no_part_of_an_answer(text, rest):
    assert without_address(text, "spark-claude") == rest


def test_what_ends_with_a_question_mark_is_a_question():
    assert is_question("which one? :)")
    assert not is_question("which? the second one")
