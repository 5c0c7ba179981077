"""`culturectl doctor`: find what is wrong on this host, and say how to mend it."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from culture.config import loader, paths
from culture.config.agents import AgentsConfig
from culture.config.ircd import IrcdConfig
from culture.ctl import output, systemctl
from culture.ctl.agent_call import unit_of
from culture.ctl.doctor import files, services
from culture.ctl.doctor.finding import Check, Finding, Patient
from culture.ctl.options import add_json
from culture.errors import ConfigError, CultureError, NoInputError, Problem, UnavailableError

_Model = TypeVar("_Model", IrcdConfig, AgentsConfig)
_CHECKS: Final[tuple[Check, ...]] = (
    services.check_units,
    services.check_ports,
    services.check_links,
    files.check_missing,
    files.check_credentials,
    files.check_backends,
    files.check_disk,
    files.check_clock,
    files.check_fleet,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--all", action="store_true", help="Also show what is in order")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb. The exit status is 1 if there is a problem."""
    findings = examine()
    shown = findings if options.all or options.json else [each for each in findings if each.state != "ok"]
    rows = [each._asdict() for each in shown]
    if options.json:
        output.show_json(rows)
    else:
        for each in shown:
            output.show([f"{each.state:>7}: {each.subject}: {each.what}"])
            if each.hint:
                output.show([f"         {each.hint}"])
        output.note(options, _summary(findings))
    return 1 if any(each.state == "problem" for each in findings) else 0


def examine() -> list[Finding]:
    """Run all checks on this host."""
    findings: list[Finding] = []
    ircd_file, agents_file = (paths.config_file(name, os.environ) for name in ("ircd.yaml", "agents.yaml"))
    ircd = _load(ircd_file, IrcdConfig, findings)
    agents = _load(agents_file, AgentsConfig, findings)
    configured = ircd.state_dir if ircd else ""
    state_dir = paths.server_state_dir(configured, ircd_file, os.environ)
    patient = Patient(ircd, agents, _units(agents), state_dir)
    return [*findings, *(finding for check in _CHECKS for finding in check(patient))]


def _load(path: Path, model: type[_Model], findings: list[Finding]) -> _Model | None:
    try:
        found = loader.load(path, model)
    except NoInputError:
        return model()
    except CultureError as error:
        what = [Problem(str(path), str(error), error.hint)]
        problems = error.problems if isinstance(error, ConfigError) else what
        hint = f"editor {path}"
        findings += [Finding(each.where, "problem", each.what, each.hint or hint) for each in problems]
        return None
    findings.append(Finding("configuration", "ok", f"'{path}' is valid"))
    return found


def _units(agents: AgentsConfig | None) -> dict[str, systemctl.Unit] | None:
    nicks = [agent.nick for agent in agents.agents] if agents else []
    try:
        return systemctl.show(["culture-*", *map(unit_of, nicks)])
    except UnavailableError:
        return None


def _summary(findings: Sequence[Finding]) -> str:
    count = {state: sum(each.state == state for each in findings) for state in ("problem", "warning", "ok")}
    if not count["problem"] and not count["warning"]:
        return f"all {count['ok']} checks are in order"
    return f"problems: {count['problem']}, warnings: {count['warning']}, in order: {count['ok']}"
