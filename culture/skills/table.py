"""The table of skills by their names in the configuration."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from culture.config.ircd import IrcdConfig
from culture.errors import ConfigError, Problem
from culture.federation.ports import EventLog
from culture.ircd.skills import Skill, Skills
from culture.skills.history.log import HistoryLog, NoLog
from culture.skills.history.semantic import open_semantic
from culture.skills.history.skill import History
from culture.skills.logger import Logger
from culture.skills.profiles import ProfilesSkill
from culture.skills.urlindex import UrlIndex
from culture.store.history.archive import Archive


@dataclass(frozen=True, slots=True)
class Place:
    """What a skill is made with."""

    # Where it may keep what is its own. Nobody made it yet.
    directory: Path
    config: IrcdConfig
    # For the journal: what somebody should know.
    report: Callable[[str], None]


def _history(place: Place) -> Skill:
    archive = Archive(place.directory, is_synced=place.config.history.sync, report=place.report)
    semantic = open_semantic(archive, place.report) if place.config.history.semantic else None
    return History(archive, place.config.name, semantic)


def _logger(place: Place) -> Skill:
    config = place.config.logger
    directory = Path(config.directory) if config.directory else place.directory
    every_s = config.commit_interval_s
    return Logger(directory, place.directory, report=place.report, commit_every_s=every_s)


SKILLS: dict[str, Callable[[Place], Skill]] = {
    "history": _history,
    "logger": _logger,
    "profiles": lambda place: ProfilesSkill(place.directory, report=place.report),
    "urlindex": lambda place: UrlIndex(place.directory, report=place.report),
}


def open_skills(
    config: IrcdConfig,
    state_dir: Path,
    report: Callable[[str], None],
    report_error: Callable[[str, Exception], None],
) -> Skills:
    """Create the configured skills."""
    skills = []
    for name in config.skills:
        make = find_skill(name)
        directory = state_dir / name.replace(":", ".")
        skills.append(make(Place(directory, config, report)))
    for skill in skills:
        skill.start()
    return Skills(skills, report_error)


def log_of(skills: Skills) -> EventLog:
    """Return the event log that links read from."""
    archives = [skill.archive for skill in skills if isinstance(skill, History)]
    return HistoryLog(archives[0]) if archives else NoLog()


def find_skill(name: str) -> Callable[[Place], Skill]:
    """Return the factory of a skill. Raise ConfigError if there is none."""
    return SKILLS.get(name) or _of_module(name)


def _of_module(name: str) -> Callable[[Place], Skill]:
    module, _, wanted = name.partition(":")
    try:
        made = getattr(importlib.import_module(module), wanted)
    except Exception as error:
        # A module that is not ours may raise anything; the hint shows where.
        hint = f"python3 -c 'from {module} import {wanted}'"
        raise ConfigError([Problem("skills", f"there is no '{name}': {error}", hint)]) from None
    if not (isinstance(made, type) and issubclass(made, Skill)):
        hint = f"class {wanted}(Skill), with Skill from culture.ircd.skills"
        raise ConfigError([Problem("skills", f"'{name}' is no skill", hint)])
    return made
