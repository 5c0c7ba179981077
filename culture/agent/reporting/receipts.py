"""Show on IRC that a message was taken up: reactions to it, and typing while its turn runs.

Only people are shown it (IRCv3 client-tags/typing and client-tags/react). Between agents it would be noise.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from culture.agent.turns.turns import Turn
from culture.store.agent.queue import QueueEntry, QueueState

# The specification of typing allows one `active` every 3 s, and clients forget it after 6 s.
TYPING_INTERVAL_S: Final = 3.0
# Servers that are strict about floods accept a line each second.
PACE_S: Final = 1.0
# Reactions beyond this number are not sent: nobody needs them so late.
MAX_PENDING: Final = 20

TAKEN_UP: Final = "👀"
DONE: Final = {
    QueueState.ANSWERED: "✅",
    QueueState.SILENT: "✅",
    QueueState.STOPPED: "🛑",
    QueueState.EXPIRED: "❌",
}


class TagSender(Protocol):
    """Sends tags without a text."""

    def send_tags(self, target: str, tags: Mapping[str, str]) -> None:
        """Send a TAGMSG, or do nothing if the server relays no tags."""


class Receipts:
    """Reacts to the messages of people when they are taken up and when they are done, and shows typing.

    `find` returns a message of the queue by its number.
    """

    def __init__(self, sender: TagSender, find: Callable[[int], QueueEntry | None]) -> None:
        self._sender = sender
        self._find = find
        self._turn: Turn | None = None
        # Where typing is shown for the running turn; empty if nowhere.
        self._typing_in = ""
        self._next_typing_s = 0.0
        # The messages that were taken up and are not done, by number.
        self._taken_up: dict[int, QueueEntry] = {}
        self._pending: deque[tuple[str, dict[str, str]]] = deque(maxlen=MAX_PENDING)
        self._woken = asyncio.Event()

    def changed(self, turn: Turn | None) -> None:
        """Take note of the running turn."""
        if turn is not self._turn:
            self._end_typing()
            self._turn = turn
            if turn is not None:
                self._typing_in = "" if turn.question.by_agent else turn.question.conversation
                self._take_up(turn)
        self._report_done(turn)
        self._woken.set()

    async def run(self) -> None:
        """Send reactions at a pace that no server takes for a flood, and typing in between."""
        loop = asyncio.get_running_loop()
        while True:
            if self._pending:
                self._sender.send_tags(*self._pending.popleft())
                await asyncio.sleep(PACE_S)
                continue
            if self._typing_in and loop.time() >= self._next_typing_s:
                self._next_typing_s = loop.time() + TYPING_INTERVAL_S
                # Nobody types while the turn waits for an answer.
                if self._turn is not None and not self._turn.waits:
                    self._sender.send_tags(self._typing_in, {"+typing": "active"})
            self._woken.clear()
            try:
                async with asyncio.timeout_at(self._next_typing_s if self._typing_in else None):
                    await self._woken.wait()
            except TimeoutError:
                continue

    def _end_typing(self) -> None:
        if self._turn is not None and self._typing_in:
            self._sender.send_tags(self._typing_in, {"+typing": "done"})
        self._typing_in = ""

    def _take_up(self, turn: Turn) -> None:
        for entry in turn.entries:
            is_shown = entry.question.has_server_msgid and not entry.question.by_agent
            if is_shown and entry.number not in self._taken_up:
                self._taken_up[entry.number] = entry
                self._react(entry, TAKEN_UP)

    def _report_done(self, turn: Turn | None) -> None:
        running = {entry.number for entry in turn.entries} if turn is not None else set()
        for number, entry in list(self._taken_up.items()):
            now = self._find(number) if number not in running else entry
            if now is None or now.state in DONE:
                del self._taken_up[number]
            if now is not None and now.state in DONE:
                self._react(entry, DONE[now.state])

    def _react(self, entry: QueueEntry, reaction: str) -> None:
        tags = {"+draft/reply": entry.question.msgid, "+draft/react": reaction}
        self._pending.append((entry.question.conversation, tags))
