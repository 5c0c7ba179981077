"""What the pages of the irc skill promise is what its program, its tools and its daemon take."""

import re
from pathlib import Path

from culture.agent.backend.briefing import SKILL
from culture.agent.backend.permission import is_irc_command
from culture.agent.skill.irc import MCP, arguments, usage
from culture.agent.skill.showing import SHOW
from culture.agent.skill.verbs import VERBS
from culture.agent.tools.commands import HANDLERS, OPERATOR_COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "man" / "culture-irc.1.rst"


def test_every_verb_of_irc_is_in_its_man_page_and_its_help_and_no_other():
    page = PAGE.read_text().partition("VERBS\n")[2].partition("OPTIONS\n")[0]
    terms = re.findall(r"^\*\*\w+\*\*.*$", page, re.MULTILINE)
    told = {verb for term in terms for verb in re.findall(r"\*\*(\w+)\*\*", term)}

    assert told == {*VERBS, MCP}
    assert set(re.findall(r"^  (\w+)", usage(), re.MULTILINE)) == {*VERBS, MCP}


def test_everything_that_can_be_asked_runs_and_everything_an_agent_asks_can_be_shown():
    requests = {verb.request for verb in VERBS.values()}

    assert HANDLERS.keys() == requests | OPERATOR_COMMANDS.keys()
    assert SHOW.keys() == requests


def test_the_skill_has_every_verb_as_a_command_that_a_locked_agent_may_run():
    commands = re.findall(r"^    (irc .+?)(?:  .*)?$", SKILL.read_text(), re.MULTILINE)

    assert all(map(is_irc_command, commands))
    assert {command.split()[1] for command in commands} == set(VERBS)


def test_every_example_is_a_command():
    for name, verb in VERBS.items():
        if verb.example:
            words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", verb.example)]
            assert words[:2] == ["irc", name]
            assert arguments(verb, words[2:])
