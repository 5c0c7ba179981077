"""Render the files of each host from the fleet: a pure function from FleetConfig to paths and texts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from culture.config import paths
from culture.config.fleet.derive import agents_of, ircd_of
from culture.config.fleet.model import FleetConfig, HostConfig
from culture.ctl.dump import as_data
from culture.ctl.units import dropins
from culture.errors import UnavailableError

# The text of each file of a host, by absolute path.
Files = dict[Path, str]
_Fill = Callable[..., str]

IRCD_FILE = paths.SYSTEM_CONFIG / "ircd.yaml"
AGENTS_FILE = paths.SYSTEM_CONFIG / "agents.yaml"


def render(fleet: FleetConfig) -> dict[str, Files]:
    """Return the files of every host, by name."""
    return {host.name: render_host(fleet, host) for host in fleet.hosts}


def render_host(fleet: FleetConfig, host: HostConfig) -> Files:
    """Return the files of one host."""
    fill = _templates()
    texts = {
        IRCD_FILE: fill("ircd.yaml.j2", host=host, keys=as_data(ircd_of(fleet, host))),
        AGENTS_FILE: fill("agents.yaml.j2", host=host, keys=as_data(agents_of(host))),
    }
    for agent in host.agents:
        texts |= {dropins.DIRECTORY / file: text for file, text in dropins.render(agent).items() if text}
    return texts


def _templates() -> _Fill:
    try:
        # Imported here, because only rendering needs it and hosts may be without it.
        import jinja2
    except ImportError:
        raise UnavailableError("jinja2 is not installed", hint="apt install python3-jinja2") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(paths.skel() / "fleet"),
        undefined=jinja2.StrictUndefined,
        # The files are YAML, not HTML.
        autoescape=False,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["yaml"] = _as_yaml

    def fill(name: str, **values: Any) -> str:
        return environment.get_template(name).render(**values)

    return fill


def _as_yaml(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
