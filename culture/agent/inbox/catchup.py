"""Hearing everything once and in order: what the server's history has first, then what was said meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeVar

from culture.client.client import Client
from culture.client.events import Echoed, Failed, Joined, Replayed, Said, Told
from culture.errors import CultureError, TemporaryError, UnavailableError
from culture.names import fold
from culture.protocol.capabilities import Cap
from culture.protocol.render import format_time
from culture.store.agent.read_marks import Mark, ReadMarks

Value = TypeVar("Value")

PAGE_SIZE: Final = 500
# Of one conversation; who missed more than that will not read it all.
MAX_PAGES: Final = 100
RETRY_DELAYS_S: Final = (1.0, 2.0, 4.0)
_TARGETS: Final = 1000
_FOR_NOW: Final = "TEMPORARILY_UNAVAILABLE"
# All direct messages have one mark: anyone can write to an agent, under any number of nicks.
_DIRECT: Final = ""


class CatchUp:
    """Live messages go through `heard`; what was missed is passed on by `run`, after each registration.

    How far a conversation was heard moves only with what was passed on. So nothing is missed if a
    connection, or the process, ends in the middle: the next one begins at the mark again.
    """

    def __init__(
        self,
        client: Client,
        hearing: ReadMarks,
        oldest_s: float,
        wall_clock: Callable[[], float],
        on_heard: Callable[[str, Said], None],
        on_unread: Callable[[str, Said], None],
        unread_lines: int,
    ) -> None:
        self._client = client
        self._hearing = hearing
        # Nothing older is worth a turn, or looking for.
        self._oldest_s = oldest_s
        self._wall_clock = wall_clock
        self._on_heard = on_heard
        self._on_unread = on_unread
        self._unread_lines = unread_lines
        self._is_first = True
        self._held: list[tuple[str, Said]] | None = None

    def begin(self) -> None:
        """A connection was made: what is heard now comes behind what was missed."""
        self._held = []

    def heard(self, said: Said) -> None:
        conversation = said.channel or said.sender
        if self._held is not None:
            self._held.append((conversation, said))
        else:
            self._pass(conversation, said)

    def echoed(self, own: Echoed) -> None:
        if self._held is None and own.time:
            self._move(own.target if self._client.is_channel(own.target) else _DIRECT, own.msgid, own.time)

    def joined(self, joined: Joined) -> None:
        """What was said before we came is not ours to answer, unless we were thrown off the network."""
        if self._held is None or self._hearing.mark_of(joined.channel) is None:
            here = Mark("", joined.time or self._now())
            self._hearing.set_mark(joined.channel, here)
            self._hearing.set_read(joined.channel, here)

    async def run(self) -> int:
        """How many messages were missed. Raises what kept some of them from being read."""
        passed: set[str] = set()
        last = self._hearing.mark_of(_DIRECT)
        failures: list[CultureError] = []
        try:
            if self._client.can(Cap.CHATHISTORY):
                # First, as its answer comes behind those to our JOINs.
                nicks, since = await self._nicks(failures)
                await self._channels(passed, failures)
                await self._direct(nicks, since, passed, failures)
        finally:
            # Without a connection the next one hears all of it again.
            if self._client.is_registered:
                self._release(passed)
        if failures:
            raise failures[0]
        # The last direct message comes again, see `_ask_for_nicks`.
        return len(passed - {last.msgid} if last else passed)

    async def _nicks(self, failures: list[CultureError]) -> tuple[list[str], str]:
        try:
            return await self._patiently(self._ask_for_nicks)
        except CultureError as error:
            failures.append(error)
            return [], ""

    async def _channels(self, passed: set[str], failures: list[CultureError]) -> None:
        for channel in self._client.channels():
            mark = self._hearing.mark_of(channel)
            if mark is None:
                continue
            try:
                if self._is_first:
                    await self._unread(channel, mark)
                async for said in self._pages(channel, self._not_too_old(mark)):
                    passed.add(said.msgid)
                    self._pass(channel, said)
            except CultureError as error:
                failures.append(error)
        self._is_first = False

    async def _unread(self, channel: str, heard: Mark) -> None:
        """What a process before this one had heard, and its agent had not read."""
        read = self._hearing.read_until(channel)
        if read is None or read == heard:
            return
        asked = "LATEST", channel, _reference(read), str(self._unread_lines)
        for answer in await self._client.ask("CHATHISTORY", *asked):
            for said in answer.said if isinstance(answer, Replayed) else ():
                # What is newer comes next, as news.
                if (said.time or "") > heard.time:
                    break
                self._on_unread(channel, said)
                if said.msgid == heard.msgid:
                    break

    async def _direct(
        self, nicks: Iterable[str], since: str, passed: set[str], failures: list[CultureError]
    ) -> None:
        """All of them by their time, since they share a mark: what is passed on lies before what is not."""
        missed: list[tuple[str, Said]] = []
        for nick in nicks:
            try:
                missed += [(nick, said) async for said in self._pages(nick, Mark("", since))]
            except CultureError as error:
                failures.append(error)
        for nick, said in sorted(missed, key=lambda each: each[1].time or ""):
            passed.add(said.msgid)
            self._pass(nick, said)

    async def _ask_for_nicks(self) -> tuple[list[str], str]:
        """With whom there may be more direct messages, and from when on."""
        mark = self._hearing.mark_of(_DIRECT)
        if mark is None:
            mark = Mark("", self._now())
            self._hearing.set_mark(_DIRECT, mark)
        # From the last message on, and not behind it: another may bear the same time.
        since = _a_moment_before(self._not_too_old(mark).time)
        span = f"timestamp={since}", f"timestamp={format_time(self._wall_clock() + 86400)}"
        answers = await self._client.ask("CHATHISTORY", "TARGETS", *span, str(_TARGETS))
        for answer in answers:
            if isinstance(answer, Failed):
                raise _error_of(answer, "who wrote meanwhile")
        lines = [told.line for told in answers if isinstance(told, Told)]
        targets = [line.param(1) for line in lines if line.command == "CHATHISTORY"]
        return [target for target in targets if not self._client.is_channel(target)], since

    async def _pages(self, conversation: str, mark: Mark) -> AsyncIterator[Said]:
        for _ in range(MAX_PAGES):
            said = await self._patiently(partial(self._ask_for_page, conversation, mark))
            for each in said:
                yield each
            if not said:
                return
            mark = Mark(said[-1].msgid, said[-1].time or self._now())
        raise UnavailableError(
            f"history of '{conversation}': there is more than {MAX_PAGES * PAGE_SIZE} messages"
        )

    async def _patiently(self, ask: Callable[[], Awaitable[Value]]) -> Value:
        for wait_s in RETRY_DELAYS_S:
            try:
                return await ask()
            except TemporaryError:
                if not self._client.is_registered:
                    raise
                await asyncio.sleep(wait_s)
        return await ask()

    async def _ask_for_page(self, conversation: str, mark: Mark) -> tuple[Said, ...]:
        asked = "AFTER", conversation, _reference(mark), str(PAGE_SIZE)
        for answer in await self._client.ask("CHATHISTORY", *asked):
            match answer:
                case Replayed(target, said) if fold(target) == fold(conversation):
                    return said
                case Failed("CHATHISTORY", code) if mark.msgid and code != _FOR_NOW:
                    # It was taken back, or is too old to be known. Its time still says where to go on.
                    return await self._ask_for_page(conversation, Mark("", mark.time))
                case Failed("CHATHISTORY"):
                    raise _error_of(answer, f"history of '{conversation}'")
        return ()

    def _release(self, passed: set[str]) -> None:
        held, self._held = self._held or [], None
        for conversation, said in held:
            # History may have had it already.
            if not said.msgid or said.msgid not in passed:
                self._pass(conversation, said)

    def _pass(self, conversation: str, said: Said) -> None:
        # First the mark: it is written together with what `on_heard` writes, or later.
        self._move(said.channel or _DIRECT, said.msgid, said.time or self._now())
        self._on_heard(conversation, said)

    def _move(self, place: str, msgid: str, time: str) -> None:
        if place == _DIRECT:
            last = self._hearing.mark_of(_DIRECT)
            time = max(time, last.time) if last else time
        self._hearing.set_mark(place, Mark(msgid, time))

    def _not_too_old(self, mark: Mark) -> Mark:
        oldest = format_time(self._wall_clock() - self._oldest_s)
        return mark if mark.time > oldest else Mark("", oldest)

    def _now(self) -> str:
        """In the form of server-time, for servers that do not say when."""
        return format_time(self._wall_clock())


def _error_of(failed: Failed, about: str) -> CultureError:
    kind = TemporaryError if failed.code == _FOR_NOW else UnavailableError
    return kind(f"{about}: {failed.text}")


def _reference(mark: Mark) -> str:
    return f"msgid={mark.msgid}" if mark.msgid else f"timestamp={mark.time}"


def _a_moment_before(time: str) -> str:
    try:
        at = datetime.fromisoformat(time).astimezone(UTC) - timedelta(milliseconds=1)
    except ValueError:
        return time
    return format_time(at.timestamp())
