"""The exception tree; each class has an exit status, and each error may carry a hint that can be typed.

CultureError                 70  a bug in Culture
├── UsageError               64  the command line is wrong
├── NoInputError             66  a named file does not exist
├── UnavailableError         69  a port, a program or a server is not available
├── TemporaryError           75  a later attempt may succeed
├── NotAllowedError          77  the system or a rule forbids it
└── ConfigError              78  a configuration is wrong or names something missing; lists every problem
"""

import contextlib
import errno
import signal
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

# Errors of writing that a person has to solve, such as a full disk.
_CANNOT_WRITE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class CultureError(Exception):
    """The base of all errors that a program reports to its user; on its own, a bug in Culture."""

    exit_status: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def with_hint(self) -> str:
        """Return the message, and the hint on a line of its own."""
        return f"{self}\nhint: {self.hint}" if self.hint else str(self)


class UsageError(CultureError):
    """The command line is wrong."""

    exit_status = 64


class NoInputError(CultureError):
    """A named file does not exist."""

    exit_status = 66


class UnavailableError(CultureError):
    """A port, a program or a server is not available."""

    exit_status = 69


class TemporaryError(CultureError):
    """A later attempt may succeed."""

    exit_status = 75


class NotAllowedError(CultureError):
    """The system or a rule forbids it."""

    exit_status = 77


class Problem(NamedTuple):
    """One error in a configuration file."""

    where: str
    what: str
    hint: str | None = None


class ConfigError(CultureError):
    """A configuration is wrong, or names something that is missing."""

    exit_status = 78

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{p.where}: {p.what}" for p in problems))
        self.problems = tuple(problems)


def describe(program: str, error: CultureError) -> str:
    """Return the text for standard error: one line per problem, each followed by its hint."""
    if isinstance(error, ConfigError):
        messages = [(f"{p.where}: {p.what}", p.hint) for p in error.problems]
    else:
        messages = [(str(error), error.hint)]
    return "".join(f"{program}: {text}\n" + (f"hint: {hint}\n" if hint else "") for text, hint in messages)


def run(program: str, body: Callable[[], int]) -> int:
    """Run a program, report its error on standard error, and return its exit status."""
    try:
        try:
            return body()
        finally:
            # Python flushes again at exit, but can no longer set the exit status if that fails.
            if sys.stdout is not None:
                sys.stdout.flush()
    except CultureError as error:
        _write_error(describe(program, error))
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader closed the pipe, as `| head` does. Report it as other programs do, which die of SIGPIPE.
        _close_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        _close_stdout()
        _write_error(f"{program}: cannot write: {error.strerror}\n")
        return UnavailableError.exit_status


def _write_error(text: str) -> None:
    """Write to standard error. If nobody can read it, the exit status has to suffice."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
    except OSError:
        with contextlib.suppress(OSError):
            sys.stderr.close()


def _close_stdout() -> None:
    """Discard buffered output, so that Python does not fail again when it flushes at exit."""
    with contextlib.suppress(OSError):
        sys.stdout.close()
