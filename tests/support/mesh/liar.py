"""A peer that proved who it is, and lies: it says whatever could harm the hosts that it is linked to.

It is a real server, so that its handshake and its answers are good, and it puts lies between its own lines.
Every lie that could become somebody's words has MARK in it, so that it can be found again.
"""

import itertools
from collections.abc import Callable
from random import Random
from typing import Final

from culture.federation.links.link import Outbox
from support.mesh.mangled import HANDSHAKE, mangle
from support.mesh.schedule import CHANNELS
from support.mesh.server import ServerHost
from support.mesh.world import End, Machine, World

MARK: Final = "LIE"
NAME: Final = "liar"
# How many lines of a turn that has something to say are followed by a lie.
RATE: Final = 0.3
TAGS: Final = ("account", "time", "msgid", "batch", "label", "bot", "+draft/reply", "agentirc.dev/mentions")
# Claims about the sender of a message, well-formed or not.
CLAIMS: Final = (
    "agentirc.dev/sender=person",
    "agentirc.dev/sender=agent",
    "agentirc.dev/sender=operator",
    "agentirc.dev/hops=0",
    "agentirc.dev/hops=9999",
    "agentirc.dev/hops=99999999999999999999",
)


class LyingHost(ServerHost):
    """Lies as soon as a link is up, and goes on when it is linked again."""

    def __init__(self, world: World, machine: Machine) -> None:
        super().__init__(world, machine)
        self._world = world
        self._lies = Lies(world, self.name)

    def flush(self) -> Outbox:
        outbox = super().flush()
        # Each lie is likely to end the link, so that the next one is told on another.
        dice = self._world.random
        for link in self.mesh.links.up.values():
            end = self._ends[link.key]  # type: ignore[index]
            lines = outbox.lines.setdefault(end, [])
            if dice.random() < RATE:
                at = dice.randrange(len(lines) + 1)
                if all(not line.startswith(HANDSHAKE) for line in lines[at:]):
                    lines[at:at] = self._lies.some(end)
            elif lines and dice.random() < RATE / 4 and not lines[-1].startswith(HANDSHAKE):
                lines[-1] = mangle(lines[-1], dice)
        return outbox


