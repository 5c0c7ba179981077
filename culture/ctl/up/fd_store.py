"""The file descriptor store of `culturectl up`: keeps a child's sockets open across its restart."""

import asyncio
import contextlib
import os
import select
from collections.abc import Iterable


class ChildFdStore:
    """Stores descriptors as systemd does (sd_notify(3), FDSTORE=1), and closes those that hung up."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._names: dict[int, str] = {}
        self._epoll = select.epoll()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._epoll.fileno(), self._close_hung_up)

    @property
    def fds(self) -> dict[int, str]:
        """Return the name of each stored descriptor, by its number in this process."""
        self._close_hung_up()
        return dict(self._names)

    def put(self, name: str, fds: Iterable[int]) -> None:
        """Store descriptors under a name, and close those over the limit."""
        for fd in fds:
            if len(self._names) < self._limit:
                self._names[fd] = name
                # epoll always reports EPOLLERR and EPOLLHUP (epoll_ctl(2)).
                self._epoll.register(fd, 0)
            else:
                os.close(fd)

    def close(self) -> None:
        """Close all stored descriptors."""
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        for fd in self._names:
            os.close(fd)
        self._names.clear()

    def _close_hung_up(self) -> None:
        for fd, _ in self._epoll.poll(0):
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)
            del self._names[fd]
            os.close(fd)
