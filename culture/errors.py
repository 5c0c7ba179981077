"""The exception tree: what can go wrong, with its exit status and what to type next.

CultureError                 70  a bug of ours
├── UsageError               64  the command line is wrong
├── NoInputError             66  a file that was named is not there
├── UnavailableError         69  something we need cannot be had (a port, a program, a server)
├── TemporaryError           75  the same again later may work
├── NotAllowedError          77  the system or a rule says no
└── ConfigError              78  a configuration is wrong, or what it names is missing; carries every problem
"""

import contextlib
import errno
import signal
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class CultureError(Exception):
    exit_status: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def with_hint(self) -> str:
        return f"{self}\nhint: {self.hint}" if self.hint else str(self)


class UsageError(CultureError):
    exit_status = 64


class NoInputError(CultureError):
    exit_status = 66


class UnavailableError(CultureError):
    exit_status = 69


class TemporaryError(CultureError):
    exit_status = 75


class NotAllowedError(CultureError):
    exit_status = 77


class Problem(NamedTuple):
    """One thing that is wrong in a configuration file."""

    where: str
    what: str
    hint: str | None = None


class ConfigError(CultureError):
    exit_status = 78

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{p.where}: {p.what}" for p in problems))
        self.problems = tuple(problems)


def describe(program: str, error: CultureError) -> str:
    """What a person reads: a line for each thing that failed, each followed by its hint."""
    if isinstance(error, ConfigError):
        told = [(f"{p.where}: {p.what}", p.hint) for p in error.problems]
    else:
        told = [(str(error), error.hint)]
    return "".join(f"{program}: {text}\n" + (f"hint: {hint}\n" if hint else "") for text, hint in told)


def run(program: str, body: Callable[[], int]) -> int:
    """The exit status of a program: its own, or that of the error it ended with, told on stderr."""
    try:
        try:
            return body()
        finally:
            # Here it can still be told that it cannot be written; when Python ends, no more.
            if sys.stdout is not None:
                sys.stdout.flush()
    except CultureError as error:
        _tell(describe(program, error))
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read has enough, as in `| head`. Other programs die of SIGPIPE there.
        _print_no_more()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _print_no_more()
        _tell(f"{program}: cannot write: {error.strerror}\n")
        return UnavailableError.exit_status


def _tell(text: str) -> None:
    """Where nobody can read it, the exit status has to do."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
    except OSError:
        with contextlib.suppress(OSError):
            sys.stderr.close()


def _print_no_more() -> None:
    """What is still to be printed would fail once more when Python ends."""
    with contextlib.suppress(OSError):
        sys.stdout.close()
