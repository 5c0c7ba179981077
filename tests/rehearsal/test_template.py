import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from culture.rehearsal.template import fill, fill_input, fill_words, names_in

HOSTILE = [
    "; touch owned",
    "$(touch owned)",
    "`touch owned`",
    "' ; touch owned ; '",
    '" ; touch owned ; "',
    "a' \"b\" \\' && touch owned #",
    "\n touch owned",
    "${IFS}| touch owned",
    "<(touch owned) > owned",
    "*",
    "~",
    "",
]


def test_a_name_is_filled_with_its_value():
    assert fill("{sender}: hello", {"sender": "spark-ori"}) == "spark-ori: hello"


def test_the_first_of_several_names_that_has_a_value_is_taken():
    assert fill("{channel|sender}", {"channel": "", "sender": "ori"}) == "ori"
    assert fill("{channel|sender}", {"channel": "#ops", "sender": "ori"}) == "#ops"


def test_doubled_braces_stand_for_themselves():
    assert fill("f'{{name}}'", {}) == "f'{name}'"


def test_braces_that_hold_no_name_are_left_alone():
    assert fill('{"a": {"b": {}}} {1} ${HOME:-x}', {}) == '{"a": {"b": {}}} {1} ${HOME:-x}'


def test_a_value_is_not_filled_again():
    assert fill("{said}", {"said": "{sender}", "sender": "ori"}) == "{sender}"


def test_every_text_of_a_tools_input_is_filled_but_not_its_command():
    given = {"path": "/tmp/{a}", "edits": [{"new": "{a}"}], "n": 3, "command": "echo {a}"}

    filled = {"path": "/tmp/x", "edits": [{"new": "x"}], "n": 3, "command": "echo {a}"}
    assert fill_input(given, {"a": "x"}) == filled


def test_the_names_in_data_are_found_at_any_depth():
    assert names_in({"a": ["{x}", {"b": "{y|z}"}], "c": "{{no}}", "d": 1}) == {"x", "y", "z"}


@pytest.mark.parametrize("said", HOSTILE)
def test_a_shell_that_runs_the_command_sees_what_was_said_as_one_word(said, tmp_path):
    command = fill_words(["printf", "%s|", "{sender}: {said}", "end"], {"sender": "ori", "said": said})

    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)

    readable = said.replace("\n", " ")
    assert ran.stdout == f"ori: {readable}|end|"
    assert list(tmp_path.iterdir()) == []


@given(st.text(max_size=40))
@example("\x02bold\x02 and\u200b\u00a0odd\tspaces")
def test_a_command_holds_only_what_can_be_seen(said):
    assert fill_words(["irc", "send", "{said}"], {"said": said}).isprintable()
