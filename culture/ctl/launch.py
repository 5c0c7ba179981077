"""The first thing that a child of `culturectl up` runs: it sorts its sockets, then becomes the program.

Run by its path, as `launch.py PARENT FD,FD… PROGRAM ARGUMENT…`. LISTEN_PID must be the pid of the program
(sd_listen_fds(3)), and the only process that knows it in time is the one that turns into it.
"""

import ctypes
import fcntl
import os
import signal
import sys

FIRST_FD = 3
PR_SET_PDEATHSIG = 1  # prctl(2)


def place(fds: list[int]) -> None:
    """Put the sockets where the program looks for them: at 3 and up, in this order, and nowhere else."""
    # Out of the way first: one may stand where another belongs.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FD + len(fds)) for fd in fds]
    for fd in fds:
        os.close(fd)
    for target, fd in enumerate(moved, FIRST_FD):
        os.dup2(fd, target)


def die_with(parent: int) -> None:
    """SIGTERM instead of SIGKILL, so that an agent still ends its CLI when `culturectl up` is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    parent, fds, *command = sys.argv[1:]
    die_with(int(parent))
    if fds:
        place([int(fd) for fd in fds.split(",")])
        os.environ["LISTEN_PID"] = str(os.getpid())
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
