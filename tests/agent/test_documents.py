"""What the page of the irc skill promises is what its program takes."""

import re
from pathlib import Path

from culture.agent.skill.irc import USAGE, VERBS

PAGE = Path(__file__).parents[2] / "docs" / "man" / "culture-irc.1.rst"


def test_every_verb_of_irc_is_in_its_man_page_and_its_help_and_no_other():
    page = PAGE.read_text().partition("VERBS\n")[2].partition("OPTIONS\n")[0]

    assert set(re.findall(r"^\*\*(\w+)\*\*", page, re.MULTILINE)) == set(VERBS)
    assert set(re.findall(r"^  (\w+) ", USAGE, re.MULTILINE)) == set(VERBS)
