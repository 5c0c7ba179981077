"""The logger skill: what is said in channels in plain text files, one per channel and day."""

import errno
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from culture.errors import UnavailableError
from culture.ircd.skills import Happening, Skill
from culture.names import fold
from culture.skills.behind import Behind, Unfinished

NAME_BYTES: Final = 200
GIT_S: Final = 60.0
_ACTION: Final = "\x01ACTION "


class Logged(NamedTuple):
    channel: str
    at: float
    text: str

    @property
    def day(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d")


class Logger(Skill):
    name = "logger"
    wants = frozenset({"PRIVMSG", "NOTICE", "JOIN", "PART", "KICK", "QUIT", "NICK", "TOPIC", "MODE"})

    def __init__(
        self,
        directory: Path,
        *,
        report: Callable[[str], None] = lambda text: None,
        commit_every_s: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`commit_every_s`: how often the files are committed to a git repository there; 0 is never."""
        self._directory = directory
        self._commit_every_s = commit_every_s
        self._clock = clock
        self._committed_at = clock()
        self._behind = Behind("the logger", self._write, report, self._commit_if_due)

    def start(self) -> None:
        self._behind.start()

    def observe(self, happened: Sequence[Happening]) -> None:
        self._behind.put([line for each in happened for line in lines_of(each)])

    def flush(self) -> None:
        self._behind.flush()

    def close(self) -> None:
        self._behind.close()

    def _write(self, lines: Sequence[Logged]) -> None:
        left: list[Logged] = []
        why: OSError | None = None
        for path, of_file in groupby(sorted(lines, key=self._path), key=self._path):
            each = list(of_file)
            try:
                _append(path, each)
            except OSError as error:
                left, why = left + each, error
        if why is not None:
            raise Unfinished(left, why)

    def _path(self, line: Logged) -> Path:
        return self._directory / file_name(line.channel) / f"{line.day}.log"

    def _commit_if_due(self) -> None:
        now = self._clock()
        if 0 < self._commit_every_s <= now - self._committed_at:
            self._committed_at = now
            commit(self._directory, datetime.fromtimestamp(now, UTC))


def file_name(channel: str) -> str:
    """Of the channel's directory: the same for every spelling, and one component of a path for every name."""
    name = quote(fold(channel), safe="#!$&'()+,;=@[]^`{}~")
    if len(name) <= NAME_BYTES:
        return name
    return f"{name[: NAME_BYTES - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def lines_of(happening: Happening) -> Iterator[Logged]:
    """What a log says of it. Direct messages, and what only operators hear, are not logged."""
    if happening.ends is not None or (happening.target and not happening.target.startswith("#")):
        return
    channels = [name for name, _ in happening.channels] if happening.channels else [happening.target]
    for channel in channels:
        for text in _texts(happening):
            yield Logged(channel, happening.at, text)


def commit(directory: Path, now: datetime) -> None:
    """What is new in the files becomes a commit; nothing new, none."""
    if not directory.exists():
        return
    if not (directory / ".git").exists():
        _git(directory, "init", "--quiet")
    _git(directory, "add", "--all")
    if _git(directory, "status", "--porcelain"):
        identity = ("-c", "user.name=culture", "-c", "user.email=culture@localhost")
        _git(directory, *identity, "commit", "--quiet", "-m", f"logs until {now:%Y-%m-%d %H:%M}")


def _texts(happening: Happening) -> list[str]:
    nick, text = happening.source.partition("!")[0], happening.text
    reason = f" ({text})" if text else ""
    match happening.command:
        case "PRIVMSG" if text.startswith(_ACTION):
            return [f"* {nick} {text.removeprefix(_ACTION).rstrip(chr(1))}"]
        case "PRIVMSG":
            return [f"<{nick}> {line}" for line in text.split("\n")]
        case "NOTICE":
            return [f"-{nick}- {line}" for line in text.split("\n")]
        case "JOIN":
            return [f"-- {nick} joined"]
        case "PART":
            return [f"-- {nick} left{reason}"]
        case "QUIT":
            return [f"-- {nick} quit{reason}"]
        case "KICK":
            return [f"-- {nick} kicked {happening.params[0]}{reason}"]
        case "NICK":
            return [f"-- {nick} is now {text}"]
        case "TOPIC":
            return [f"-- {nick} set the topic: {text}"]
        case _:
            return [f"-- {nick} set {' '.join(happening.params)}"]


def _append(path: Path, lines: Iterable[Logged]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(
        f"{datetime.fromtimestamp(line.at, UTC):%H:%M:%S} {line.text}\n" for line in lines
    ).encode()
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            # All of it or nothing: it comes again.
            file.truncate(before)
            raise


def _git(directory: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            timeout=GIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"git: {error}") from None
    if done.returncode:
        raise UnavailableError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
