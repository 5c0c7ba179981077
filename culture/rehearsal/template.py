"""Fill `{name}` in the texts of a script with what the prompt said.

`{a|b}` is the first of the two that has a value; `{{name}}` stands for `{name}` itself. Braces around
anything else than names are left alone, so that JSON and code need no care.

What is filled in comes from people on IRC and is hostile. It is safe in texts and in the words of a
command, which are quoted one by one; nothing is ever filled into a line that a shell reads.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACE = re.compile(rf"\{{\{{({_NAME}(?:\|{_NAME})*)\}}\}}|\{{({_NAME}(?:\|{_NAME})*)\}}")

# The key of a tool's input whose value a shell reads.
COMMAND = "command"


def fill(template: str, values: Mapping[str, str]) -> str:
    def value(place: re.Match[str]) -> str:
        literal, names = place.groups()
        if literal is not None:
            return "{" + literal + "}"
        return next((values[name] for name in names.split("|") if values[name]), "")

    return _PLACE.sub(value, template)


def fill_words(words: Iterable[str], values: Mapping[str, str]) -> str:
    """Return a command line in which each word stays one word, whatever is filled into it."""
    readable = {name: _readable(value) for name, value in values.items()}
    return shlex.join(fill(word, readable) for word in words)


def _readable(value: str) -> str:
    """Return the visible characters: the CLI refuses commands with hidden colour codes or odd spaces."""
    spaced = (" " if char.isspace() else char for char in value)
    return "".join(char for char in spaced if char.isprintable())


def fill_input(data: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """Return a tool's input with every text in it filled, except the command, which is taken as it is."""
    return {key: value if key == COMMAND else _fill_any(value, values) for key, value in data.items()}


def _fill_any(value: Any, values: Mapping[str, str]) -> Any:
    match value:
        case str():
            return fill(value, values)
        case list():
            return [_fill_any(item, values) for item in value]
        case dict():
            return {key: _fill_any(item, values) for key, item in value.items()}
        case _:
            return value


def names_in(data: Any) -> set[str]:
    """Return every name that the texts in this data use."""
    match data:
        case str():
            return {name for _, names in _PLACE.findall(data) if names for name in names.split("|")}
        case list() | tuple():
            return set().union(*map(names_in, data))
        case dict():
            return set().union(*map(names_in, data.values()))
        case _:
            return set()
