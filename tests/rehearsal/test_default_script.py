"""What a person reads who tries Culture for the first time."""

import shlex

import pytest

from culture.rehearsal.conversation import ModelConversation, ToolOutput
from culture.rehearsal.rehearsal import Rehearsal
from culture.rehearsal.reply import ReplyText, ToolCall, content_of
from culture.rehearsal.script import DEFAULT, load_script


@pytest.fixture
def model():
    return Rehearsal(load_script(DEFAULT))


def command_for(model, prompt, result=None):
    [*_, call] = content_of(model.answer(ModelConversation("claude", prompt, ("Bash",), result)).reply)
    assert isinstance(call, ToolCall)
    assert call.name == "Bash"
    return shlex.split(call.input["command"])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("@spark-claude hello", "hello!"),
        ("@spark-claude: Hi there", "hello!"),
        ("@spark-claude what can you do?", "rehearsal"),
        ("please help, @spark-claude", "rehearsal"),
        ("@spark-claude thank you!", "welcome"),
        ("@spark-claude PING", "pong"),
        ("@spark-claude look at the disk", "`look at the disk`"),
        ("@spark-claude", "`@spark-claude`"),
    ],
)
def test_a_mention_is_answered_in_its_channel_and_a_direct_message_to_its_sender(model, message, words):
    in_channel = command_for(model, f"[IRC @mention in #ops] <spark-ori> {message}")
    direct = command_for(model, f"[IRC DM] <spark-ori> {message}")

    assert in_channel[:3] == ["irc", "send", "#ops"]
    assert direct[:3] == ["irc", "send", "spark-ori"]
    assert in_channel[3] == direct[3]
    assert in_channel[3].startswith("spark-ori: ")
    assert words in in_channel[3]


def test_a_channel_is_read_before_what_is_in_it_is_told(model):
    prompt = "[IRC @mention in #ops] <spark-ori> @spark-claude read the channel, what did we miss?"

    assert command_for(model, prompt) == ["irc", "read", "#ops"]

    result = ToolOutput("Bash", "irc read '#ops'", "<thor-bo> one\n<thor-bo> two\n")
    assert command_for(model, prompt, result) == [
        "irc",
        "send",
        "#ops",
        "spark-ori: I have read what is here; lines I saw: 2",
    ]


def test_a_turn_ends_when_the_answer_is_sent(model):
    prompt, sent = "[IRC DM] <spark-ori> hello", ToolOutput("Bash", "irc send spark-ori hi", "")

    assert model.answer(ModelConversation("claude", prompt, result=sent)).reply == (
        ReplyText("Answered on IRC."),
    )


def test_a_failed_answer_is_not_called_an_answer(model):
    failed = ToolOutput("Bash", "irc send spark-ori hi", "no agent at that socket", has_failed=True)

    reply = model.answer(ModelConversation("claude", "[IRC DM] <spark-ori> hello", result=failed)).reply

    assert reply == (ReplyText("My irc skill failed: no agent at that socket"),)


def test_of_several_lines_at_once_one_is_answered(model):
    prompt = "[IRC @mention in #ops] <spark-ori> @spark-claude look\n[IRC @mention in #ops] <thor-bo> ping"

    assert command_for(model, prompt) == ["irc", "send", "#ops", "thor-bo: pong"]


def test_an_answer_mentions_nobody_and_fits_into_a_line(model):
    message = "tell @thor-claude and `@orin-claude` about " + "x" * 400

    said = command_for(model, f"[IRC @mention in #ops] <spark-ori> {message}")[3]

    # The server looks for mentions outside of code spans only.
    outside = said.split("`")[::2]
    assert not any("@" in text for text in outside)
    assert len(said) < 400


def test_a_prompt_that_is_not_from_irc_is_answered_in_words(model):
    [text] = content_of(model.answer(ModelConversation("claude", "fix the build")).reply)

    assert isinstance(text, ReplyText)
