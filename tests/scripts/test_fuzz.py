"""scripts/fuzz: it notices what is wrong, says how to get there, and keeps it."""

import subprocess
from pathlib import Path

import pytest
from support.fuzz.leftovers import held_by
from support.fuzz.play import replay
from support.fuzz.reader import Reader
from support.fuzz.shrink import shrunk
from support.fuzz.steps import Step, format_steps, parse_steps

from culture.ircd.session import Session

ROOT = Path(__file__).resolve().parents[2]
HERE = b":s 001 a :hello\r\n:a!a@h JOIN #x\r\n:s 353 a = #x :a @b\r\n"


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (b":s PONG s x", "the last line has no end"),
        (b":s  PONG s\r\n", "not a line"),
        (b":s PONG \r\n", "not a line"),
        (b":s pong s\r\n", "not a line"),
        (b":s PONG s :" + b"x" * 500 + b"\r\n", "511 bytes"),
        (b"@time=x :s PONG s\r\n", "tags to a client that knows none"),
        (b":s BATCH +1 x\r\n", "batches without an end"),
        (b":s 421 b NOSUCH :Unknown command\r\n", "not to a"),
        (b":b!b@h JOIN #x\r\n", "joined #x twice"),
        (b":c!c@h QUIT :bye\r\n", "left, who was nowhere"),
        (b"ERROR :bye\r\n:s PONG s\r\n", "after the last line"),
    ],
)
def test_a_reader_complains_about_what_cannot_be(sent: bytes, complaint: str):
    reader = Reader()
    reader.read(HERE)
    with pytest.raises(AssertionError, match=complaint):
        reader.read(sent)


def test_a_label_is_answered_once():
    reader, answer = Reader(), b"@label=1 :s PONG s :x\r\n"
    reader.asked["1"] = 1
    reader.caps.add("labeled-response")
    reader.read(answer)
    with pytest.raises(AssertionError, match="answered twice"):
        reader.read(answer)


def test_what_hides_in_a_closure_is_found():
    kept = Session.__new__(Session)
    assert kept in list(held_by([lambda: kept]))


def test_a_game_can_be_written_down():
    steps = [
        Step("connect", 3),
        Step("say", 3, b"NICK \xff\0 \\x41\xc3\xa9\r\n"),
        Step("wait", 31),
        Step("turn"),
    ]
    text = format_steps(steps)

    assert text.splitlines()[1] == r"say 3 NICK \xff\x00 \\x41\xc3\xa9\r\n"
    assert parse_steps("# why\n" + text) == steps


def test_what_matters_is_left_when_a_game_is_cut_down():
    tried = []

    def fails(items: list[int]) -> bool:
        tried.append(items)
        return {3, 50} <= set(items)

    assert shrunk(list(range(100)), fails) == [3, 50]
    assert len(tried) < 60


def test_a_game_without_its_beginning_is_still_one():
    assert replay([Step("say", 7, b"NICK a\r\n"), Step("drop", 7), Step("turn")]) is None


@pytest.mark.slow
def test_it_plays_until_enough_was_typed():
    command = [ROOT / "scripts/fuzz", "--lines", "5000", "--sessions", "10", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True)

    assert done.stdout.startswith("seed 1\n")
    assert done.stdout.endswith(": everything held\n")
