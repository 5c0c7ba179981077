"""The command-line options that several verbs share."""

import argparse


def add_common(parser: argparse.ArgumentParser, *, is_shown: bool) -> None:
    """Add the options that every verb accepts, before or after it. Only the main help shows them."""
    # A default would overwrite an option that was given before the verb.
    silent, unset = argparse.SUPPRESS, argparse.SUPPRESS
    parser.add_argument(
        *("-q", "--quiet"),
        action="store_true",
        default=unset,
        help="Suppress notes and hints; errors are still printed" if is_shown else silent,
    )
    parser.add_argument(
        "--no-pager",
        action="store_true",
        default=unset,
        help="Do not pipe output of systemctl or journalctl into a pager" if is_shown else silent,
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="Print JSON, one object per line")


def add_ircd_config(parser: argparse.ArgumentParser) -> None:
    """Add --config for ircd.yaml."""
    _add_config(parser, "ircd.yaml")


def add_agents_config(parser: argparse.ArgumentParser) -> None:
    """Add --config for agents.yaml."""
    _add_config(parser, "agents.yaml")


def _add_config(parser: argparse.ArgumentParser, name: str) -> None:
    # Imported here, because most verbs do not have this option.
    from pathlib import Path

    where = f"Read this file instead of ~/.culture/{name} (if it exists) or /etc/culture/{name}"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)


def add_nick(parser: argparse.ArgumentParser) -> None:
    """Add the nick of an agent as a positional argument."""
    parser.add_argument("nick", metavar="NICK", help="Nick of the agent")


def add_fleet(parser: argparse.ArgumentParser) -> None:
    """Add --fleet."""
    # Imported here, because most verbs do not have this option.
    from pathlib import Path

    where = (
        "Read this file instead of ./fleet.yaml (if it exists) or /etc/culture/fleet.yaml; -: standard input"
    )
    parser.add_argument("--fleet", type=Path, metavar="FILE", help=where)


def add_host(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --host."""
    parser.add_argument("--host", metavar="HOST", help=what)
