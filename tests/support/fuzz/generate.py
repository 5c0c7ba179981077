"""Random games: clients that mostly know what they do, and sometimes do not know at all."""

import base64
import string
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from culture.ircd.commands.table import COMMANDS
from culture.protocol.capabilities import Cap
from support.fuzz.configs import CONFIGS, PASSWORD
from support.fuzz.play import play
from support.fuzz.steps import Step
from support.fuzz.words import (
    BITS,
    CHANNELS,
    CHANNELS_ODD,
    GOOD_SECRET,
    KEYS,
    LABEL,
    MASKS,
    MECHANISMS,
    MODES,
    NICKS,
    NICKS_ODD,
    SECRETS,
    TAGS,
    TEMPLATES,
    TEXTS,
)

# Of one game.
LINES: Final = 2000
AT_ONCE: Final = 7

_POOLS: Final = (NICKS, NICKS_ODD, CHANNELS, CHANNELS_ODD, MODES, MASKS, TEXTS, BITS, KEYS)
_KNOWN: Final = tuple(template for template, _ in TEMPLATES)
_WEIGHTS: Final = tuple(weight for _, weight in TEMPLATES)


class Typist:
    """What one game's clients type."""

    def __init__(self, random: Random) -> None:
        self._random = random
        choose = random.choice
        self._words: dict[str, Callable[[], str]] = {
            "nick": lambda: choose(NICKS if random.random() < 0.9 else NICKS_ODD),
            "channel": lambda: choose(CHANNELS if random.random() < 0.9 else CHANNELS_ODD),
            "target": lambda: self._words["nick" if random.random() < 0.4 else "channel"](),
            "mode": lambda: choose(MODES),
            "mask": lambda: choose(MASKS),
            "text": lambda: choose(TEXTS),
            "bit": lambda: choose(BITS),
            "cap": lambda: choose(tuple(Cap)),
            "key": lambda: choose(KEYS),
            "mechanism": lambda: choose(MECHANISMS),
            "secret": lambda: _encoded(choose(SECRETS)),
            "password": lambda: choose((PASSWORD, "", "\0", "p" * 400)),
            "batch": lambda: choose("12"),
            "digit": lambda: choose(string.digits),
            "msgid": lambda: f"m{random.randrange(4096):x}",
            "any": self._any,
        }

    def greeting(self) -> bytes:
        random = self._random
        lines = []
        if random.random() < 0.7:
            caps = random.sample(tuple(Cap), random.randrange(len(Cap)))
            lines += ["CAP LS 302", *(f"CAP REQ :{cap}" for cap in caps)]
            if random.random() < 0.5:
                lines += ["AUTHENTICATE PLAIN", f"AUTHENTICATE {_encoded(GOOD_SECRET)}"]
        lines += ["CAP END", f"USER {self._any()} 0 * :{random.choice(TEXTS)}"]
        # One of them may be free.
        lines += [f"NICK {nick}" for nick in random.choices(NICKS, k=3)]
        lines += [f"JOIN {channel}" for channel in random.choices(CHANNELS, k=2)]
        return "".join(f"{line}\r\n" for line in lines).encode()

    def line(self) -> bytes:
        random = self._random
        chance = random.random()
        text = self._sensible() if chance < 0.75 else self._odd()
        if random.random() < 0.25 and not text.startswith("@"):
            text = f"@{self._tags()} {text}"
        raw = text.encode()
        if chance > 0.97:
            raw = self._damaged(raw)
        elif chance > 0.96:
            raw = random.randbytes(random.randrange(600))
        return raw + random.choice((b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r\r\n"))

    def _sensible(self) -> str:
        [template] = self._random.choices(_KNOWN, _WEIGHTS)
        return self._fill(template)

    def _odd(self) -> str:
        """Any command at all, with anything behind it."""
        command = self._random.choice((*COMMANDS, "NOSUCH", "005", ""))
        if command == "QUIT" and self._random.random() < 0.9:
            command = "PING"
        words = [self._any() for _ in range(self._random.randrange(5))]
        return " ".join([command, *words]) + self._random.choice(("", "", " :", f" :{self._any()}"))

    def _fill(self, template: str) -> str:
        filled, rest = [], template
        while "{" in rest:
            head, _, rest = rest.partition("{")
            name, _, rest = rest.partition("}")
            filled += [head, self._words[name]()]
        return "".join([*filled, rest])

    def _any(self) -> str:
        pool = self._random.choice(
            (NICKS, NICKS_ODD, CHANNELS, CHANNELS_ODD, MODES, MASKS, TEXTS, BITS, KEYS)
        )
        return self._random.choice(pool)

    def _tags(self) -> str:
        random = self._random
        tags = random.choices(TAGS, k=2)
        tags = [f"{tag}{random.randrange(9999)}" if tag is LABEL else tag for tag in tags]
        if random.random() < 0.02:
            tags.append("+z=" + "z" * random.choice((4000, 4070, 4096, 9000)))
        return ";".join(tags)

    def _damaged(self, raw: bytes) -> bytes:
        """A byte in it is another, or it is many times as long, or cut."""
        random = self._random
        at = random.randrange(len(raw) + 1)
        return random.choice(
            (
                raw[:at] + random.randbytes(1) + raw[at + 1 :],
                raw[:at],
                raw[:at] + raw[at:] * random.randrange(60),
                raw[:at] + b"\0" + raw[at:],
            )
        )


def _encoded(secret: str) -> str:
    return base64.b64encode(secret.encode()).decode() or "+"


def play_random(seed: int) -> tuple[list[Step], Exception | None]:
    random = Random(seed)
    return play(lambda game: random_game(random, game.here))


def random_game(random: Random, here: Callable[[], list[int]]) -> Iterator[Step]:
    """The same for the same state of `random`. Each step has to be played before the next is asked for.

    `here` names the clients that can type.
    """
    typist, count = Typist(random), 0
    for _ in range(LINES):
        people = here()
        if len(people) < 2 or (len(people) < AT_ONCE and random.random() < 0.1):
            yield Step("connect", count)
            yield Step("say", count, typist.greeting())
            people, count = [*people, count], count + 1
        who = random.choice(people)
        yield from _say(random, who, typist.line())
        yield from _something_else(random, who)


def _something_else(random: Random, who: int) -> Iterator[Step]:
    chance = random.random()
    if chance < 0.01:
        yield Step("search")
    elif chance < 0.3:
        yield Step("turn")
    elif chance < 0.5:
        yield Step("answer" if chance < 0.47 else "fail")
    elif chance < 0.52:
        yield Step("stall" if chance < 0.507 else "read", who)
    elif chance < 0.53:
        yield Step("wait", random.choice((1, 1, 1, 1, 31, 61, 91)))
    elif chance < 0.535:
        yield Step("drop", who)
    elif chance < 0.537:
        # Mostly as it was in the beginning, so that people can come in.
        yield Step("reload", random.choice((0, 0, 0, *range(len(CONFIGS)))))


def _say(random: Random, who: int, data: bytes) -> Iterator[Step]:
    """In one piece, or in two."""
    if random.random() < 0.9:
        yield Step("say", who, data)
    else:
        at = random.randrange(len(data) + 1)
        yield Step("say", who, data[:at])
        yield Step("say", who, data[at:])
