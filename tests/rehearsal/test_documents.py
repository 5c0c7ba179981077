"""What the reference and the how-to promise is what the program takes."""

import re
from dataclasses import fields
from pathlib import Path

from culture.config.loader import parse
from culture.daemons.rehearsal import _parser
from culture.rehearsal.script import ErrorStep, Script, ScriptRule, ScriptStep, ScriptUsage, ToolStep

DOCS = Path(__file__).parents[2] / "docs"
MAN = (DOCS / "man" / "culture-rehearsal.8.rst").read_text()


def test_every_option_is_in_the_man_page_and_no_other():
    options = {name for action in _parser()._actions for name in action.option_strings} - {"-h", "--help"}

    described = re.findall(r"^(--?[a-z]+)(?:, (--[a-z]+))?(?: [A-Z]+)?$", MAN, re.MULTILINE)

    assert {name for names in described for name in names if name} == options


def test_every_key_of_a_script_is_in_the_man_page_and_no_other():
    scripts = MAN.partition("SCRIPTS\n")[2].partition("SIGNALS\n")[0]
    described = set(re.findall(r"^\*\*(\w+)\*\*$", scripts, re.MULTILINE))
    inner = {field.name for model in (ToolStep, ErrorStep, ScriptUsage) for field in fields(model)}

    assert described == {field.name for model in (ScriptRule, ScriptStep) for field in fields(model)} - {
        "answer"
    }
    assert all(f"**{key}**" in scripts for key in inner | {"answer"})


def test_the_scripts_in_the_documents_can_be_played():
    howto = (DOCS / "howto" / "rehearsal.md").read_text()
    in_howto = re.findall(r"```yaml\n(.*?)```", howto, re.DOTALL)
    in_man = re.findall(r"^    rules:\n(?:     .*\n)+", MAN, re.MULTILINE)

    assert (len(in_howto), len(in_man)) == (2, 1)
    for text in in_howto + in_man:
        assert parse(text, Script, where="document").rules
