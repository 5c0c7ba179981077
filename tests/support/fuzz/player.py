"""One connection of a game: what it sent, what it read, and whether it reads at all."""

import contextlib
from collections import Counter
from typing import Final

from culture.ircd.session import Session
from culture.protocol.framing import OVERLONG, LineBuffer
from culture.protocol.line import MalformedLine, parse_line
from support.fuzz.reader import Reader
from support.network import Client

LABELED: Final = frozenset({"labeled-response", "batch"})


class Player:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.reader = Reader()
        self.is_stalled = False
        # What was written to it and not read.
        self.pipe = b""
        # Labels that have to be answered by the end of a turn in which no question is open.
        self.owed: Counter[str] = Counter()
        self._sent = LineBuffer()

    @property
    def session(self) -> Session:
        return self.client.session

    def say(self, data: bytes) -> None:
        for raw in self._sent.feed(data):
            with contextlib.suppress(MalformedLine):
                text = raw.decode(errors="replace")
                # Of a line that was too long nothing is left but its tags; it is answered all the same.
                line = parse_line(text.replace("\0", "").replace(OVERLONG.decode(), "*"))
                if label := line.tags.get("label"):
                    self.reader.asked[label] += 1
                    is_read = text.encode() == raw and "\0" not in text
                    self.owed[label] += is_read and self._is_heard_at_once() and line.command != "BATCH"
        self.client.send_bytes(data)

    def _is_heard_at_once(self) -> bool:
        """Not behind a question, and in a phase where labels mean something to both sides."""
        return self.session.caps >= LABELED and self.session.question is None

    def read(self) -> None:
        data, self.pipe = self.pipe, b""
        if data:
            self.reader.read(data)
