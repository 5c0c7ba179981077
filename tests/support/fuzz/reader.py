"""A client that takes every line it is sent at its word, and complains about what cannot be."""

import re
from collections import Counter
from typing import Final

from culture.ircd.model.user import UNNAMED
from culture.names import Folded, fold
from culture.protocol.line import Line, parse_line

BODY_BYTES: Final = 510
TAGS_BYTES: Final = 8191
SIGNS: Final = "@%+"

# RFC 2812 section 2.3.1 and IRCv3 message-tags, stricter than anybody who reads: one space everywhere.
# What clients call their own tags is passed on as it is: no server may mind.
_TAG = r"(?:\+[^\0\r\n;= ]*|(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9-]+)(?:=[^\0\r\n; ]*)?"
_LINE = re.compile(
    rf"(?:@{_TAG}(?:;{_TAG})* )?(?::[^\0\r\n ]+ )?(?:[A-Z]+|[0-9]{{3}})"
    r"(?: [^\0\r\n :][^\0\r\n ]*)*(?: :[^\0\r\n]*)?"
)
# What comes in a batch of this type happened before.
PAST: Final = "chathistory"
# Capabilities whose clients expect tags at all.
TAGGING: Final = frozenset(
    {"message-tags", "server-time", "account-tag", "batch", "labeled-response", "draft/relaymsg"}
)
NAMELESS: Final = frozenset({"no-implicit-names", "draft/no-implicit-names"})


class Reader:
    def __init__(self) -> None:
        self.nick = UNNAMED
        # Who is where, as far as a client can tell from what it was told.
        self.channels: dict[Folded, set[Folded]] = {}
        # How often each label was sent.
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.is_over = False
        # What was acknowledged at any time.
        self.caps: set[str] = set()
        # Those that are open, and of which type they are.
        self._batches: dict[str, str] = {}

    @property
    def is_nameless(self) -> bool:
        """Whether there may be channels in which it was not told who else is there."""
        return not NAMELESS.isdisjoint(self.caps)

    def read(self, data: bytes) -> None:
        assert data.endswith(b"\r\n"), "the last line has no end"
        for raw in data[:-2].split(b"\r\n"):
            self._read_line(raw)
        assert not self._batches, f"batches without an end: {self._batches}"

    def _read_line(self, raw: bytes) -> None:
        text = raw.decode()
        tags, body = raw.split(b" ", 1) if raw.startswith(b"@") else (b"", raw)
        assert not self.is_over or self._batches, f"after the last line: {text}"
        assert _LINE.fullmatch(text), f"not a line: {text!r}"
        assert len(body) <= BODY_BYTES, f"{len(body)} bytes: {text}"
        assert len(tags) <= TAGS_BYTES - 1, f"{len(tags)} bytes of tags: {text}"
        assert not tags or not TAGGING.isdisjoint(self.caps), f"tags to a client that knows none: {text}"
        line = parse_line(text)
        self._follow_tags(line)
        if self._batches.get(line.tags.get("batch", "")) != PAST:
            self._follow(line)

    def _follow_tags(self, line: Line) -> None:
        if "batch" in line.tags:
            assert line.tags["batch"] in self._batches, f"in a batch that is not open: {line}"
        if "label" in line.tags:
            label = line.tags["label"]
            self.answered[label] += 1
            assert self.answered[label] <= self.asked[label], f"answered twice, or never asked: {line}"
        if line.command == "BATCH":
            name = line.params[0]
            assert (name[1:] in self._batches) is (name[0] == "-"), f"opened or closed twice: {line}"
            if name[0] == "+":
                self._batches[name[1:]] = line.params[1]
            else:
                del self._batches[name[1:]]

    def _follow(self, line: Line) -> None:
        who, params = fold(line.nick), line.params
        match line.command:
            case "001":
                self.nick = params[0]
            case "CAP" if params[1] == "ACK":
                self.caps.update(params[-1].split())
            case "353":
                self._names(fold(params[2]), params[3])
            case "NICK":
                self._renamed(line.nick, params[0])
            case "JOIN":
                self._joined(who, fold(params[0]))
            case "PART":
                self._left(who, fold(params[0]))
            case "KICK":
                self._left(fold(params[1]), fold(params[0]))
            case "QUIT":
                is_known = self.is_nameless or self._knows(who) or line.nick == self.nick
                assert is_known, f"{line.nick} left, who was nowhere"
                for channel in self.channels:
                    self.channels[channel].discard(who)
            case "RENAME":
                self.channels[fold(params[1])] = self.channels.pop(fold(params[0]))
            case "ERROR":
                self.is_over = True
            case numeric if numeric.isdigit() and self.nick != UNNAMED:
                assert params[0] == self.nick, f"not to {self.nick}: {line}"

    def _names(self, channel: Folded, names: str) -> None:
        if channel in self.channels:
            self.channels[channel] |= {fold(name.lstrip(SIGNS).partition("!")[0]) for name in names.split()}

    def _renamed(self, nick: str, new_nick: str) -> None:
        if nick == self.nick:
            self.nick = new_nick
        for members in self.channels.values():
            if fold(nick) in members:
                members.remove(fold(nick))
                members.add(fold(new_nick))

    def _joined(self, who: Folded, channel: Folded) -> None:
        if who == fold(self.nick):
            assert channel not in self.channels, f"joined {channel} twice"
            self.channels[channel] = set()
        members = self.channels[channel]
        assert who not in members, f"{who} joined {channel} twice"
        members.add(who)

    def _left(self, who: Folded, channel: Folded) -> None:
        if who == fold(self.nick):
            del self.channels[channel]
        else:
            assert self.is_nameless or who in self.channels[channel], f"{who} was not in {channel}"
            self.channels[channel].discard(who)

    def _knows(self, who: Folded) -> bool:
        return any(who in members for members in self.channels.values())
