"""`culturectl answer`: answer a question of an agent."""

import argparse
import os

from culture.config import paths
from culture.ctl import output
from culture.ctl.options import add_agents_config
from culture.ctl.questions import answer, open_questions
from culture.errors import NoInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("id", metavar="ID", help="Id of the question, as culturectl questions lists it")
    parser.add_argument("text", nargs="+", metavar="TEXT", help="The answer: yes, no, abort or any text")
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    file = (options.config or paths.config_file("agents.yaml", os.environ)).absolute()
    found = next((row for row in open_questions(file) if row["id"] == options.id), None)
    if found is None:
        raise NoInputError(f"no open question '{options.id}'", hint="culturectl questions; culturectl audit")
    answer(found["agent"], options.id, " ".join(options.text))
    output.note(options, f"answered question {options.id} of {found['agent']}")
    return 0
