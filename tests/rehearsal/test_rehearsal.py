from culture.config.loader import parse
from culture.rehearsal.conversation import ModelConversation, ToolOutput
from culture.rehearsal.rehearsal import NO_RULE, Rehearsal
from culture.rehearsal.reply import Delay, Drop, Fail, ReplyText, Stall, ToolCall
from culture.rehearsal.script import Script


def rehearsal(text):
    return Rehearsal(parse(text, Script, where="script.yaml"))


def said(prompt, *, model="claude-opus", result=None):
    return ModelConversation(model=model, prompt=prompt, result=result)


def test_the_first_rule_that_fits_answers():
    model = rehearsal("""
rules:
  - {name: a, prompt: disk, answer: [{text: full}]}
  - {name: b, prompt: d, answer: [{text: d}]}
  - {name: c, answer: [{text: else}]}
""")

    assert [model.answer(said(text)).rule for text in ("the disk", "a dog", "rain")] == ["a", "b", "c"]


def test_case_is_ignored_and_every_line_has_a_beginning():
    model = rehearsal("rules: [{prompt: '^hello', answer: [{text: hi}]}]")

    assert model.answer(said("one\nHELLO")).rule == "rule 1"
    assert model.answer(said("one hello")).rule is None


def test_a_conversation_that_no_rule_fits_is_told_so():
    assert rehearsal("rules: []").answer(said("hello")).reply == (ReplyText(NO_RULE),)


def test_the_name_of_the_model_can_be_asked_for():
    model = rehearsal("""
rules:
  - {name: small, model: haiku, answer: [{text: s}]}
  - {name: large, answer: [{text: l}]}
""")

    assert model.answer(said("x", model="claude-haiku-4-5")).rule == "small"
    assert model.answer(said("x", model="claude-opus-5-5")).rule == "large"


def test_a_rule_answers_as_often_as_it_may_and_then_the_next_one_does():
    model = rehearsal("""
rules:
  - {name: first, times: 2, answer: [{text: a}]}
  - {name: then, answer: [{text: b}]}
""")

    assert [model.answer(said("x")).rule for _ in range(4)] == ["first", "first", "then", "then"]


def test_a_rule_that_did_not_fit_has_not_answered():
    model = rehearsal("rules: [{prompt: disk, times: 1, answer: [{text: a}]}]")

    assert [model.answer(said(text)).rule for text in ("rain", "disk", "disk")] == [None, "rule 1", None]


def test_what_the_user_says_and_what_a_tool_gives_are_answered_by_different_rules():
    model = rehearsal("""
rules:
  - {name: said, answer: [{text: a}]}
  - {name: read, after_tool: Read, answer: [{text: b}]}
  - {name: failed, after_tool: any, after_failure: true, answer: [{text: c}]}
  - {name: sent, after_tool: Bash, after_command: '^irc send', answer: [{text: d}]}
  - {name: other, after_tool: any, answer: [{text: e}]}
""")

    def rule_after(tool, command="", *, has_failed=False):
        return model.answer(said("x", result=ToolOutput(tool, command, "", has_failed))).rule

    assert model.answer(said("x")).rule == "said"
    assert rule_after("Read") == "read"
    assert rule_after("Bash", "irc send x", has_failed=True) == "failed"
    assert rule_after("Bash", "irc send x") == "sent"
    assert rule_after("Bash", "irc read x") == "other"


def test_groups_of_the_prompt_are_filled_into_the_answer_also_after_a_tool():
    model = rehearsal("""
rules:
  - prompt: '<(?P<sender>[a-z]+)>( in (?P<channel>#[a-z]+))?'
    after_tool: any
    answer:
      - text: "{sender}{channel} {lines} {output}"
""")

    reply = model.answer(said("<ori> hi", result=ToolOutput("Bash", "irc read", "one\ntwo\n"))).reply

    assert reply == (ReplyText("ori 2 one\ntwo\n"),)


def test_no_output_has_no_lines():
    model = rehearsal("rules: [{after_tool: any, answer: [{text: '{lines}'}]}]")

    assert model.answer(said("x", result=ToolOutput("Bash", "ls", ""))).reply == (ReplyText("0"),)


def test_every_kind_of_step_becomes_its_value():
    model = rehearsal("""
rules:
  - {prompt: fail, answer: [{error: {status: 429, type: odd, message: slow down}}]}
  - {prompt: drop, answer: [{drop: true}]}
  - {prompt: stall, answer: [{stall: true}]}
  - prompt: (?P<it>.*)
    answer:
      - text: "{it}"
      - delay_s: 2
      - run: [echo, "a {it}"]
      - tool: {name: Write, input: {content: "{it}"}}
""")

    assert model.answer(said("fail")).reply == (Fail(429, "slow down", "odd"),)
    assert model.answer(said("drop")).reply == (Drop(),)
    assert model.answer(said("stall")).reply == (Stall(),)
    assert model.answer(said("it")).reply == (
        ReplyText("it"),
        Delay(2.0),
        ToolCall("Bash", {"command": "echo 'a it'"}),
        ToolCall("Write", {"content": "it"}),
    )
