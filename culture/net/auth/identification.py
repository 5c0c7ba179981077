"""Find the local Unix user of a new connection before anything is read from it."""

import logging
import socket
from collections.abc import Callable
from typing import Final

from culture.net.auth.agent_users import AgentUsers
from culture.net.auth.peer_users import PeerUser, PeerUsers
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

# A refused client that tries again and again does not fill the journal.
LOG_INTERVAL_S: Final = 60.0


class Identification:
    """Identifies connections; TCP connections wait for a lookup only if somebody's user matters."""

    def __init__(
        self,
        agents: AgentUsers,
        now: Callable[[], float],
        are_users_named: Callable[[], bool] = lambda: False,
    ) -> None:
        """`are_users_named` says whether the configuration names Unix users; agents always matter."""
        self.agents = agents
        self._are_users_named = are_users_named
        self._now = now
        self._peers = PeerUsers()
        self._logged_at = -LOG_INTERVAL_S

    def identify(self, sock: socket.socket, then: Callable[[int | None], None]) -> None:
        """Call `then` with the uid, or None if it is not needed or not local; or close the socket."""
        is_needed = self.agents.are_configured or self._are_users_named()
        if sock.family == socket.AF_UNIX or not is_needed:
            then(None)
        else:
            self._peers.find(sock, lambda found: self._identified(sock, found, then))

    def close(self) -> None:
        """Stop all lookups and close the sockets that wait for one."""
        self._peers.close()

    def _identified(self, sock: socket.socket, found: PeerUser, then: Callable[[int | None], None]) -> None:
        if not (found.is_hidden and self.agents.have_own_users):
            then(found.uid)
            return
        # It may be an agent that tries to hide its identity.
        sock.close()
        if self._now() - self._logged_at >= LOG_INTERVAL_S:
            self._logged_at = self._now()
            log.warning(
                "closing a connection from this machine: its Unix user cannot be determined",
                extra=fields("impersonation-refused"),
            )
