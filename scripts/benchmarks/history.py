"""What history costs each message, and how soon it answers when there is much of it.

The core and the skill in this process, without sockets: what is measured is theirs alone. Answers are
measured as a client waits for them, less the network.
"""

import argparse
import itertools
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from figures import percentiles_ms

from culture.config.ircd import IrcdConfig
from culture.errors import UnavailableError
from culture.ircd.commands.table import COMMANDS
from culture.ircd.delivery.queue import join_output
from culture.ircd.recording.ids import new_ids
from culture.ircd.server import Ircd
from culture.ircd.skills import NO_SKILLS, Asker, EventRecord, Membership, Skills
from culture.protocol.parties import parse_party
from culture.skills.history.command import HistoryCommand
from culture.skills.history.minilm import MiniLm, find_model
from culture.skills.history.semantic import SLICE, Semantic
from culture.skills.history.skill import History
from culture.store.history.archive import Archive
from culture.store.history.vectors import FILE

READERS = 10
CHANNELS = 200
PEOPLE = 1000
WORDS_EACH = 12
VOCABULARY = 30_000
SAID = 50_000
ASKED = 300
# Messages that get a vector: an encoder takes a hundredth of a second for each.
MEANT = 160


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--messages", type=int, default=1_000_000, metavar="N", help="in history (1000000)")
    parser.add_argument(
        "--at", type=Path, metavar="DIR", help="where to put it (default: a temporary directory)"
    )


