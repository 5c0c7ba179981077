"""Describe the command line of culturectl for shells, as the parsers of its verbs define it."""

import argparse
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from culture.commandline import Parser
from culture.ctl.main import VERBS
from culture.ctl.options import add_common

# What is completed for a value: names of agents or hosts, files, directories, or a fixed list.
Kind = Literal["nick", "host", "file", "directory", "words", "none"]
_KINDS: Final[dict[str, Kind]] = {"NICK": "nick", "HOST": "host", "FILE": "file", "DIR": "directory"}


class Value(NamedTuple):
    """What may stand for a positional argument, or after an option."""

    kind: Kind
    words: tuple[str, ...] = ()


class Option(NamedTuple):
    """One option of a verb."""

    names: tuple[str, ...]
    help: str
    # None if the option takes no value.
    value: Value | None


class VerbDescription(NamedTuple):
    """What may follow a verb."""

    name: str
    summary: str
    options: tuple[Option, ...]
    values: tuple[Value, ...]


def describe_verbs() -> list[VerbDescription]:
    """Return every verb. This imports the modules of all of them."""
    return [_verb(name) for name in VERBS]


def describe_common() -> tuple[Option, ...]:
    """Return the options that stand in front of the verb."""
    parser = Parser(prog="culturectl")
    parser.add_version()
    add_common(parser, is_shown=True)
    return tuple(_options(parser))


def _verb(name: str) -> VerbDescription:
    parser = Parser(prog=f"culturectl {name}")
    VERBS[name].load().add_arguments(parser)
    positional = [action for action in parser._actions if not action.option_strings]
    values = tuple(_value(action) for action in positional)
    return VerbDescription(name, VERBS[name].summary, tuple(_options(parser)), values)


def _options(parser: Parser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            value = None if action.nargs == 0 else _value(action)
            yield Option(tuple(action.option_strings), action.help or "", value)


def _value(action: argparse.Action) -> Value:
    if isinstance(action, argparse._SubParsersAction):
        return Value("words", tuple(action.choices))
    if action.choices:
        return Value("words", tuple(map(str, action.choices)))
    return Value(_KINDS.get(str(action.metavar), "none"))
