"""A host whose links garble what arrives: a peer with a bug, or one that means harm."""

from random import Random
from typing import Final

from support.mesh.server import ServerHost
from support.mesh.world import End, Machine, World

RATE: Final = 0.05
HANDSHAKE: Final = ("SERVER", "PROOF", "LINK")
ODD: Final = (
    *("", "0", "-1", "9" * 400, "99999999999.1", "1.2", "-", "+", "*", "#", "#c", "spark", "1@spark", "0@"),
    *(":", "\\", "\\n", "\\r", "\\e", "@", "!", "=", ",", ";", "\x01", "\t", "é", "\u2028", "x" * 600),
)


class MangledHost(ServerHost):
    def __init__(self, world: World, machine: Machine) -> None:
        super().__init__(world, machine)
        self._dice = world.random

    def received(self, end: End, line: str) -> None:
        if not line.startswith(HANDSHAKE) and self._dice.random() < RATE:
            line = mangle(line, self._dice)
        if line:
            super().received(end, line)


def mangle(line: str, random: Random) -> str:
    """A letter, a word or a tag is another one, or none."""
    words, place = line.split(" "), random.randrange(len(line) + 1)
    one, other = random.randrange(len(words)), random.randrange(len(words))
    match random.randrange(7):
        case 0:
            return line[:place] + line[place + 1 :]
        case 1:
            return line[:place] + random.choice(ODD) + line[place:]
        case 2:
            return line[:place]
        case 3:
            del words[one]
        case 4:
            words[one] = random.choice(ODD)
        case 5:
            words[one], words[other] = words[other], words[one]
        case 6 if line.startswith("@"):
            tags = words[0].split(";")
            tag = random.randrange(len(tags))
            tags[tag] = f"{tags[tag].partition('=')[0]}={random.choice(ODD)}"
            words[0] = ";".join(tags)
    return " ".join(words)
