"""The entry point of culturectl, with the table of its verbs."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from culture import errors
from culture.commandline import Parser
from culture.ctl.options import add_common
from culture.errors import UsageError


class Verb(NamedTuple):
    """One verb of culturectl.

    Its module is imported only when the verb is used. The module defines `add_arguments(parser)`, and
    `run(options)`, which returns the exit status.
    """

    summary: str
    module: str

    def load(self) -> ModuleType:
        """Import the module of this verb."""
        return import_module(f"culture.ctl.{self.module}")


VERBS = {
    "abort": Verb("Stop what an agent works on, for good", "verbs.agents.abort"),
    "accounts": Verb("Add, change, list or remove accounts of the server", "verbs.server.accounts"),
    "adopt": Verb("Print a fleet file that describes this host as it is", "verbs.fleet.adopt"),
    "answer": Verb("Answer a question of an agent", "verbs.agents.answer"),
    "apply": Verb("Make this host as the fleet file says", "verbs.fleet.apply"),
    "audit": Verb("Show or verify who decided what for agents", "verbs.agents.audit"),
    "backends": Verb("List agent programs and how to install them", "verbs.host.backends"),
    "cat": Verb("Print the effective configuration", "verbs.configuration.cat"),
    "check": Verb("Report every mistake in the fleet file", "verbs.fleet.check"),
    "completion": Verb("Print a completion script for a shell", "verbs.host.completion"),
    "confirm": Verb("Keep an apply that would be taken back otherwise", "verbs.fleet.confirm"),
    "cost": Verb("Show what agents used and what it cost", "verbs.agents.cost"),
    "create": Verb("Add an agent to agents.yaml", "verbs.configuration.create"),
    "deploy": Verb("Apply the fleet file on hosts over ssh", "verbs.fleet.deploy"),
    "doctor": Verb("Find what is wrong on this host, and how to mend it", "verbs.host.doctor"),
    "drift": Verb("Show what was changed by hand since the last apply", "verbs.fleet.drift"),
    "edit": Verb("Change a configuration file in an editor", "verbs.configuration.edit"),
    "failed": Verb("Tell an agent's channels that its service failed", "verbs.agents.announce_failure"),
    "halt": Verb("Stop all agents of this host, or of all linked hosts", "verbs.server.halt"),
    "history": Verb("Check, repair, back up, restore or export history", "verbs.server.history"),
    "list-agents": Verb("List agents and their state", "verbs.agents.list_agents"),
    "list-hosts": Verb("List the hosts of the fleet", "verbs.fleet.list_hosts"),
    "list-links": Verb("List links to other hosts and their lag", "verbs.server.list_links"),
    "log": Verb("Show the transcript of an agent's turn", "verbs.agents.log"),
    "login": Verb("Log in to an agent's model as the agent's user", "verbs.agents.login"),
    "pause": Verb("Stop an agent from starting new turns", "verbs.agents.pause"),
    "plan": Verb("Show what apply would change on this host", "verbs.fleet.plan"),
    "prune": Verb("Delete history beyond the limits in ircd.yaml", "verbs.server.prune"),
    "questions": Verb("List the open questions of agents", "verbs.agents.questions"),
    "queue": Verb("List the messages to an agent, or drop one", "verbs.agents.queue"),
    "remove": Verb("Remove an agent from agents.yaml", "verbs.configuration.remove"),
    "render": Verb("Show or write the files of each host of the fleet", "verbs.fleet.render"),
    "restart": Verb("Restart the backend of an agent", "verbs.agents.restart"),
    "resume": Verb("Let a paused agent start turns again", "verbs.agents.resume"),
    "secrets": Verb("Make, install or replace the secrets of links", "verbs.fleet.secrets"),
    "show": Verb("Print the properties of an agent, for programs", "verbs.agents.show"),
    "skills": Verb("Install the irc skill for your coding sessions", "verbs.host.skills"),
    "status": Verb("Show the status of this host or of one agent", "verbs.agents.status"),
    "top": Verb("Show agents, questions and links on a live screen", "top.top"),
    "undo": Verb("Take the last apply back", "verbs.fleet.undo"),
    "unhalt": Verb("Let agents work again after a halt", "verbs.server.unhalt"),
    "units": Verb("Write systemd drop-ins from agents.yaml", "units.units"),
    "up": Verb("Run the server and its agents in the foreground", "up.up"),
}

_ABOUT = "People and AI coding agents on one IRC network, on your own Linux hosts."
_EXAMPLES = """\
examples:
  culturectl up               run the server and an agent with a scripted model
  culturectl up --live        run them with the real model
  culturectl status           show what runs on this host
  culturectl login NICK       log in to the model of an agent

See culturectl VERB --help for the options of a verb, and culturectl(1) for details.
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. Raises UsageError if it is wrong."""
    parser = Parser(
        prog="culturectl",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_version()
    add_common(parser, is_shown=True)
    parser.set_defaults(quiet=False, no_pager=False)
    named = _named_verb(arguments)
    # A metavar at least as long as the longest verb makes argparse print each summary beside its verb.
    verbs = parser.add_subparsers(
        title="verbs", metavar="VERB [NAME...]", dest="verb", required=True, prog=parser.prog
    )
    for name, verb in VERBS.items():
        verb_parser = verbs.add_parser(name, help=verb.summary, description=verb.summary)
        if name == named:
            add_common(verb_parser, is_shown=False)
            verb.load().add_arguments(verb_parser)
    return parser.parse_args(arguments)


def _named_verb(arguments: Sequence[str]) -> str | None:
    """Return the first argument that is not an option. No option before the verb takes a value."""
    named = next((argument for argument in arguments if not argument.startswith("-")), None)
    if named is None or named in VERBS:
        return named
    # Imported here, because only a mistyped verb needs it.
    from difflib import get_close_matches

    close = get_close_matches(named, VERBS, n=1)
    hint = f"culturectl {close[0]}" if close else f"verbs: {', '.join(VERBS)}"
    raise UsageError(f"unknown verb '{named}'", hint=hint)


def main() -> None:
    """Run culturectl and exit with its status."""
    sys.exit(errors.run("culturectl", lambda: run(sys.argv[1:])))


def run(arguments: Sequence[str]) -> int:
    """Run the verb of a command line and return the exit status."""
    options = parse(arguments)
    status: int = VERBS[options.verb].load().run(options)
    return status


if __name__ == "__main__":
    main()
