"""Sockets that a child gives away to be kept, and that come back to the one which is started after it."""

import asyncio
import contextlib
import os
import select
from collections.abc import Iterable


class Store:
    """As systemd keeps them (sd_notify(3), FDSTORE=1): what both sides have shut down is let go."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._names: dict[int, str] = {}
        self._epoll = select.epoll()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._epoll.fileno(), self._let_go)

    @property
    def kept(self) -> dict[int, str]:
        """The name of each, by its number here."""
        self._let_go()
        return dict(self._names)

    def put(self, name: str, fds: Iterable[int]) -> None:
        for fd in fds:
            if len(self._names) < self._room:
                self._names[fd] = name
                # Errors and the end are told without being asked for (epoll_ctl(2)).
                self._epoll.register(fd, 0)
            else:
                os.close(fd)

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        for fd in self._names:
            os.close(fd)
        self._names.clear()

    def _let_go(self) -> None:
        for fd, _ in self._epoll.poll(0):
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)
            del self._names[fd]
            os.close(fd)
