"""Stop the units of an agent that is removed."""

from culture.ctl.systemctl import control


def stop_units(nick: str) -> None:
    """Stop and disable the service and the socket, and have systemd forget that they failed."""
    units = [f"culture-agent@{nick}.{kind}" for kind in ("service", "socket")]
    control("disable", "--now", "--quiet", *units)
    # It is an error if they did not fail.
    control("reset-failed", *units, may_fail=True)
