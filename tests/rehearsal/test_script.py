import pytest

from culture.config.loader import parse
from culture.errors import ConfigError, NoInputError
from culture.rehearsal.script import DEFAULT, Script, load_script


def problems(text):
    with pytest.raises(ConfigError) as caught:
        parse(text, Script, where="script.yaml")
    return [f"{problem.where}: {problem.what}" for problem in caught.value.problems]


def test_a_rule_is_read_with_all_its_keys():
    script = parse(
        """
rules:
  - name: read
    prompt: '<(?P<sender>[a-z]+)>'
    model: opus
    after_tool: Bash
    after_command: '^irc read'
    after_failure: true
    times: 2
    answer:
      - text: "{sender}: {lines}"
      - delay_s: 0.5
      - run: [irc, send, "{sender}"]
      - tool: {name: Write, input: {file_path: "/tmp/{sender}", lines: [1, 2]}}
      - error: {status: 529}
""",
        Script,
        where="script.yaml",
    )

    rule = script.rules[0]
    assert (rule.name, rule.model, rule.after_tool, rule.after_failure, rule.times) == (
        "read",
        "opus",
        "Bash",
        True,
        2,
    )
    assert rule.names == {"sender", "output", "lines"}
    assert rule.answer[1].delay_s == 0.5
    assert rule.answer[3].tool.input == {"file_path": "/tmp/{sender}", "lines": [1, 2]}
    assert rule.answer[4].error.status == 529


def test_a_delay_of_nothing_is_a_step():
    script = parse("rules: [{answer: [{delay_s: 0}]}]", Script, where="script.yaml")

    assert script.rules[0].answer[0].delay_s == 0


def test_an_unknown_key_is_named_with_its_line():
    assert problems("rules:\n  - answer:\n      - text: a\n    promt: x\n") == [
        "script.yaml:4: unknown key 'promt' in 'rules[0]'"
    ]


def test_a_step_is_exactly_one_thing():
    [problem] = problems("rules:\n  - answer:\n      - text: a\n      - text: b\n        drop: true\n")

    assert problem.startswith("script.yaml:4: 'rules[0].answer[1]': a step is exactly one of text, run, ")
    assert problem.endswith("found text, drop")


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("{}", "missing key 'answer'"),
        ("{answer: []}", "must not be empty"),
        ("{answer: [{run: []}]}", "must not be empty"),
        ("{answer: [{text: a}], prompt: '('}", "not a regular expression"),
        ("{answer: [{text: a}], times: -1}", "must be at least 0"),
        ("{answer: [{delay_s: -1}]}", "must not be negative"),
        ("{answer: [{error: {status: 200}}]}", "must be an HTTP error"),
        ("{answer: [{tool: {name: X, input: {day: 2024-01-01}}}]}", "cannot be written as JSON"),
        ("{answer: [{tool: {name: X, input: [a]}}]}", "expected keys, found a list"),
        ("{answer: [{drop: true}, {text: a}]}", "nothing comes after 'error', 'drop' or 'stall'"),
        ("{answer: [{text: a}], usage: {input_tokens: -1}}", "must not be negative"),
        ("{answer: [{text: a}], usage: {input_tokens: 1, cached_tokens: 2}}", "more than 'input_tokens'"),
        ("{answer: [{text: a}], headers: {a b: c}}", "not the name of an HTTP header"),
        ('{answer: [{text: a}], headers: {a: "b\\nc"}}', "one line of ASCII text"),
        ("{answer: [{text: a}], headers: {Content-Length: '1'}}", "set by the server itself"),
        ("{answer: [{text: a}], after_command: x}", "need 'after_tool'"),
        ("{answer: [{text: '{who}'}]}", "'{who}' in 'answer[0]' has no value; known names: none"),
        ("{answer: [{text: '{output}'}]}", "'{output}' in 'answer[0]' has no value"),
        ("{answer: [{run: [echo, '{who}']}]}", "'{who}' in 'answer[0]' has no value"),
    ],
)
def test_what_cannot_be_played_is_refused_with_its_line(rule, what):
    [problem] = problems(f"rules:\n  - {rule}\n")

    assert problem.startswith("script.yaml:2: ")
    assert what in problem


def test_what_people_said_is_never_filled_into_a_line_that_a_shell_reads():
    [problem] = problems(
        "rules:\n"
        "  - prompt: '(?P<said>.*)'\n"
        "    answer: [{tool: {name: Bash, input: {command: 'echo {said}'}}}]\n"
    )

    assert problem == (
        "script.yaml:2: 'rules[0]': '{said}' is not filled into 'command' of 'answer[0]': use 'run'"
    )


def test_a_script_that_is_not_there_is_no_input(tmp_path):
    with pytest.raises(NoInputError):
        load_script(tmp_path / "none.yaml")


def test_the_default_script_is_valid_and_every_rule_has_a_name():
    names = [rule.name for rule in load_script(DEFAULT).rules]

    assert all(names)
    assert len(set(names)) == len(names)
