"""Read fleet.yaml."""

from pathlib import Path

from culture.config import loader
from culture.config.fleet.checks import find_problems
from culture.config.fleet.defaults import merge_defaults, tidy_problems
from culture.config.fleet.model import FleetConfig
from culture.errors import ConfigError


def load(path: Path) -> FleetConfig:
    """Read a fleet file. Raises ConfigError with every problem that is found."""
    return parse(loader.read_text(path), where=str(path))


def parse(text: str, *, where: str) -> FleetConfig:
    """Return the fleet that a text describes."""
    try:
        return loader.parse(text, FleetConfig, where=where, prepare=merge_defaults, check=find_problems)
    except ConfigError as error:
        raise ConfigError(tidy_problems(error.problems, text, where)) from None
