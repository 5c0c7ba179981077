"""The logger skill: write channel messages to text files, one per channel and day."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from culture.ircd.skills import EventRecord, Skill
from culture.protocol.ctcp import ACTION, is_request
from culture.protocol.event_record import SPOKEN
from culture.skills.background_worker import BackgroundWorker, PartialWork
from culture.skills.logfiles import append, commit, digest, file_name, replace
from culture.store.corruption import set_aside_if_damaged
from culture.store.loglines import FILE, LogChannelRenamed, LogLineRedacted, LogLines, Written


class Logged(NamedTuple):
    """One line of a log file."""

    channel: str
    at: float
    text: str
    # Empty if the line cannot be redacted.
    msgid: str

    @property
    def file(self) -> str:
        return f"{file_name(self.channel)}/{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d}.log"

    @property
    def line(self) -> bytes:
        return f"{datetime.fromtimestamp(self.at, UTC):%H:%M:%S} {self.text}\n".encode()


Entry = Logged | LogLineRedacted | LogChannelRenamed


class Logger(Skill):
    """Writes the log files in a background thread."""

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
        """`index` is the directory of the database that maps lines to messages.

        `commit_every_s` is how often the files are committed to a git repository there; 0 means never.
        """
        self.directory = directory
        set_aside_if_damaged(index / FILE, report)
        self._lines = LogLines(index)
        self._commit_every_s = commit_every_s
        self._clock = clock
        self._committed_at = clock()
        # Whether something that is in a file may have been redacted, here or in an earlier process.
        self._may_be_due = True
        self._behind = BackgroundWorker("the logger", self._write, report, self._tend)

    def start(self) -> None:
        self._behind.start()

    def observe(self, happened: Sequence[EventRecord]) -> None:
        self._behind.put([entry for each in happened for entry in entries_of(each)])

    def flush(self) -> None:
        self._behind.flush()

    def close(self) -> None:
        self._behind.close()

    def _write(self, entries: Sequence[Entry]) -> None:
        # Index lines before writing them: a line that is not indexed cannot be redacted.
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
            raise PartialWork(left, why)

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


def entries_of(happening: EventRecord) -> Iterator[Entry]:
    """Yield the log entries of an event. Direct messages and messages to `@#channel` are not logged."""
    if happening.ends is not None or (happening.target and not happening.target.startswith("#")):
        return
    channels = [name for name, _ in happening.channels] if happening.channels else [happening.target]
    msgid = happening.id if happening.command in SPOKEN else ""
    for channel in channels:
        for text in _texts(happening):
            yield Logged(channel, happening.at, text, msgid)
    if happening.command == "REDACT":
        nick, reason = _nick(happening), _in_brackets(happening.text)
        yield LogLineRedacted(happening.target, happening.params[0], f"-- redacted by {nick}{reason}")
    elif happening.command == "RENAME":
        yield LogChannelRenamed(happening.target, happening.params[0])


def _change(entry: Entry) -> Written | LogLineRedacted | LogChannelRenamed | None:
    """Return the entry's change to the index, or None."""
    if not isinstance(entry, Logged):
        return entry
    return Written(entry.channel, entry.msgid, entry.file, digest(entry.line)) if entry.msgid else None


def _file(entry: Logged) -> str:
    return entry.file


def _texts(happening: EventRecord) -> list[str]:
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


def _nick(happening: EventRecord) -> str:
    return happening.source.partition("!")[0]


def _in_brackets(reason: str) -> str:
    return f" ({reason})" if reason else ""
