"""A timer of systemd that takes an apply back unless somebody confirms it in time."""

import shutil
import subprocess
import sys
import time
from typing import Final

from culture.ctl import systemctl
from culture.errors import UnavailableError

_UNIT: Final = "culture-undo-timeout"


def arm(window_s: float) -> None:
    """Take the apply back in so many seconds.

    --on-active would start to count again at every daemon-reload, so the time is counted from the start of
    systemd. The default accuracy of timers is a minute.
    """
    disarm()
    value = systemctl.control("show", "--property=UserspaceTimestampMonotonic", "--value").strip()
    since_start_s = time.clock_gettime(time.CLOCK_MONOTONIC) - int(value or 0) / 1e6
    culturectl = shutil.which("culturectl") or sys.argv[0]
    command = [
        *("systemd-run", "--quiet", "--collect", f"--unit={_UNIT}"),
        *(f"--on-startup={since_start_s + window_s:.3f}", "--timer-property=AccuracySec=100ms"),
        *(culturectl, "undo", "--pending"),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"cannot set a timer: {error.stderr.strip()}") from None
    except OSError as error:
        raise UnavailableError(f"cannot run systemd-run: {error.strerror}") from None


def disarm() -> None:
    """Stop the timer, if there is one."""
    systemctl.control("stop", f"{_UNIT}.timer", may_fail=True)