def measure(options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory(prefix="culture-", dir=options.at) as directory:
        return _measure(Path(directory), options.messages)


def _measure(directory: Path, messages: int) -> dict:
    talk = Talk()
    figures: dict = {}
    for at_once in (64, 1):
        without_us = _fan_out_us(NO_SKILLS, at_once)
        skills = Skills([History(Archive(directory / f"fan-out-{at_once}"), "spark")])
        figures[f"fan-out to {READERS}, {at_once} at once, without history, us"] = without_us
        figures[f"fan-out to {READERS}, {at_once} at once, with history, us"] = _fan_out_us(skills, at_once)
        skills.close()
    before = _rss_mb()
    archive = Archive(directory / "large")
    history = History(archive, "spark")
    figures["append, us per message"] = _fill(history, talk, messages)
    figures["file, us per message"] = _spent_us(lambda: file_all(archive), messages)
    figures["index, us per message"] = _spent_us(lambda: archive.index_for(float("inf")), messages)
    history.close()
    started = time.perf_counter()
    archive = Archive(directory / "large")
    figures["open, ms"] = round((time.perf_counter() - started) * 1000, 1)
    history = History(archive, "spark")
    figures |= _answers(history, talk, messages)
    figures["RSS over an empty history, MB"] = round(_rss_mb() - before)
    figures["bytes on disk per message"] = round(_size(directory / "large") / messages)
    if (model := find_model()) is not None:
        figures["SEMANTIC *"] = _meant(archive, MiniLm(model))
    history.close()
    return figures


def file_all(archive: Archive) -> None:
    """All of it: a reader would lose patience."""
    while True:
        try:
            archive.catch_up()
        except UnavailableError:
            continue
        return


class Talk:
    """Words as often as in a language: the second half as often as the first, and so on."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = [
            "".join(self._random.choices(letters, k=self._random.randint(3, 9))) for _ in range(VOCABULARY)
        ]
        self._weights = list(itertools.accumulate(1 / (place + 1) for place in range(VOCABULARY)))

    def line(self) -> str:
        return " ".join(self._random.choices(self.words, cum_weights=self._weights, k=WORDS_EACH))

    def happening(self, number: int) -> EventRecord:
        source = f"spark-u{number % PEOPLE}!u@spark"
        at = 1_700_000_000 + number / 50
        channel = f"#c{number % CHANNELS}"
        head = (f"x{number:x}", at, "PRIVMSG", channel, source, None, self.line())
        return EventRecord(*head, is_public=True, seq=number + 1)


def _fan_out_us(skills: Skills, at_once: int) -> float:
    """Per message, from the line of its sender to the bytes for its readers."""
    ircd = Ircd(
        IrcdConfig(name="spark"),
        COMMANDS,
        clock=time.time,
        timer=time.monotonic,
        new_id=new_ids("m"),
        version="bench",
        skills=skills,
    )
    sessions = [ircd.connect("spark", "bench") for _ in range(READERS + 1)]
    for number, session in enumerate(sessions):
        for line in (f"NICK spark-b{number}", "USER b 0 * :b", "JOIN #bench"):
            ircd.received(session, line.encode())
    line = b"PRIVMSG #bench :the quick brown fox jumps over the lazy dog and then over the fence"
    started = 0.0
    for turn in range(-100, SAID // READERS // at_once):
        if turn == 0:
            started = time.perf_counter()
        for _ in range(at_once):
            ircd.received(sessions[0], line)
        for output in ircd.drain().values():
            join_output(output)
    return round((time.perf_counter() - started) / (SAID // READERS // at_once * at_once) * 1e6, 2)


def _fill(history: History, talk: Talk, messages: int) -> float:
    spent = 0.0
    for start in range(0, messages, 64):
        turn = [talk.happening(number) for number in range(start, min(start + 64, messages))]
        before = time.perf_counter()
        history.commit(turn)
        spent += time.perf_counter() - before
    return round(spent / messages * 1e6, 2)


def _answers(history: History, talk: Talk, messages: int) -> dict:
    chathistory, command = history.commands["CHATHISTORY"].answer, history.commands["HISTORY"].answer
    channels = {f"#c{number}": Membership(0.0, "") for number in range(10)}
    caps = frozenset({"batch", "draft/chathistory"})
    asker = Asker("spark-u1", None, (parse_party("session:u1"),), caps, channels)
    words = talk.words

    def asking(answer: Callable, *params: Callable[[int], str]) -> dict[str, float]:
        return _latency(lambda number: answer(asker, [param(number) for param in params]))

    def fixed(text: str) -> Callable[[int], str]:
        return lambda number: text

    def channel(number: int) -> str:
        return f"#c{number % CHANNELS}"

    def middle(number: int) -> str:
        return f"msgid=x{messages // 2 // CHANNELS * CHANNELS + number % CHANNELS:x}"

    def mixed(number: int) -> str:
        """What people search for: a word, two, a phrase, a beginning, somebody's words."""
        common, rare = words[number % 50], words[1000 + number * 7]
        kinds = (rare, f"{common} {rare}", f'"{common} {words[(number + 1) % 50]}"', f"{rare[:4]}*", common)
        return (*kinds, f"from:spark-u{number} {common}")[number % 6]

    return {
        "RECENT 100": asking(command, fixed("RECENT"), channel, fixed("100")),
        "CHATHISTORY LATEST 100": asking(chathistory, fixed("LATEST"), channel, fixed("*"), fixed("100")),
        "CHATHISTORY BEFORE 100": asking(chathistory, fixed("BEFORE"), channel, middle, fixed("100")),
        "SEARCH *": asking(command, fixed("SEARCH"), fixed("*"), mixed),
        "SEARCH #channel": asking(command, fixed("SEARCH"), channel, mixed),
    }


def _meant(archive: Archive, encoder: MiniLm) -> dict[str, float]:
    """At a hundred thousand vectors, which are those of some messages over and over."""
    semantic = Semantic(archive, lambda: encoder, print)
    for _ in range(MEANT // SLICE):
        semantic.index()
    vectors = archive.directory / FILE
    some = vectors.read_bytes()
    vectors.write_bytes(some * (100_000 // MEANT))
    asker = Asker("spark-u1", None, (parse_party("session:u1"),))
    answer = HistoryCommand(archive, "spark", semantic).answer
    questions = [
        "which machine has run out of space",
        "did we revert the release",
        "when are customers billed",
    ]
    return _latency(lambda number: answer(asker, ["SEMANTIC", "*", questions[number % 3]]), 60)


def _latency(ask: Callable[[int], object], times: int = ASKED) -> dict[str, float]:
    seconds = []
    for number in range(times):
        before = time.perf_counter()
        ask(number)
        seconds.append(time.perf_counter() - before)
    return percentiles_ms(seconds)


def _spent_us(work: Callable[[], object], messages: int) -> float:
    before = time.perf_counter()
    work()
    return round((time.perf_counter() - before) / messages * 1e6, 2)


def _rss_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("history.db*"))
