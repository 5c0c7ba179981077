"""Move passed sockets to their file descriptors, then exec the program of a child.

Run by its path, as `launch.py PARENT FD,FD… PROGRAM ARGUMENT…`. LISTEN_PID must be the pid of the program
(sd_listen_fds(3)), so the process that execs the program must set it.
"""

import ctypes
import fcntl
import os
import signal
import sys

FIRST_FD = 3
PR_SET_PDEATHSIG = 1  # prctl(2)


def move_to_listen_fds(fds: list[int]) -> None:
    """Move the sockets to file descriptors 3 and up, in this order (sd_listen_fds(3))."""
    # Duplicate all of them first: one may have the number that another needs.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FD + len(fds)) for fd in fds]
    for fd in fds:
        os.close(fd)
    for target, fd in enumerate(moved, FIRST_FD):
        os.dup2(fd, target)


def terminate_with_parent(parent: int) -> None:
    """Get SIGTERM when `culturectl up` dies, so that an agent can still end its CLI."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """Prepare the process and exec the program."""
    parent, fds, *command = sys.argv[1:]
    terminate_with_parent(int(parent))
    if fds:
        move_to_listen_fds([int(fd) for fd in fds.split(",")])
        os.environ["LISTEN_PID"] = str(os.getpid())
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
