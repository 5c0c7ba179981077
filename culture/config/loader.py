"""Load YAML strictly into frozen dataclasses and report every problem with file, line and key.

A model is a frozen dataclass. Its field types define what is accepted: `str`, `int`, `float`, `bool`,
`Literal[...]`, `tuple[T, ...]` for a list, another model for a mapping, `dict[str, T]` for a mapping with
arbitrary keys, `T | None` for an optional value, `Any` for data of any form. `rules.checked(...)` adds a rule
to a field; a rule about several fields is a ValueError from the model's `__post_init__`. A model that has the
field `enabled` may be written as `off`.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin

import yaml

from culture.config.rules import CHECK
from culture.errors import ConfigError, NoInputError, NotAllowedError, Problem

Model = TypeVar("Model")
# Of anything: more than anybody needs, and not more than timers, dates and databases can reckon with.
MOST: Final = 10**10
# What YAML can write and no file name, no socket and no log can hold.
_NO_TEXT: Final = re.compile(r"[\x00\ud800-\udfff]")


class FieldProblem(NamedTuple):
    """A problem of a model that is valid key by key, at a key such as `("links", 2, "hosts")`."""

    path: tuple[str | int, ...]
    what: str
    hint: str | None = None


# Changes the nodes of a document before they are read. Nodes keep their lines wherever they are put.
Prepare = Callable[[yaml.Node], yaml.Node]


def load(path: Path, model: type[Model]) -> Model:
    """Load a configuration file. Raise ConfigError with every problem in it."""
    return parse(read_text(path), model, where=str(path))


def read_text(path: Path) -> str:
    """Return the text of a configuration file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NoInputError(f"'{path}' is not there", hint=f"touch {path} for the defaults") from None
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(str(path), f"is not UTF-8 at byte {error.start}")]) from None
    except PermissionError:
        raise NotAllowedError(f"'{path}' may not be read", hint=f"ls -l {path}") from None
    except OSError as error:
        raise NoInputError(f"cannot read '{path}': {error.strerror}") from None


def parse(
    text: str,
    model: type[Model],
    *,
    where: str,
    prepare: Prepare | None = None,
    check: Callable[[Model], Iterable[FieldProblem]] | None = None,
) -> Model:
    """Return the model that a text describes. An empty text gives the defaults.

    `check` finds problems between parts of a model that are valid on their own.
    """
    node = _compose(text, where)
    if node is not None and prepare is not None:
        node = prepare(node)
    reader = _Reader(where)
    value = reader.read_model(node, model, "") if node is not None else reader.defaults(model)
    if not reader.problems and check is not None:
        for found in check(typing.cast(Model, value)):
            reader.problem(_node_at(node, found.path), found.what, found.hint)
    if reader.problems:
        raise ConfigError(reader.problems)
    return typing.cast(Model, value)


def _node_at(node: yaml.Node | None, path: tuple[str | int, ...]) -> yaml.Node | None:
    """Return the node at a path, or the nearest one above it if the document does not have the key."""
    for step in path:
        match node:
            case yaml.MappingNode():
                found = [value for key, value in node.value if key.value == step]
            case yaml.SequenceNode() if isinstance(step, int):
                found = node.value[step : step + 1]
            case _:
                found = []
        if not found:
            break
        node = found[0]
    return node


def _compose(text: str, where: str) -> yaml.Node | None:
    try:
        composer = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"unacceptable character #x{error.character:04x}"
        raise ConfigError([Problem(f"{where}:{line}", f"not valid YAML: {what}")]) from None
    try:
        return composer.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark, what = error.problem_mark or composer.get_mark(), str(error.problem)
    except RecursionError:
        mark, what = composer.get_mark(), "nested too deeply"
    except (ValueError, OverflowError) as error:
        # An escape or a version with a number that is none.
        mark, what = composer.get_mark(), str(error)
    finally:
        composer.dispose()
    raise ConfigError([Problem(f"{where}:{mark.line + 1}", f"not valid YAML: {what}")])


