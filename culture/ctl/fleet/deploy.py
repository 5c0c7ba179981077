"""Apply a fleet file on several hosts: the first alone, then the rest side by side, servers one at a time."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from culture.config.fleet.model import HostConfig
from culture.ctl.fleet.plan import SERVER
from culture.ctl.fleet.ssh import NOT_REACHED, Answer, run_on
from culture.errors import ConfigError, TemporaryError

_AT_ONCE: Final = 16
# Time for an apply besides waiting for turns: units have four minutes to start, and again to be taken back.
_APPLY_TIMEOUT_S: Final = 600
# The part of the window in which a confirmation is tried. The timer on the host does not wait.
_CONFIRM_PART: Final = 0.8
_RETRY_S: Final = 1.0
# The connection was lost while the apply went on.
_STILL_APPLYING: Final = TemporaryError.exit_status


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one host."""

    host: str
    # unchanged, planned, applied, failed, unreachable, taken back or skipped.
    result: str
    detail: str = ""
    rows: tuple[dict[str, Any], ...] = ()
    status: int = 0

    @property
    def is_bad(self) -> bool:
        """Return whether somebody has to look at it."""
        return self.result not in ("unchanged", "planned", "applied")

    @property
    def restarts_server(self) -> bool:
        """Return whether the plan restarts the IRC server."""
        return any(row["what"] == SERVER and row["action"] == "restart" for row in self.rows)


class Deployment:
    """One fleet file on its way to several hosts."""

    def __init__(
        self,
        text: str,
        tell: Callable[[str], None],
        *,
        window_s: float,
        options: Sequence[str],
        wait_s: float,
    ) -> None:
        self._data = text.encode()
        self._tell = tell
        self._window_s = window_s
        # Options of apply that are passed on.
        self._options = options
        self._wait_s = wait_s

    def plan(self, hosts: Sequence[HostConfig]) -> list[Outcome]:
        """Ask all hosts at once what would change, and what would fail."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(self._plan, hosts))

    def apply(self, hosts: Sequence[HostConfig], plans: Sequence[Outcome]) -> list[Outcome]:
        """Apply where something changes. If the first host fails, the others stay as they are."""
        waiting = [(host, plan) for host, plan in zip(hosts, plans, strict=True) if plan.result == "planned"]
        done = [plan for plan in plans if plan.result != "planned"]
        if not waiting:
            return done
        (canary, _), *rest = waiting
        done.append(self._apply(canary))
        if done[-1].is_bad:
            skipped = f"{canary.name} failed"
            return [*done, *(Outcome(host.name, "skipped", skipped) for host, _ in rest)]
        servers = [host for host, plan in rest if plan.restarts_server]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            one_by_one = pool.submit(self._one_by_one, servers)
            others = pool.map(self._apply, [host for host, plan in rest if not plan.restarts_server])
            return [*done, *others, *one_by_one.result()]

    def _one_by_one(self, hosts: Sequence[HostConfig]) -> list[Outcome]:
        """Restart one server after the other, so that the network never loses more than one."""
        done: list[Outcome] = []
        for host in hosts:
            failed = next((each.host for each in done if each.is_bad), None)
            done.append(Outcome(host.name, "skipped", f"{failed} failed") if failed else self._apply(host))
        return done

    def _plan(self, host: HostConfig) -> Outcome:
        command = ["culturectl", "--quiet", "plan", "--fleet", "-", "--host", host.name, "--json"]
        answer = run_on(host, command, data=self._data)
        if answer.status not in (0, 1):
            return self._refused(host, answer)
        rows = tuple(json.loads(line) for line in answer.out.splitlines())
        self._tell(f"{host.name}: {len(rows)} changes" if rows else f"{host.name}: nothing to do")
        return Outcome(host.name, "planned" if rows else "unchanged", rows=rows)

    def _apply(self, host: HostConfig) -> Outcome:
        self._tell(f"{host.name}: applying")
        # In a unit of its own, so that it goes on if the connection is lost.
        unit = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--service-type=exec"]
        verb = ["culturectl", "--quiet", "apply", "--fleet", "-", "--host", host.name]
        window = ["--confirm-within", f"{self._window_s:g}"]
        command = [*unit, *verb, *window, *self._options]
        answer = run_on(host, command, data=self._data, timeout_s=_APPLY_TIMEOUT_S + self._wait_s)
        if answer.status != 0 and answer.is_reached:
            return self._refused(host, answer)
        return self._confirm(host)

    def _confirm(self, host: HostConfig) -> Outcome:
        """Confirm over a new connection, as often as the window allows."""
        deadline = time.monotonic() + self._window_s * _CONFIRM_PART
        answer = run_on(host, ["culturectl", "--quiet", "confirm"])
        while answer.status in (NOT_REACHED, _STILL_APPLYING) and time.monotonic() < deadline:
            time.sleep(_RETRY_S)
            answer = run_on(host, ["culturectl", "--quiet", "confirm"])
        if answer.status == 0:
            self._tell(f"{host.name}: applied")
            return Outcome(host.name, "applied")
        why = "cannot be reached any more" if not answer.is_reached else _last_line(answer)
        self._tell(f"{host.name}: not confirmed; the host takes it back")
        return Outcome(host.name, "taken back", why, status=answer.status)

    def _refused(self, host: HostConfig, answer: Answer) -> Outcome:
        result = "failed" if answer.is_reached else "unreachable"
        self._tell(f"{host.name}: {result}\n{answer.error.rstrip()}")
        return Outcome(host.name, result, _last_line(answer), status=answer.status)


def _last_line(answer: Answer) -> str:
    """Return the last line that is no hint."""
    lines = [line for line in answer.error.splitlines() if line and not line.startswith("hint: ")]
    return lines[-1].removeprefix("culturectl: ") if lines else f"exit status {answer.status}"


def is_configuration(outcomes: Sequence[Outcome]) -> bool:
    """Return whether a host refused because of its configuration or something that it lacks."""
    return any(each.status == ConfigError.exit_status for each in outcomes)
