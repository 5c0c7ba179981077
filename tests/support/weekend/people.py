"""What people do on a weekend: give tasks, answer late, twice or never, halt, and let agents go on."""

import random
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from culture.names import fold
from culture.protocol.line import Line
from culture.protocol.numerics import ERR_NOSUCHNICK
from support.weekend.model import BEHAVIOURS
from support.weekend.network import PEOPLE, Person, Server

if TYPE_CHECKING:
    from support.weekend.weekend import Weekend

CHANNELS = ("#general", "#ops", "#alerts")
MINUTE_S, HOUR_S = 60.0, 3600.0
# From the beginning of the weekend, in UTC.
UNTIL_MIDNIGHT_S = 6 * HOUR_S
# What people never ask for: agents do it by themselves when an agent calls them.
UNASKED = frozenset({"call_back"})
_QUESTION = re.compile(r"\[QUESTION\]")


class People:
    """The people of the weekend, who act by chance."""

    def __init__(self, world: "Weekend", server: Server) -> None:
        self._world = world
        self._random = random.Random(f"{world.seed} people")
        # The texts of all questions that somebody could read.
        self.read_questions: list[tuple[str, str]] = []
        # The tasks that were given to agents: nick and text.
        self.tasks: list[tuple[str, str]] = []
        self._given = 0
        self._people = [Person(server, nick, number, self._read) for number, nick in enumerate(PEOPLE)]
        for person in self._people:
            person.send(*(f"JOIN {channel}" for channel in CHANNELS))

    def plan(self, hours: float) -> None:
        """Schedule everything that people do unasked."""
        for _ in range(self._random.randint(25, 45)):
            self._later(self._random.uniform(0, hours * HOUR_S), self.give_task)
        for _ in range(self._random.randint(0, 4)):
            # A turn that begins shortly before midnight ends on another day.
            midnight_s = UNTIL_MIDNIGHT_S + self._random.randrange(2) * 24 * HOUR_S
            self._later(midnight_s - self._random.uniform(0, MINUTE_S), self.give_task, "spend")
        if self._random.random() < 0.5:
            self._later(self._random.uniform(0, hours * HOUR_S), self.halt)

    def _later(self, delay_s: float, act: Callable[..., None], *args: object) -> None:
        self._world.loop.call_later(delay_s, self._act, act, *args)

    def _act(self, act: Callable[..., None], *args: object) -> None:
        if not self._world.is_closing:
            act(*args)

    def _somebody(self) -> Person:
        return self._random.choice(self._people)

    def give_task(self, what: str = "") -> None:
        """Ask an agent for something, in a channel or by a direct message."""
        nick = self._random.choice(list(self._world.agents))
        what = what or self._random.choice([name for name in BEHAVIOURS if name not in UNASKED])
        target = self._random.choice([self._world.agents[nick].config.channels[0], nick])
        text = f"@{nick} please {what} number {self._given}"
        self.tasks.append((nick, text))
        self._given += 1
        self._say(target, nick, text)

    def _say(self, target: str, nick: str, text: str) -> None:
        self._world.checks.person_spoke(target, nick)
        self._somebody().say(target, text)

    def halt(self) -> None:
        """Halt all agents for some time."""
        self._people[0].send("HALT host :it is late")
        self._world.checks.halted(True)
        self._later(self._random.uniform(MINUTE_S, 2 * HOUR_S), self.unhalt)

    def unhalt(self) -> None:
        """Let all agents go on."""
        self._people[0].send("UNHALT host")
        self._world.checks.halted(False)

    def close(self) -> None:
        """Let agents go on for the end of the weekend."""
        if self._world.server.is_halted:
            self.unhalt()

    # What they read

    def _read(self, reader: Person, line: Line) -> None:
        sender = (line.source or "").partition("!")[0]
        if line.command == ERR_NOSUCHNICK:
            # The agent is not connected, and whoever wrote to it was told so at once.
            self.tasks.pop()
        if line.command not in ("PRIVMSG", "NOTICE") or not line.params:
            return
        target, text = line.params[0], line.params[-1]
        if reader is self._people[0] and line.command == "PRIVMSG" and sender in self._world.agents:
            self._world.checks.agent_spoke(sender, target, text)
        if sender not in self._world.agents or (target.startswith("#") and reader is not self._people[0]):
            return
        place = target if target.startswith("#") else sender
        if _QUESTION.search(text):
            self.read_questions.append((sender, text))
            self._answer_some_time(sender, place)
        elif "[ESCALATION]" in text:
            if self._random.random() < 0.7:
                word = self._random.choice(["resume", "abort"])
                self._later(self._random.uniform(MINUTE_S, 8 * HOUR_S), self._tell, sender, place, word)
        elif text.startswith("standing down") and self._random.random() < 0.5:
            delay_s = self._random.uniform(MINUTE_S, 4 * HOUR_S)
            self._later(delay_s, self._tell, sender, place, "go on, all is well")

    def _answer_some_time(self, nick: str, place: str) -> None:
        """Answer a question soon, late, twice or never."""
        times = self._random.choices([0, 1, 2], [3, 5, 2])[0]
        for _ in range(times):
            delay_s = self._random.choice([5.0, 10 * MINUTE_S, self._random.uniform(0, 20 * HOUR_S)])
            word = self._random.choice(["yes", "no", "abort", "which one do you mean?", "the second one"])
            self._later(delay_s, self._tell, nick, place, word)

    def _tell(self, nick: str, place: str, text: str) -> None:
        if not self._world.server.ircd.state.find_user(nick):
            return
        target = place if place.startswith("#") else nick
        self._say(target, nick, text if fold(target) == fold(nick) else f"@{nick} {text}")
