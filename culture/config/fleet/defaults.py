"""Merge `defaults` of fleet.yaml into each host, node by node, so that mistakes keep their line."""

import re
from collections.abc import Sequence
from typing import Final, TypeVar

import yaml

from culture.errors import Problem

# The hint for mistakes that have no better one.
MANUAL: Final = "man culture-fleet.yaml"
_Collection = TypeVar("_Collection", bound=yaml.CollectionNode)
_HOST_PATH: Final = re.compile(r"hosts\[\d+\]\.(agents\[\d+\]|ircd|all_agents)")
_IN_AGENT: Final = re.compile(r"agent '[^']*'")


def merge_defaults(root: yaml.Node) -> yaml.Node:
    """Return the document with every host complete. A key of a host hides the same key of the defaults."""
    defaults, hosts = _value(root, "defaults"), _value(root, "hosts")
    if not isinstance(defaults, yaml.MappingNode) or not isinstance(hosts, yaml.SequenceNode):
        return root
    hosts.value = [_host(defaults, host) for host in hosts.value]
    return root


def _host(defaults: yaml.MappingNode, host: yaml.Node) -> yaml.Node:
    if not isinstance(host, yaml.MappingNode):
        return host
    for key in ("ircd", "all_agents"):
        host = _with(host, key, _merged(_value(defaults, key), _value(host, key)))
    agents, each_agent = _value(host, "agents"), _value(defaults, "each_agent")
    if isinstance(agents, yaml.SequenceNode) and each_agent is not None:
        complete = [_merged(each_agent, agent) or agent for agent in agents.value]
        host = _with(host, "agents", _copy(agents, complete))
    return host


def _merged(default: yaml.Node | None, own: yaml.Node | None) -> yaml.Node | None:
    if own is None or default is None:
        return own or default
    if not isinstance(default, yaml.MappingNode) or not isinstance(own, yaml.MappingNode):
        return own
    merged = own
    for key, value in default.value:
        merged = _with(merged, key.value, _merged(value, _value(own, key.value)), key)
    return merged


def _value(node: yaml.Node | None, name: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)


def _with(
    node: yaml.MappingNode, name: str, value: yaml.Node | None, key: yaml.Node | None = None
) -> yaml.MappingNode:
    """Return a mapping with one value replaced, or added at the end."""
    if value is None:
        return node
    if _value(node, name) is None:
        key = key or yaml.ScalarNode("tag:yaml.org,2002:str", name, value.start_mark, value.end_mark)
        return _copy(node, [*node.value, (key, value)])
    return _copy(node, [(each, value if each.value == name else old) for each, old in node.value])


def _copy(node: _Collection, value: object) -> _Collection:
    return type(node)(node.tag, value, node.start_mark, node.end_mark, node.flow_style)


def tidy_problems(problems: Sequence[Problem], text: str, where: str) -> list[Problem]:
    """Report a mistake in `defaults` once, not once for each host, and give every problem a hint."""
    first, last = _lines_of_defaults(text)
    tidy: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        line = problem.where.removeprefix(f"{where}:")
        what, key = problem.what, problem.what
        if line.isdecimal() and first <= int(line) <= last:
            what = _IN_AGENT.sub("'defaults.each_agent'", _HOST_PATH.sub(_default_path, what))
            key = ""
        tidy.setdefault((problem.where, key), Problem(problem.where, what, problem.hint or MANUAL))
    return list(tidy.values())


def _default_path(path: "re.Match[str]") -> str:
    return f"defaults.{'each_agent' if path[1].startswith('agents') else path[1]}"


def _lines_of_defaults(text: str) -> tuple[int, int]:
    """Return the first and the last line of `defaults`; (1, 0) if the text has none."""
    try:
        defaults = _value(yaml.compose(text, Loader=yaml.SafeLoader), "defaults")
    except (yaml.YAMLError, ValueError, RecursionError):
        return 1, 0
    if defaults is None:
        return 1, 0
    # The mark behind a block is at the beginning of the line after it.
    last = defaults.end_mark.line + (1 if defaults.end_mark.column else 0)
    return defaults.start_mark.line + 1, last
