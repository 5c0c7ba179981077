"""culturectl: the verbs, and the command line that names one."""

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from culture import __version__, errors
from culture.commandline import Parser
from culture.ctl import (
    accounts,
    backends,
    failed,
    history,
    links,
    pausing,
    prune,
    queue,
    skills,
    status,
    units,
    up,
)
from culture.ctl.asked import add_nick
from culture.errors import UsageError


@dataclass(frozen=True, slots=True)
class Verb:
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[Parser], None]
    summary: str


VERBS = {
    "accounts": Verb(accounts.run, accounts.add_arguments, "who may log in to the server of this host"),
    "backends": Verb(backends.run, backends.add_arguments, "which programs run agents, and how to get them"),
    "failed": Verb(failed.run, failed.add_arguments, "say in an agent's channels that its service gave up"),
    "history": Verb(
        history.run, history.add_arguments, "check, mend, back up, restore, export what was said"
    ),
    "list-links": Verb(links.run, links.add_arguments, "the other hosts, and how far each is behind"),
    "pause": Verb(pausing.pause, pausing.add_pause_arguments, "let an agent begin no turn"),
    "prune": Verb(prune.run, prune.add_arguments, "remove what is not to be kept"),
    "queue": Verb(queue.run, queue.add_arguments, "what was said to an agent, and what became of it"),
    "resume": Verb(pausing.resume, add_nick, "let an agent begin turns again"),
    "skills": Verb(skills.run, skills.add_arguments, "put the irc skill where coding agents look for skills"),
    "status": Verb(status.run, status.add_arguments, "an agent on one screen"),
    "units": Verb(units.run, units.add_arguments, "give each agent's service what agents.yaml says of it"),
    "up": Verb(up.run, up.add_arguments, "run the server and its agents here, until Ctrl-C"),
}

_ABOUT = "People and AI coding agents on one IRC network, on your own Linux hosts."
_EXAMPLES = """\
examples:
  culturectl up                  a server, an agent, a scripted model: nothing to set up, nothing to pay
  culturectl up --live           the same with the real model
  culturectl up --port 6668      when another IRC server has 6667

man culturectl says the rest.
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="culturectl",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"culturectl {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True)
    for name, verb in VERBS.items():
        verb.add_arguments(verbs.add_parser(name, help=verb.summary, description=f"{verb.summary}"))
    _check_verb(arguments)
    return parser.parse_args(arguments)


def _check_verb(arguments: Sequence[str]) -> None:
    named = next((argument for argument in arguments if not argument.startswith("-")), None)
    if named is None or named in VERBS:
        return
    close = difflib.get_close_matches(named, VERBS, n=1)
    raise UsageError(
        f"unknown verb '{named}'", hint=f"culturectl {close[0]}" if close else f"verbs: {', '.join(VERBS)}"
    )


def main() -> None:
    sys.exit(errors.run("culturectl", lambda: run(sys.argv[1:])))


def run(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    return VERBS[options.verb].run(options)


if __name__ == "__main__":
    main()
