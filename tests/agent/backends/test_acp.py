"""What the ACP driver makes of a specification and of what agents answer."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from culture.agent.backend.permission import only_irc
from culture.agent.backends.acp import figures, permission, tools
from culture.agent.backends.acp.choices import choices, model_of
from culture.agent.backends.acp.profiles import PROFILES, choose
from culture.agent.backends.acp.transcript import Call
from culture.agent.backends.toolless import refuse_all
from culture.agent.contract import SessionSpec, Tool, Usage
from culture.errors import NotAllowedError, UnavailableError


def spec(*command: str, **changes) -> SessionSpec:
    return SessionSpec(Path("/work"), "You are it.", {}, "", "medium", command=command, **changes)


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ((), ("opencode", "acp")),
        (("opencode",), ("opencode", "acp")),
        (("cline",), ("cline", "--acp")),
        (("/opt/bin/cline", "--acp", "--config", "/c"), ("/opt/bin/cline", "--acp", "--config", "/c")),
        (("kiro-cli", "acp"), ("kiro-cli", "acp")),
    ],
)
def test_a_command_or_the_name_of_one_that_is_known(command, started):
    assert choose(spec(*command)).command == started


def test_each_opencode_has_a_password_of_its_own():
    first, second = (choose(spec("opencode")).setup.env["OPENCODE_SERVER_PASSWORD"] for _ in range(2))
    assert len(first) > 20
    assert first != second


@pytest.mark.parametrize("command", ["codex-acp", "kiro-cli"])
def test_deny_is_refused_to_agents_that_may_do_something_unasked(command):
    with pytest.raises(NotAllowedError, match=f"'{command}' may not") as refused:
        choose(spec(command, judge=only_irc()))
    assert refused.value.hint == "these ask: opencode, cline, claude-agent-acp"


def test_under_deny_what_lies_in_the_directory_allows_nothing():
    judged = {name: choose(spec(name, judge=only_irc())).setup for name in ("claude-agent-acp", "opencode")}

    options = judged["claude-agent-acp"].meta["claudeCode"]["options"]
    assert options["settingSources"] == []
    assert options["settings"] == {"permissions": {"ask": ["Bash"]}}
    assert options["verbatimPrompts"]
    assert json.loads(judged["opencode"].env["OPENCODE_PERMISSION"]) == {"*": "ask"}
    assert judged["opencode"].env["OPENCODE_DISABLE_PROJECT_CONFIG"]
    assert choose(spec("cline", judge=only_irc())).command[-2:] == ("--auto-approve", "false")


NEUTRAL = {
    "opencode": [("/compact", "This is text, not a command:\n/compact"), ("a /b @c", "a /b @c")],
    "claude-agent-acp": [("/compact", "/compact"), ("@/etc/passwd", "@/etc/passwd")],
    "cline": [("see @a and b@c", "see \u2060@a and b@c"), ("@a\n@b", "\u2060@a\n\u2060@b")],
    "kiro-cli": [("\ufeff /quit", "This is text, not a command:\n\ufeff /quit")],
}


@pytest.mark.parametrize(("name", "pairs"), NEUTRAL.items())
def test_prompts_are_made_text(name, pairs):
    neutral = choose(spec(name)).setup.neutral
    assert [neutral(text) for text, _ in pairs] == [made for _, made in pairs]


@pytest.mark.parametrize(
    ("version", "taken"), [("0.99.1", True), ("1.0.0", True), ("0.49.0", False), ("", False)]
)
def test_one_that_may_be_too_old_to_take_text_for_text_is_not_taken(version, taken):
    agent = choose(spec("claude-agent-acp"))

    if taken:
        agent.check(version)
        return
    with pytest.raises(UnavailableError, match=r"at least 0\.99 is needed") as refused:
        agent.check(version)
    assert refused.value.hint == "npm install -g @agentclientprotocol/claude-agent-acp@latest"


def test_of_one_that_nobody_knows_no_version_is_asked():
    choose(spec("kiro-cli")).check("")


def test_a_session_that_only_answers_has_no_tools():
    setups = {
        name: choose(spec(name, judge=refuse_all), toolless=True).setup
        for name in ("claude-agent-acp", "codex-acp", "opencode")
    }

    assert setups["claude-agent-acp"].meta["claudeCode"]["options"]["tools"] == []
    assert setups["codex-acp"].mode == "read-only"
    features = json.loads(setups["codex-acp"].env["CODEX_CONFIG"])["features"]
    assert features["shell_tool"] is features["unified_exec"] is False
    agent = json.loads(setups["opencode"].env["OPENCODE_CONFIG_CONTENT"])["agent"]["build"]
    assert agent["tools"] == {"*": False}


def test_every_profile_says_how_to_install_it():
    assert all(profile.install.startswith("npm install -g ") for profile in PROFILES.values())


# Permission

OPTIONS = [
    {"optionId": "a", "kind": "allow_always"},
    {"optionId": "b", "kind": "allow_once"},
    {"optionId": "c", "kind": "reject_once"},
]


def test_what_is_allowed_is_allowed_once():
    assert permission.outcome(OPTIONS, allowed=True)["outcome"]["optionId"] == "b"
    assert permission.outcome(OPTIONS, allowed=False)["outcome"]["optionId"] == "c"
    assert permission.outcome(OPTIONS[:1], allowed=True) == permission.CANCELLED


@pytest.mark.parametrize(
    ("call", "command"),
    [
        ({"kind": "execute", "rawInput": {"command": "irc send x"}}, "irc send x"),
        ({"kind": "execute", "rawInput": {"commands": ["irc send x"]}}, "irc send x"),
        ({"kind": "execute", "rawInput": {"commands": ["irc send x", "ls"]}}, "irc send x\nls"),
        ({"kind": "execute", "rawInput": {"commands": [{"command": "irc send x"}]}}, ""),
        ({"kind": "edit", "rawInput": {"command": "irc send x"}}, ""),
        ({"kind": "execute"}, "known before"),
    ],
)
def test_a_command_is_one_only_if_it_is_run_as_such(call, command):
    known = Call("t", "Bash", {"command": "known before"})
    asked = permission.request_of({"toolCall": {"toolCallId": "t", **call}, "options": OPTIONS}, known)
    assert (asked.tool, asked.command) == ("Bash", command)


# Tools


async def nothing(arguments) -> str:
    return ""


def test_the_skill_is_a_server_of_its_own_that_ends_with_the_session(tmp_path):
    irc = tmp_path / "irc"
    irc.touch(mode=0o755)
    env = {"PATH": str(tmp_path), "CULTURE_NICK": "spark-agent", "CULTURE_SOCKET": "/run/s", "KEY": "secret"}
    env["CULTURE_WHISPERS"] = "proof"
    offered = Tool("irc_send", "Say something.", {"type": "object"}, nothing)
    given = replace(spec("opencode"), env=env, tools=(offered,))

    [server] = tools.servers(given, "m1")

    assert (server["command"], server["args"]) == (str(irc), ["mcp"])
    assert {each["name"]: each["value"] for each in server["env"]} == {
        "CULTURE_NICK": "spark-agent",
        "CULTURE_SOCKET": "/run/s",
        "CULTURE_SESSION": "m1",
        "CULTURE_WHISPERS": "proof",
    }
    assert tools.servers(replace(given, tools=()), "m1") == []
    assert tools.servers(replace(given, env={"PATH": str(tmp_path)}), "m1") == []


def test_a_tool_of_ours_is_judged_by_our_name_for_it():
    names = ["mcp__culture__irc_send", "culture_irc_send", "Bash", "mcp__other__irc_send"]
    assert [tools.own_name(name) for name in names] == [
        "irc_send",
        "irc_send",
        "Bash",
        "mcp__other__irc_send",
    ]


# Choices

OFFERS = {
    "configOptions": [
        {
            "id": "model",
            "category": "model",
            "currentValue": "sonnet",
            "options": [{"value": "sonnet"}, {"group": "g", "options": [{"value": "opus"}]}],
        },
        {"id": "effort", "category": "thought_level", "options": [{"value": "low"}, {"value": "medium"}]},
    ]
}


def made(*arguments) -> list[tuple]:
    return [(choice.method, choice.params) for choice in choices(*arguments)]


def test_model_and_thinking_are_chosen_among_what_is_offered():
    assert made(OFFERS, "opus", "low", "") == [
        ("session/set_config_option", {"configId": "model", "value": "opus"}),
        ("session/set_config_option", {"configId": "effort", "value": "low"}),
    ]
    assert next(choices(OFFERS, "opus", "low", "")).offered == ("sonnet", "opus")


def test_what_is_so_already_or_not_known_is_left_alone():
    assert made(OFFERS, "sonnet", "max", "") == []
    assert made({}, "", "medium", "") == []


def test_older_agents_have_methods_for_it():
    answer = {"models": {"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]}}
    assert model_of(answer) == "a"
    assert made(answer, "b", "medium", "full") == [
        ("session/set_model", {"modelId": "b"}),
        ("session/set_mode", {"modeId": "full"}),
    ]


# Figures


def cost(amount: float, currency: str = "USD") -> dict:
    return {"used": 50, "size": 200, "cost": {"amount": amount, "currency": currency}}


def test_cost_is_that_of_the_turn_alone():
    told = figures.Figures(0.0)
    turns = []
    for amount in (0.1, 0.25):
        told.begin_turn()
        told.update(cost(amount))
        turns.append(told.turn_usd)

    assert turns == pytest.approx([0.1, 0.15])
    assert told.context == 0.25


def test_cost_is_not_known_if_nobody_tells_it():
    told = figures.Figures(0.0)
    told.begin_turn()
    told.update({"used": 1, "size": 0})
    told.update(cost(3, "EUR"))

    assert (told.turn_usd, told.context) == (None, 0.25)


def test_of_a_session_that_goes_on_the_first_cost_is_the_sum_of_all_before():
    told = figures.Figures(None)
    told.begin_turn()
    told.update(cost(7))
    assert told.turn_usd is None
    told.begin_turn()
    told.update(cost(7.5))
    assert told.turn_usd == 0.5


def test_tokens_are_counted_as_in_the_contract():
    told = {
        "inputTokens": 10,
        "cachedReadTokens": 80,
        "cachedWriteTokens": 5,
        "outputTokens": 3,
        "thoughtTokens": None,
    }
    assert figures.usage(told) == Usage(95, 80, 3)
    assert figures.usage(None) is None
