"""Let agents finish their turn before their service is restarted."""

import time
from collections.abc import Sequence
from typing import Any, Final

from culture.ctl.agent_call import ask
from culture.errors import CultureError, TemporaryError

_POLL_S: Final = 0.5
_REASON: Final = "its configuration changes"


def drain(nicks: Sequence[str], *, within_s: float) -> list[str]:
    """Pause the agents that are in a turn, wait until it has ended, and return who was paused.

    Raises TemporaryError, and lets all of them go on, if a turn takes longer.
    """
    screens = {nick: _screen(nick) for nick in nicks}
    working = [nick for nick, screen in screens.items() if screen["turn"]]
    # Those that a person paused stay paused afterwards.
    paused = [nick for nick in working if not screens[nick]["paused"]]
    deadline = time.monotonic() + within_s
    try:
        for nick in paused:
            ask(nick, {"type": "pause", "why": _REASON})
        while working := [nick for nick in working if _screen(nick)["turn"]]:
            if time.monotonic() > deadline:
                what = f"{', '.join(working)} did not finish within {within_s:g} s; nothing was changed"
                raise TemporaryError(what, hint="--wait SECONDS, or --now to interrupt turns")
            time.sleep(_POLL_S)
    except BaseException:
        let_go_on(paused)
        raise
    return paused


def let_go_on(nicks: Sequence[str]) -> None:
    """Resume agents that were paused here. One that does not run starts turns again when it does."""
    for nick in nicks:
        try:
            ask(nick, {"type": "resume"})
        except CultureError:
            # Its service did not come up, which is reported by those who wait for it.
            continue


def _screen(nick: str) -> dict[str, Any]:
    """Return the status that an agent reports; one without a turn if it does not run."""
    try:
        return dict(ask(nick, {"type": "status"})["screen"])
    except CultureError:
        return {"turn": None, "paused": False}
