"""Check the units of this host, its ports and its links."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Final

from culture.config import paths
from culture.config.address import TcpAddress, parse_endpoint
from culture.config.links import is_loopback
from culture.ctl.agent_call import unit_of
from culture.ctl.doctor.finding import Finding, Patient
from culture.ctl.systemctl import state_of

_SERVER: Final = "culture-ircd.service"
_CONNECT_TIMEOUT_S: Final = 2.0
# A running server rewrites the file every second.
_STALE_S: Final = 30.0


def check_units(patient: Patient) -> Iterator[Finding]:
    """Find units that failed or do not run."""
    if patient.units is None:
        yield Finding("systemd", "warning", "systemd does not run here", "culturectl up")
        return
    if (state := state_of(patient.units.get(_SERVER))) == "running":
        yield Finding("server", "ok", "the server runs")
    else:
        yield Finding("server", "problem", f"the server is {state}", f"systemctl start {_SERVER}")
    failed = {name for name, unit in patient.units.items() if state_of(unit) == "failed"}
    for name in sorted(failed - {_SERVER}):
        yield Finding("units", "problem", f"{name} failed", f"journalctl -u {name} -n 20")
    for agent in patient.agents.agents if patient.agents else ():
        unit = unit_of(agent.nick)
        if (state := state_of(patient.units.get(unit))) in ("running", "starting"):
            yield Finding(agent.nick, "ok", f"the agent is {state}")
        elif unit not in failed:
            yield Finding(agent.nick, "warning", f"the agent is {state}", f"systemctl enable --now {unit}")


def check_ports(patient: Patient) -> Iterator[Finding]:
    """Find addresses on which nobody answers, or somebody other than the server does."""
    is_running = patient.units is not None and state_of(patient.units.get(_SERVER)) == "running"
    for text in patient.ircd.listen if patient.ircd else ():
        address = parse_endpoint(text).address
        if not isinstance(address, TcpAddress) or not is_loopback(address.host):
            continue
        answers = _answers(address)
        if answers == is_running or (answers and patient.units is None):
            state = "is open" if answers else "is closed, as the server does not run"
            yield Finding("ports", "ok", f"{address} {state}")
        elif answers and _is_socket_active(patient):
            yield Finding("ports", "ok", f"{address} is held by systemd until the server starts")
        else:
            what = "is used by another program" if answers else "is closed, although the server runs"
            yield Finding("ports", "problem", f"{address} {what}", f"ss -tlnp 'sport = :{address.port}'")


def _is_socket_active(patient: Patient) -> bool:
    unit = (patient.units or {}).get("culture-ircd.socket", {})
    return unit.get("ActiveState") == "active"


def _answers(address: TcpAddress) -> bool:
    try:
        socket.create_connection((address.host, address.port), timeout=_CONNECT_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def check_links(patient: Patient) -> Iterator[Finding]:
    """Find hosts that the server is not linked to, and clocks that differ."""
    if patient.ircd is None or not patient.ircd.links:
        return
    file = patient.state_dir / paths.LINKS
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))["links"]
        is_stale = time.time() - file.stat().st_mtime > _STALE_S
    except PermissionError:
        yield Finding("links", "warning", f"cannot read '{file}'", "sudo culturectl doctor")
        return
    except (OSError, ValueError, KeyError):
        rows, is_stale = [], True
    if is_stale:
        yield Finding(
            "links", "warning", "the server does not report its links", f"systemctl status {_SERVER}"
        )
        return
    for row in rows:
        if row["state"] == "linked":
            yield Finding("links", "ok", f"linked to {row['host']}")
        else:
            hint = f"journalctl -u {_SERVER} CULTURE_PEER={row['host']} -n 20"
            yield Finding("links", "problem", f"not linked to {row['host']}: {row['state']}", hint)
