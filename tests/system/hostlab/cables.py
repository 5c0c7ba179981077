"""Cables between hosts: a network of two for each pair, which can be pulled, or swallow all that goes in."""

import subprocess
from itertools import count

from system.hostlab.host import Host

NUMBERS = count(1)
SWALLOW = """
table netdev {device} {{
  chain in {{ type filter hook ingress device "{device}" priority 0; policy drop; }}
}}
"""
# The first line is there for the second: what does not exist cannot be deleted.
MEND = """
table netdev {device}
delete table netdev {device}
"""


class Cable:
    """It goes with the hosts that it is between."""

    def __init__(self, one: Host, other: Host) -> None:
        number = next(NUMBERS)
        self._ends = (one, other)
        self._device = f"cable{number}"
        self._network = f"10.77.{number}"
        self.is_cut = False
        self._lay()

    def address(self, host: Host) -> str:
        """What this host is called at the other end."""
        return f"{self._network}.{self._ends.index(host) + 1}"

    def pull(self) -> None:
        """The link is down at both ends."""
        self.is_cut = True
        self._in(self._ends[0], "ip", "link", "set", self._device, "down")

    def swallow(self) -> None:
        """Whoever sends learns nothing."""
        self.is_cut = True
        for host in self._ends:
            self._in(host, "nft", "-f", "-", text=SWALLOW.format(device=self._device))

    def mend(self) -> None:
        if self.is_cut:
            self.is_cut = False
            self._in(self._ends[0], "ip", "link", "set", self._device, "up")
            for host in self._ends:
                self._in(host, "nft", "-f", "-", text=MEND.format(device=self._device))

    def _lay(self) -> None:
        one, other = self._ends
        _run(
            *("ip", "link", "add", "name", self._device, "netns", str(one.leader), "type", "veth"),
            *("peer", "name", self._device, "netns", str(other.leader)),
        )
        for host in self._ends:
            self._in(host, "ip", "addr", "add", f"{self.address(host)}/30", "dev", self._device)
            self._in(host, "ip", "link", "set", self._device, "up")

    def _in(self, host: Host, *command: str, text: str = "") -> None:
        _run("nsenter", f"--net=/proc/{host.leader}/ns/net", *command, text=text)


def _run(*command: str, text: str = "") -> None:
    done = subprocess.run(command, input=text, text=True, capture_output=True, timeout=30)
    assert not done.returncode, f"{command}: {done.stderr}"
