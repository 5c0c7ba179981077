"""The logger skill: what is said in channels in plain text files, one per channel and day."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from culture.ircd.skills import Happening, Skill
from culture.protocol.ctcp import ACTION, is_request
from culture.protocol.happening import SPOKEN
from culture.skills.behind import Behind, Unfinished
from culture.skills.logfiles import append, commit, digest, file_name, replace
from culture.store.damage import set_aside_if_damaged
from culture.store.loglines import FILE, LogLines, Redacted, Renamed, Written


class Logged(NamedTuple):
    channel: str
    at: float
    text: str
    msgid: str
    """Empty of what cannot be redacted."""

    @property
    def file(self) -> str:
        return f"{file_name(self.channel)}/{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d}.log"

    @property
    def line(self) -> bytes:
        return f"{datetime.fromtimestamp(self.at, UTC):%H:%M:%S} {self.text}\n".encode()


Entry = Logged | Redacted | Renamed


class Logger(Skill):
    name = "logger"
    wants = frozenset(
        {
            *("PRIVMSG", "NOTICE", "REDACT"),
            *("JOIN", "PART", "KICK", "QUIT", "NICK", "TOPIC", "MODE", "RENAME"),
        }
    )

    def __init__(
        self,
        directory: Path,
        index: Path,
        *,
        report: Callable[[str], None] = lambda text: None,
        commit_every_s: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`index`: the directory where it keeps which line is which message.

        `commit_every_s`: how often the files are committed to a git repository there; 0 is never.
        """
        self.directory = directory
        set_aside_if_damaged(index / FILE, report)
        self._lines = LogLines(index)
        self._commit_every_s = commit_every_s
        self._clock = clock
        self._committed_at = clock()
        self._may_be_due = True
        """Whether something that is in a file may have been redacted, here or in an earlier process."""
        self._behind = Behind("the logger", self._write, report, self._tend)

    def start(self) -> None:
        self._behind.start()

    def observe(self, happened: Sequence[Happening]) -> None:
        self._behind.put([entry for each in happened for entry in entries_of(each)])

    def flush(self) -> None:
        self._behind.flush()

    def close(self) -> None:
        self._behind.close()

    def _write(self, entries: Sequence[Entry]) -> None:
        # Before the files: what is in one and is not known to be cannot be redacted.
        self._lines.add([change for entry in entries if (change := _change(entry)) is not None])
        self._may_be_due = True
        left: list[Logged] = []
        why: OSError | None = None
        logged = [entry for entry in entries if isinstance(entry, Logged)]
        for file, some in groupby(sorted(logged, key=_file), key=_file):
            of_file = list(some)
            try:
                append(self.directory / file, b"".join(each.line for each in of_file))
            except OSError as error:
                left, why = left + of_file, error
        if why is not None:
            raise Unfinished(left, why)

    def _tend(self) -> None:
        if self._may_be_due:
            for due in self._lines.due():
                replace(self.directory / due.file, due.digests, due.text)
                self._lines.done(due)
            self._may_be_due = False
        now = self._clock()
        if 0 < self._commit_every_s <= now - self._committed_at:
            self._committed_at = now
            commit(self.directory, datetime.fromtimestamp(now, UTC))


def entries_of(happening: Happening) -> Iterator[Entry]:
    """What a log says of it. Direct messages, and what only operators hear, are not logged."""
    if happening.ends is not None or (happening.target and not happening.target.startswith("#")):
        return
    channels = [name for name, _ in happening.channels] if happening.channels else [happening.target]
    msgid = happening.id if happening.command in SPOKEN else ""
    for channel in channels:
        for text in _texts(happening):
            yield Logged(channel, happening.at, text, msgid)
    if happening.command == "REDACT":
        nick, reason = _nick(happening), _in_brackets(happening.text)
        yield Redacted(happening.target, happening.params[0], f"-- redacted by {nick}{reason}")
    elif happening.command == "RENAME":
        yield Renamed(happening.target, happening.params[0])


def _change(entry: Entry) -> Written | Redacted | Renamed | None:
    """What is to be known of it later."""
    if not isinstance(entry, Logged):
        return entry
    return Written(entry.channel, entry.msgid, entry.file, digest(entry.line)) if entry.msgid else None


def _file(entry: Logged) -> str:
    return entry.file


def _texts(happening: Happening) -> list[str]:
    nick, text, reason = _nick(happening), happening.text, _in_brackets(happening.text)
    match happening.command:
        case "PRIVMSG" | "NOTICE" if is_request(text):
            return []
        case "PRIVMSG" if text.startswith(ACTION):
            return [f"* {nick} {text.removeprefix(ACTION).rstrip(chr(1))}"]
        case "PRIVMSG":
            return [f"<{nick}> {line}" for line in text.split("\n")]
        case "NOTICE":
            return [f"-{nick}- {line}" for line in text.split("\n")]
        case "REDACT":
            return []
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
        case "RENAME":
            return [f"-- {nick} renamed the channel to {happening.params[0]}{reason}"]
        case "TOPIC":
            return [f"-- {nick} set the topic: {text}"]
        case _:
            return [f"-- {nick} set {' '.join(happening.params)}"]


def _nick(happening: Happening) -> str:
    return happening.source.partition("!")[0]


def _in_brackets(reason: str) -> str:
    return f" ({reason})" if reason else ""
