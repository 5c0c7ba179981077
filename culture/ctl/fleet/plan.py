"""Compare the files of a host with those that the fleet wants, and find the units that have to follow."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

from culture.config import loader
from culture.config.agents import AgentConfig, AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.ctl.agent_call import unit_of
from culture.ctl.files import below
from culture.ctl.fleet.render import AGENTS_FILE, IRCD_FILE, Files
from culture.ctl.units import dropins
from culture.errors import ConfigError
from culture.net.reload import NEEDS_RESTART

SERVER: Final = "culture-ircd.service"
Action = Literal["reload", "restart", "start", "stop"]
_Model = TypeVar("_Model", IrcdConfig, AgentsConfig)


class Change(NamedTuple):
    """A file that differs; None stands for a file that does not exist."""

    path: Path
    old: str | None
    new: str | None

    @property
    def kind(self) -> str:
        """Return one word for the change."""
        if self.old is None:
            return "create"
        return "remove" if self.new is None else "change"


class UnitAction(NamedTuple):
    """What happens to a unit, and why."""

    unit: str
    action: Action
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What an apply does on one host."""

    changes: tuple[Change, ...]
    actions: tuple[UnitAction, ...]

    @property
    def changes_units(self) -> bool:
        """Return whether systemd has to read unit files again."""
        return any(change.path.is_relative_to(dropins.DIRECTORY) for change in self.changes)

    def units(self, *actions: Action) -> list[str]:
        """Return the units to which one of these happens."""
        return [each.unit for each in self.actions if each.action in actions]


def read_files(root: Path) -> Files:
    """Return the files of this host that a fleet may write."""
    directory = below(root, dropins.DIRECTORY)
    drop_ins = sorted(directory.glob(f"culture-agent@*.d/{dropins.FILE}"))
    files = [IRCD_FILE, AGENTS_FILE, *(Path("/") / file.relative_to(root) for file in drop_ins)]
    return {file: loader.read_text(below(root, file)) for file in files if below(root, file).exists()}


def make_plan(old: Files, new: Files) -> Plan:
    """Return what has to change, and which units have to follow. The server comes first."""
    paths = dict.fromkeys([*new, *old])
    changes = [Change(path, old.get(path), new.get(path)) for path in paths]
    changes = [change for change in changes if change.old != change.new]
    changed = {change.path for change in changes}
    actions = [*_server(old, new), *_agents(old, new, changed)]
    return Plan(tuple(changes), tuple(actions))


def _server(old: Files, new: Files) -> Iterator[UnitAction]:
    before, after = _parse(old, IRCD_FILE, IrcdConfig), _parse(new, IRCD_FILE, IrcdConfig)
    if before == after:
        return
    if before is None or after is None:
        yield UnitAction(SERVER, "restart", "ircd.yaml could not be read before")
        return
    keys = _changed_keys(before, after)
    restarting = [key for key in keys if key in NEEDS_RESTART or _loads_anew(key, before, after)]
    if restarting:
        yield UnitAction(SERVER, "restart", f"changed: {', '.join(restarting)}")
    else:
        yield UnitAction(SERVER, "reload", f"changed: {', '.join(keys)}")


def _loads_anew(key: str, before: IrcdConfig, after: IrcdConfig) -> bool:
    """Return whether the server takes up a key only at its start: its first certificate, new credentials."""
    if key == "tls":
        return bool(before.tls.certificate) != bool(after.tls.certificate)
    if key == "opers":
        known = {oper.password_credential for oper in before.opers}
        return any(oper.password_credential not in known for oper in after.opers)
    return False


def _agents(old: Files, new: Files, changed: set[Path]) -> Iterator[UnitAction]:
    before = _parse(old, AGENTS_FILE, AgentsConfig) or AgentsConfig()
    after = _parse(new, AGENTS_FILE, AgentsConfig) or AgentsConfig()
    common = [key for key in _changed_keys(before, after) if key != "agents"]
    there = {agent.nick: agent for agent in before.agents}
    wanted = {agent.nick: agent for agent in after.agents}
    for nick in there.keys() - wanted.keys():
        yield UnitAction(unit_of(nick), "stop", "not in the fleet any more")
    for nick, agent in wanted.items():
        if nick not in there:
            yield UnitAction(unit_of(nick), "start", "new")
            continue
        keys = [*common, *_changed_keys(there[nick], agent)]
        if keys or _drop_ins(agent) & changed:
            yield UnitAction(unit_of(nick), "restart", f"changed: {', '.join(keys) or 'drop-ins'}")


def _drop_ins(agent: AgentConfig) -> set[Path]:
    return {dropins.DIRECTORY / file for file in dropins.render(agent)}


def _parse(files: Mapping[Path, str], path: Path, model: type[_Model]) -> _Model | None:
    """Return what a file says; the defaults if there is no file, None if it has mistakes."""
    try:
        return loader.parse(files.get(path, ""), model, where=str(path))
    except ConfigError:
        return None


def _changed_keys(before: Any, after: Any) -> list[str]:
    names = [field.name for field in dataclasses.fields(after)]
    return [name for name in names if getattr(before, name) != getattr(after, name)]
