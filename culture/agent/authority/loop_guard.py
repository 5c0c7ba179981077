"""Loop guard: stand down when agents talk to each other too long without a person.

The server counts the hops between agents and says so on messages (`extensions/hops.md`), so that an agent
that does not cooperate cannot hide them. On other servers the guard counts what it reads itself.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from culture.agent.authority.likeness import is_alike
from culture.agent.inbox.attention import is_from_agent, is_person
from culture.agent.turns.gate import HeldBack, HoldKind
from culture.client.events import Said
from culture.config.agent.loop_guard import LoopGuardConfig
from culture.names import Folded, fold
from culture.protocol.authority.hops import HopCounter
from culture.protocol.authority.senders import HOPS_TAG
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueueEntry

_KEPT: Final = "standing-down"
# How every notice of a guard begins, so that other agents know that the channel was told.
STANDING_DOWN: Final = "standing down: "
# How many texts of each agent are compared.
_TEXTS: Final = 16
# Of several agents that one message calls, each waits so much longer before it tells the channel.
_TELL_DELAY_S: Final = 2.0


class LoopGuard:
    """Holds back conversations in which only agents spoke for too long, until a person speaks there."""

    def __init__(
        self,
        config: LoopGuardConfig,
        file: AgentFile,
        people: Iterable[str],
        *,
        own_nick: Callable[[], str],
        clock: Callable[[], float],
        tell: Callable[[str, str], None],
        on_change: Callable[[], None],
    ) -> None:
        """`tell` says a text in a conversation, and `on_change` makes the turn loop look again."""
        self._config = config
        self._file = file
        self._people = tuple(people)
        self._own_nick = own_nick
        self._clock = clock
        self._tell = tell
        self._on_change = on_change
        self._counter = HopCounter()
        # What agents said in each conversation since a person spoke, by conversation and nick.
        self._texts: dict[tuple[Folded, Folded], deque[str]] = defaultdict(lambda: deque(maxlen=_TEXTS))
        # When agents called this one, by conversation and nick.
        self._calls: dict[Folded, deque[tuple[float, Folded]]] = defaultdict(deque)
        # Why the agent stands down, by conversation. The file keeps it over a restart.
        self._standing_down: dict[str, str] = json.loads(file.kept(_KEPT) or "{}")
        self._told: set[Folded] = set()

    # What is said.

    def heard(self, said: Said) -> None:
        """Take note of a message of somebody else, whether or not it concerns the agent."""
        conversation = fold(said.channel or said.sender)
        if said.is_notice:
            if is_from_agent(said) and said.text.startswith(STANDING_DOWN):
                self._told.add(conversation)
        elif is_person(said, self._people):
            self._person_spoke(said, conversation)
        elif is_from_agent(said):
            self._count(said.channel, fold(said.sender), fold(self._own_nick()))

    def spoke(self, target: str, *, is_channel: bool) -> None:
        """Take note of a message of the agent itself."""
        own = fold(self._own_nick())
        self._count(target if is_channel else None, own, fold(target))

    def called(self, said: Said) -> None:
        """Decide whether the agent stands down, because an agent called it. Call `heard` before."""
        if not is_from_agent(said):
            return
        name = said.channel or said.sender
        if fold(name) not in self._standing_down and (why := self._reason(said)):
            self._stand_down(name, why, said)

    # As a gate of turns.

    def holds_back(self, entries: Sequence[QueueEntry]) -> HeldBack | None:
        """Hold back messages of agents in a conversation in which the agent stands down."""
        why = self._standing_down.get(fold(entries[0].question.conversation))
        if why is None or any(not entry.question.by_agent for entry in entries):
            return None
        return HeldBack(HoldKind.LOOP, why)

    def closed(self) -> HeldBack | None:
        """Return None: it depends on the messages."""
        return None

    def _count(self, channel: str | None, speaker: Folded, other: Folded) -> int:
        if channel is not None:
            return self._counter.agent_spoke_in(fold(channel), speaker)
        return self._counter.agent_spoke_to(other, speaker)

    def _person_spoke(self, said: Said, conversation: Folded) -> None:
        """Begin again where a person spoke; if to this agent, also in its direct messages."""
        begun = {conversation}
        if said.channel is None or said.calls(self._own_nick()):
            self._counter.person_addressed(fold(self._own_nick()))
            begun |= {Folded(each) for each in self._standing_down if not each.startswith("#")}
            begun |= {each for each in self._calls if not each.startswith("#")}
        self._counter.person_spoke_in(conversation)
        for each in begun:
            self._calls.pop(each, None)
            self._told.discard(each)
        for key in [key for key in self._texts if key[0] in begun]:
            del self._texts[key]
        if not begun.isdisjoint(self._standing_down):
            self._keep({name: why for name, why in self._standing_down.items() if name not in begun})
            self._on_change()

    def _reason(self, said: Said) -> str:
        """Return why this call is one too many, or nothing."""
        config, conversation, sender = self._config, fold(said.channel or said.sender), fold(said.sender)
        told = said.tags.get(HOPS_TAG, "")
        counted = self._count(said.channel, sender, fold(self._own_nick()))
        hops = max(counted, int(told) if told.isdecimal() else 0)
        texts, calls = self._texts[conversation, sender], self._calls[conversation]
        repeats = sum(is_alike(text, said.text) for text in texts)
        texts.append(said.text)
        now_s = self._clock()
        calls.append((now_s, sender))
        while calls[0][0] <= now_s - config.window_s:
            calls.popleft()
        of_sender = sum(nick == sender for _, nick in calls)
        if 0 < config.hops <= hops:
            return f"agents took over from each other {hops} times without a person"
        if 0 < config.repeats <= repeats:
            return f"{said.sender} said nearly the same {repeats + 1} times"
        if 0 < config.calls_per_agent < of_sender:
            return f"{said.sender} called me {of_sender} times within {config.window_s:.0f} s"
        if said.channel is not None and 0 < config.calls_per_channel < len(calls):
            return f"agents called me {len(calls)} times within {config.window_s:.0f} s"
        return ""

    def _stand_down(self, name: str, why: str, said: Said) -> None:
        self._keep({**self._standing_down, fold(name): why})
        called = [fold(nick) for nick in said.mentions or ()]
        own = fold(self._own_nick())
        delay_s = _TELL_DELAY_S * called.index(own) if own in called else 0.0
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._tell_once, name)
        else:
            self._tell_once(name)

    def _tell_once(self, name: str) -> None:
        why = self._standing_down.get(fold(name))
        if why is not None and fold(name) not in self._told:
            self._told.add(fold(name))
            self._tell(name, f"{STANDING_DOWN}{why}; a person can let agents go on by speaking here")

    def _keep(self, standing_down: dict[str, str]) -> None:
        self._file.keep(_KEPT, json.dumps(standing_down))
        self._standing_down = standing_down
