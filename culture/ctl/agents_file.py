"""Add agents to the text of agents.yaml and remove them, so that comments stay."""

import yaml

from culture.config import loader
from culture.config.agents import AgentConfig, AgentsConfig
from culture.ctl.dump import as_data
from culture.errors import ConfigError, Problem


def with_agent(text: str, agent: AgentConfig, *, where: str) -> str:
    """Return the text with one agent more. Raises ConfigError if the result would be wrong."""
    lines = text.splitlines()
    agents = _agents(text, where)
    indent = 2
    at = len(lines)
    if agents is None or not agents.value:
        lines = [line for line in lines if not _is_empty_list(line)]
        lines, at = [*lines, *([""] if lines else []), "agents:"], len(lines) + bool(lines) + 1
    else:
        indent = agents.value[0].start_mark.column - 2
        at = _last_line(lines, agents.end_mark.line, agents.value[-1].start_mark.line)
    item = yaml.safe_dump([as_data(agent)], sort_keys=False, allow_unicode=True, width=100)
    added = [" " * indent + line for line in item.splitlines()]
    result = "\n".join([*lines[:at], *added, *lines[at:]]) + "\n"
    loader.parse(result, AgentsConfig, where=where)
    return result


def without_agent(text: str, nick: str, *, where: str) -> str:
    """Return the text without an agent, and without the comments inside its entry."""
    lines = text.splitlines()
    agents = _agents(text, where)
    items = agents.value if agents is not None else []
    number = next(number for number, item in enumerate(items) if _nick(item) == nick)
    first = items[number].start_mark.line
    is_last = number == len(items) - 1
    end = agents.end_mark.line if is_last and agents is not None else items[number + 1].start_mark.line
    last = _last_line(lines, end, first)
    rest = [*lines[:first], *lines[last:]]
    if len(items) == 1:
        rest = [*lines[:first], " " * 2 + "[]", *lines[last:]]
    result = "\n".join(rest) + "\n"
    loader.parse(result, AgentsConfig, where=where)
    return result


def _agents(text: str, where: str) -> yaml.SequenceNode | None:
    """Return the list of agents, which has to be written with one line per key."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    found = next((value for key, value in pairs if key.value == "agents"), None)
    if not isinstance(found, yaml.SequenceNode):
        return None
    if found.value and (found.flow_style or any(item.flow_style for item in found.value)):
        what = "'agents' is written with brackets, which this verb does not change"
        raise ConfigError([Problem(f"{where}:{found.start_mark.line + 1}", what, "culturectl edit agents")])
    return found


def _nick(item: yaml.Node) -> str:
    return next((value.value for key, value in item.value if key.value == "nick"), "")


def _is_empty_list(line: str) -> bool:
    return line.replace(" ", "") in ("agents:[]", "agents:")


def _last_line(lines: list[str], end: int, first: int) -> int:
    """Return the line behind an entry. Comments and empty lines behind it belong to what follows."""
    end = min(end, len(lines))
    while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end