_INVALID = object()


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where
        self.problems: list[Problem] = []

    def problem(self, node: yaml.Node | None, what: str, hint: str | None = None) -> object:
        line = f":{node.start_mark.line + 1}" if node is not None else ""
        sayable = what.encode(errors="backslashreplace").decode()
        self.problems.append(Problem(self.where + line, sayable, hint))
        return _INVALID

    def defaults(self, model: type[Any]) -> Any:
        return self._construct(model, {}, None, "")

    def read_model(self, node: yaml.Node, model: type[Any], within: str) -> Any:
        if _is_null(node):
            return self._construct(model, {}, node, within)
        if _is_off(node) and "enabled" in (f.name for f in dataclasses.fields(model)):
            return self._construct(model, {"enabled": False}, node, within)
        if not isinstance(node, yaml.MappingNode):
            return self.problem(node, f"expected keys{_in(within)}, found {_found(node)}")
        known = {f.name: f for f in dataclasses.fields(model)}
        named = self._name_of(node, within)
        hints = typing.get_type_hints(model)
        values: dict[str, Any] = {}
        seen: set[str] = set()
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key not in known:
                self.problem(key_node, f"unknown key '{key}'{_in(named)}", _hint_for(key, list(known)))
            elif key in seen:
                self.problem(key_node, f"key '{key}' stands twice{_in(named)}")
            else:
                seen.add(key)
                path = f"{within}.{key}" if within else key
                value = self._read(value_node, hints[key], path)
                values[key] = self._check(known[key], value, value_node, path)
        return self._construct(model, values, node, named)

    def _name_of(self, node: yaml.MappingNode, within: str) -> str:
        """Agents are told apart by their nick, other mappings by where they stand."""
        names = [v.value for k, v in node.value if k.value == "nick" and isinstance(v, yaml.ScalarNode)]
        return f"agent '{names[0]}'" if names else within

    def _construct(
        self, model: type[Any], values: dict[str, Any], node: yaml.Node | None, within: str
    ) -> Any:
        required = [
            f.name
            for f in dataclasses.fields(model)
            if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        ]
        missing = [name for name in required if name not in values]
        for name in missing:
            self.problem(node, f"missing key '{name}'{_in(within)}")
        if missing or any(value is _INVALID for value in values.values()):
            return _INVALID
        try:
            return model(**values)
        except ValueError as error:
            return self.problem(node, f"{_about(within)}{error}")

    def _check(self, field: Any, value: Any, node: yaml.Node, path: str) -> Any:
        check = field.metadata.get(CHECK)
        if value is _INVALID or check is None:
            return value
        wrong = check(value)
        return value if wrong is None else self.problem(node, f"'{path}': {wrong}")

    def _read(self, node: yaml.Node, kind: Any, path: str) -> Any:
        origin = get_origin(kind)
        if origin in (types.UnionType, typing.Union):
            if _is_null(node):
                return None
            kind = next(k for k in get_args(kind) if k is not types.NoneType)
            return self._read(node, kind, path)
        if origin is tuple:
            return self._read_list(node, get_args(kind)[0], path)
        if origin is Literal:
            return self._read_choice(node, get_args(kind), path)
        if origin is dict:
            return self._read_mapping(node, get_args(kind)[1], path)
        if dataclasses.is_dataclass(kind):
            return self.read_model(node, typing.cast(type[Any], kind), path)
        if kind is Any:
            return self._read_data(node, path)
        return self._read_scalar(node, kind, path)

    def _read_list(self, node: yaml.Node, kind: Any, path: str) -> Any:
        if not isinstance(node, yaml.SequenceNode):
            return self.problem(node, f"'{path}': expected a list, found {_found(node)}")
        values = [self._read(item, kind, f"{path}[{i}]") for i, item in enumerate(node.value)]
        return _INVALID if any(value is _INVALID for value in values) else tuple(values)

    def _read_choice(self, node: yaml.Node, choices: tuple[Any, ...], path: str) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.value in choices:
            return node.value
        expected = ", ".join(choices)
        return self.problem(node, f"'{path}': expected one of {expected}, found {_found(node)}")

    def _read_mapping(self, node: yaml.Node, kind: Any, path: str) -> Any:
        if not isinstance(node, yaml.MappingNode):
            return self.problem(node, f"'{path}': expected keys, found {_found(node)}")
        values: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self._read_scalar(key_node, str, path)
            if key in values and key is not _INVALID:
                self.problem(key_node, f"key '{key}' stands twice{_in(path)}")
            values[key] = self._read(value_node, kind, f"{path}.{key}")
        return _INVALID if _INVALID in (*values, *values.values()) else values

    def _read_scalar(self, node: yaml.Node, kind: type[Any], path: str) -> Any:
        expected = _SCALARS[kind]
        if not isinstance(node, yaml.ScalarNode) or node.tag not in expected.tags:
            return self.problem(node, f"'{path}': expected {expected.words}, found {_found(node)}")
        value = _constructed(node)
        if value is _INVALID or (isinstance(value, str) and _NO_TEXT.search(value)):
            return self.problem(node, f"'{path}': expected {expected.words}, found {_found(node)}")
        if not isinstance(value, str) and abs(value) > MOST:
            return self.problem(node, f"'{path}': {node.value} is too large: at most {MOST}")
        return kind(value)

    def _read_data(self, node: yaml.Node, path: str) -> Any:
        value = _constructed(node)
        return (
            value if value is not _INVALID else self.problem(node, f"'{path}': {_found(node)} cannot be read")
        )


def _constructed(node: yaml.Node) -> Any:
    """_INVALID if it is not what its tag says, which may stand before anything: `!!int ''`, `!!bool foo`."""
    constructor = yaml.SafeLoader("")
    try:
        return constructor.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return _INVALID
    finally:
        constructor.dispose()


@dataclasses.dataclass(frozen=True, slots=True)
class _Scalar:
    words: str
    tags: frozenset[str]


def _tags(*names: str) -> frozenset[str]:
    return frozenset(f"tag:yaml.org,2002:{name}" for name in names)


_SCALARS: dict[type[Any], _Scalar] = {
    str: _Scalar("text", _tags("str")),
    int: _Scalar("a whole number", _tags("int")),
    float: _Scalar("a number", _tags("int", "float")),
    bool: _Scalar("true or false", _tags("bool")),
}


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


def _is_off(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:bool") and _constructed(node) is False


def _found(node: yaml.Node) -> str:
    match node:
        case yaml.MappingNode():
            return "keys"
        case yaml.SequenceNode():
            return "a list"
        case _ if _is_null(node):
            return "nothing"
        case _:
            return f"'{node.value}'"


def _in(within: str) -> str:
    if not within:
        return ""
    return f" in {within}" if within.startswith("agent ") else f" in '{within}'"


def _about(within: str) -> str:
    if not within:
        return ""
    return f"{within}: " if within.startswith("agent ") else f"'{within}': "


def _hint_for(key: str, known: list[str]) -> str:
    # Only who mistyped a key waits for this import.
    import difflib

    close = difflib.get_close_matches(key, known, n=1)
    did_you_mean = f"did you mean '{close[0]}'? " if close else ""
    return f"{did_you_mean}known keys: {', '.join(known)}"