class Lies:
    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._random: Random = world.random
        self._name = name
        self._counter = itertools.count(1)
        self._kinds: list[Callable[[str], list[str]]] = [
            *(self._host, self._host, self._event, self._event, self._event, self._direct, self._direct),
            *(self._state, self._state, self._state, self._held, self._want, self._want, self._answer),
            *(self._answer, self._feed_of_past, self._many),
        ]

    def some(self, end: End) -> list[str]:
        """A lie, in as many lines as it takes, for the host at the other end."""
        victim = end.other.host
        return [line for line in self._random.choice(self._kinds)(victim) if "\n" not in line]

    # Words.

    def _one(self, *words: str) -> str:
        return self._random.choice(words)

    def _honest(self) -> str:
        return self._one(*(name for name in self._world.machines if name != self._name))

    def _who(self) -> str:
        """A host that the lie is about."""
        name = self._honest()
        spelled = (
            f"{name}.x",
            name.upper(),
            f"{name.capitalize()}.example.org",
            f"{name}2",
            "ghost",
            self._name,
        )
        return self._one(name, name, self._name, self._name, *spelled)

    def _number(self) -> str:
        now = int(self._world.now)
        generations = (now, now - 500, now + 5, now + 86_400 * 365 * 9, 0, 4_294_967_295, 1_790_000_000)
        counter = self._one("1", "2", "7", "1000", "2147483647", str(next(self._counter)))
        return self._one(
            *[f"{each}.{counter}" for each in generations], "9" * 4300, f"{'9' * 4300}.1", "-1.5", "1", ""
        )

    def _version(self) -> str:
        return self._one("1", "2", "9", "77", "9" * 4300, str(1 << 53), "9007199254740990", "-1", "x", "٣")

    def _generation(self) -> str:
        now = int(self._world.now)
        years = 365 * 86_400
        return self._one(
            *map(
                str,
                (
                    now,
                    now + 1,
                    now + 100,
                    now + 86_400,
                    now + 3 * 86_400,
                    now + 9 * years,
                    now + 11 * years,
                    0,
                ),
            )
        )

    def _time(self) -> str:
        now = int(self._world.now * 1000)
        return self._one(
            *map(str, (now, now, now, now - 10**9, now + 1000, now + 10**9, 253_402_300_799_999, 0)),
            "9" * 4300,
            "-5",
        )

    def _stamp(self) -> str:
        return f"{self._time()}@{self._one(self._honest(), self._name, 'zzz', '')}"

    def _nick(self, host: str = "") -> str:
        return f"{(host or self._who()).partition('.')[0]}-{self._one('ann', 'bo', 'cy', 'eve')}"

    def _mask(self, host: str = "") -> str:
        nick = self._nick(host)
        user = self._one("u", "u", "u", "", "a b", "x\ty")
        return self._one(
            f"{nick}!{user}@x", f"{nick}!{user}@{self._honest()}", nick, f"{nick}\t!u@x", "net/eve!u@liar"
        )

    def _channel(self) -> str:
        return self._one(*CHANNELS, "#lies", "#a\tb", "#", "not-a-channel")

    def _channels(self) -> str:
        return self._one("*", "#a", "#a,#b", ",".join(f"#{each}" for each in range(3000)), "", "\t")

    # Lies.

    def _host(self, victim: str) -> list[str]:
        names = [self._name, victim, self._honest(), "ghost", f"{self._honest()}.x"]
        neighbours = [self._one(*names) for _ in range(self._random.randrange(4))]
        words = [f"{each}={self._channels()}" if self._random.random() < 0.2 else each for each in neighbours]
        who = self._one(victim, victim, self._who())
        lie = " ".join(["HOST", who, self._generation(), self._version(), *words, f":{MARK}"])
        # It pretends to be linked to the host that it tells of.
        own = f"HOST {self._name} {int(self._world.now)} {self._random.randrange(50, 500)} {victim} {who} :"
        return self._one_of([lie], [own, lie], [lie, own, f"NEWS {who}"])

    def _one_of(self, *lies: list[str]) -> list[str]:
        return self._random.choice(lies)

    def _event(self, victim: str) -> list[str]:
        origin = self._who()
        command = self._one(
            *(
                "PRIVMSG",
                "PRIVMSG",
                "NOTICE",
                "JOIN",
                "PART",
                "QUIT",
                "NICK",
                "TOPIC",
                "MODE",
                "RENAME",
                "KNOWN",
            ),
            *(
                "USER",
                "ACCOUNT",
                "CHGHOST",
                "AWAY",
                "META",
                "REDACT",
                "ENTER",
                "UMODE",
                "MEMBERS",
                "INVITE",
                "HALT",
                "OPER",
            ),
        )
        return [self._line(origin, command)]

    def _line(self, origin: str, command: str, more: str = "") -> str:
        source = self._mask(self._one(origin, origin, self._honest()))
        if command == "HALT" and self._random.random() < 0.8:
            source = f"*!*@{origin}"
        tags = f"o={origin};n={self._number()};t={self._time()};i={MARK}{next(self._counter)}{more}"
        if self._random.random() < 0.3:
            tags += f";a={self._one('admin', 'ori', 'ori@spark', 'a b', '')}"
        if self._random.random() < 0.2:
            tags += f";.{self._one(*TAGS)}={MARK}"
        if self._random.random() < 0.3:
            tags += f";.{self._one(*CLAIMS)}"
        if self._random.random() < 0.05:
            tags += f";.+{MARK}={'x' * 60_000}"
        if self._random.random() < 0.2:
            tags += f";c=+{self._channel()}"
        if self._random.random() < 0.2:
            tags += ";r"
        target = self._one(self._channel(), self._channel(), self._nick(), "\\e")
        if command == "HALT" and self._random.random() < 0.8:
            target = "\\e"
        params = self._params(command)
        text = self._text(command)
        return f"@{tags} :{source} {command} {target}{params} :{text}"

    def _params(self, command: str) -> str:
        letters, value = self._one("+o", "+k", "+l", "+b", "+i", "+L"), self._one(self._nick(), "x", "9" * 30)
        known = {
            "RENAME": f" {self._channel()}",
            "MODE": f" {letters} {value}",
            "USER": f" {self._time()} +{self._one('o', '', 'iw')}",
            "CHGHOST": f" {self._one('u', '', 'a!b')} {self._one('h', '')}",
            "META": f" {self._one('url', 'BAD KEY', 'x' * 500)} +",
            "REDACT": f" {MARK}",
            "ENTER": f" {self._time()} o {self._stamp()}",
            "MEMBERS": " \\e \\e",
            "INVITE": f" {self._nick()}",
            "HALT": f" {self._one('+', '+', '-', 'x')} {self._stamp()} {self._one(self._nick(), '')}",
        }
        return known.get(command, "") if self._random.random() < 0.9 else self._one(" x", " a\\sb", "")

    def _text(self, command: str) -> str:
        match command:
            case "NICK":
                return self._nick()
            case "ACCOUNT":
                return self._one("admin", "ori", "ori@spark", "")
            case "KNOWN":
                return self._state_line(self._name)
            case "UMODE":
                return self._one("o", "oiw", MARK)
            case _:
                return f"{MARK} {self._random.random():.4f}"

    def _direct(self, victim: str) -> list[str]:
        origin, to = self._who(), self._one(victim, victim, self._honest())
        returned = self._random.random() < 0.4
        if returned:
            # Words that a user of the victim is supposed to have written.
            origin, to = self._one(victim, self._honest()), self._one(self._name, self._name, self._honest())
        ends = f"{self._end(origin)}\\s{self._end(to)}"
        more = f";d={to};v={self._one('0.0', self._number())};h={self._one('16', '2', '999')};e={ends}"
        if returned:
            more += ";b"
        levels = self._number()
        ask = f"{self._one('ASK', 'ACK')} {self._who()} {to} {self._one('16', '3', '-1')} {levels}"
        line = self._line(origin, self._one("PRIVMSG", "PRIVMSG", "REDACT"), more)
        return self._one_of([line], [ask], [ask, line])

    def _end(self, host: str) -> str:
        at = self._one("", f"@{host}", f"@{self._honest()}")
        return self._one(f"nick:{self._nick(host)}", f"account:ori{at}", "account:admin", "account:a\\tb")

    def _state_line(self, origin: str) -> str:
        nick = self._nick(self._one(origin, origin, self._who()))
        kind, what = self._one("k", "l", "b", "i", "L"), self._one("-", "x!*@*")
        account, modes = self._one("admin", "*", "ori"), self._one("o", "", "i")
        return self._one(
            f"USER {nick} u x {account} +{modes} {self._time()} :{MARK}",
            f"USER {nick}  x * + {self._time()} :{MARK}",
            f"USER {nick} u x * +",
            f"IN {self._channel()} {nick} {self._time()} {self._stamp()}",
            f"CHANNEL {self._channel()} {self._time()} {self._stamp()}",
            f"SET {self._channel()} topic - {self._stamp()} + {nick} {self._time()} :{MARK}",
            f"SET {self._channel()} {kind} {what} {self._stamp()} + x 0 :9x",
            f"STAND {self._channel()} {self._stamp()} {self._stamp()} o+{self._stamp()}",
            f"META {nick} {self._one('url', 'BAD')} :{MARK}",
            f"AWAY {nick} :{MARK}",
            f"HALT {self._one('+', '-', 'x')} {self._stamp()} {nick} :{MARK}",
        )

    def _state(self, victim: str) -> list[str]:
        origin = self._one(self._name, self._name, victim, f"{victim}.x", self._who())
        levels = self._one(self._number(), "-", f"{int(self._world.now)}.2147483647")
        user = f"USER {self._nick(origin)} u x admin +o {int(self._world.now * 1000)} :{MARK}"
        lines = [user, *(self._state_line(origin) for _ in range(self._random.randrange(4)))]
        token = self._random.randrange(1, 30)
        return [
            f"FEED {token} {origin} {self._channels()}",
            f"STATE {origin} {levels}",
            *(f"HAS {line}" for line in lines),
            f"STATEEND {self._one(origin, origin, self._honest())}",
        ]

    def _held(self, victim: str) -> list[str]:
        levels = self._one(self._number(), ",".join(f"{each}.1" for each in range(2000)), "-")
        return [f"HELD {self._who()} {self._channels()}={levels}", f"HELD {self._who()}"]

    def _want(self, victim: str) -> list[str]:
        verb = self._one("WANT", "UNWANT", "SEEK", "NEWS", "DONE", "PING", "PONG", "STATEEND", "HAS", "LINK")
        return [f"{verb} {self._one('1', '7', 'x' * 300)} {self._who()} {self._generation()}"]

    def _answer(self, victim: str) -> list[str]:
        """Forged answers, to questions that the victim may have asked about others."""
        origin, token = self._who(), self._random.randrange(1, 30)
        return [
            f"FEED {token} {origin} *",
            self._line(origin, "PRIVMSG"),
            f"DONE {token} {origin}",
        ]

    def _feed_of_past(self, victim: str) -> list[str]:
        """What honest users are supposed to have said in earlier times."""
        now, victim = int(self._world.now), self._one(victim, self._honest())
        said = (
            f"@o={victim};n={now - 5000}.{next(self._counter)};t={now}000;i={MARK}{next(self._counter)};r "
            f":{victim}-ann!ann@{victim} PRIVMSG #a :{MARK}"
        )
        return [line for token in range(1, 12) for line in (f"FEED {token} {victim} *", said)]

    def _many(self, victim: str) -> list[str]:
        kind = self._one("HOST", "HELD", "WANT")
        if kind == "HOST":
            now = int(self._world.now)
            return [f"HOST g{each} {now} 1 {self._name} :" for each in range(70)]
        if kind == "HELD":
            return [f"HELD g{each} *=1.1" for each in range(70)]
        return [f"WANT {each} g{each}" for each in range(140)]
