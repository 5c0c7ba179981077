"""Agents that talk to each other stand down at a limit; a person lets them go on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.agent.authority.likeness import is_alike
from culture.agent.authority.loop_guard import LoopGuard
from culture.agent.turns.gate import HoldKind
from culture.client.events import Said
from culture.config.agent.loop_guard import LoopGuardConfig
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueuedMessage, QueueEntry, QueueState

BOT, PERSON = {"bot": ""}, {"agentirc.dev/sender": "person"}


class Guarded:
    """A guard of spark-claude, with what it told and how often it changed its mind."""

    def __init__(self, directory: Path, **limits: float) -> None:
        self.told: list[tuple[str, str]] = []
        self.changes = 0
        self.now_s = 0.0
        self._file = AgentFile(directory)
        self.guard = LoopGuard(
            LoopGuardConfig(**limits),
            self._file,
            ("account:lea",),
            own_nick=lambda: "spark-claude",
            clock=lambda: self.now_s,
            tell=lambda place, text: self.told.append((place, text)),
            on_change=self._changed,
        )

    def _changed(self) -> None:
        self.changes += 1

    def close(self) -> None:
        self._file.close()

    def hear(self, text: str, sender: str = "spark-codex", channel: str | None = "#ops", **tags: str) -> None:
        """A message that calls the agent."""
        kind = {} if sender in ("spark-ori", "spark-guest") else BOT
        kind = PERSON if sender == "spark-ori" else kind
        said = Said(sender, channel, text, False, False, ("spark-claude",), None, {**kind, **tags})
        self.guard.heard(said)
        self.guard.called(said)

    def spoke(self, channel: str = "#ops") -> None:
        self.guard.spoke(channel, is_channel=channel.startswith("#"))

    def holds(self, *, by_agent: bool = True, channel: str | None = "#ops") -> bool:
        question = QueuedMessage("m", "mention", "spark-codex", channel, "x", 0, by_agent)
        held = self.guard.holds_back([QueueEntry(1, QueueState.QUEUED, question, 0, "", 0, "")])
        assert held is None or held.kind is HoldKind.LOOP
        return held is not None


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    made = Guarded(tmp_path)
    yield made
    made.close()


def test_it_stands_down_where_the_server_counts_enough_hops_and_says_so_once(guarded: Guarded):
    guarded.hear("look", **{"agentirc.dev/hops": "5"})
    assert not guarded.holds()
    guarded.hear("look again", **{"agentirc.dev/hops": "6"})
    guarded.hear("look once more", **{"agentirc.dev/hops": "8"})
    assert guarded.holds()
    why = "agents took over from each other 6 times without a person"
    text = f"standing down: {why}; a person can let agents go on by speaking here"
    assert guarded.told == [("#ops", text)]
    assert not guarded.holds(channel="#other")
    assert not guarded.holds(by_agent=False)


def test_on_other_servers_it_counts_itself(guarded: Guarded):
    for turn in range(3):
        guarded.hear(f"question {turn}")
        assert not guarded.holds()
        guarded.spoke()
    guarded.hear("question 4")
    assert guarded.holds()


def test_a_person_lets_it_go_on(guarded: Guarded):
    guarded.hear("look", **{"agentirc.dev/hops": "6"})
    guarded.hear("hello", sender="spark-guest")
    assert guarded.holds()
    guarded.hear("hello", sender="spark-ori", channel="#other")
    assert guarded.holds()
    guarded.hear("go on", sender="spark-ori")
    assert not guarded.holds()
    assert guarded.changes == 1
    guarded.hear("look", **{"agentirc.dev/hops": "6"})
    assert guarded.holds()
    assert len(guarded.told) == 2


def test_a_person_by_account_does_on_other_servers(guarded: Guarded):
    guarded.hear("look", **{"agentirc.dev/hops": "6"})
    guarded.hear("go on", sender="spark-guest", account="lea")
    assert not guarded.holds()


def test_direct_messages_go_on_when_a_person_speaks_to_the_agent(guarded: Guarded):
    guarded.hear("look", channel=None, **{"agentirc.dev/hops": "6"})
    assert guarded.holds(channel=None)
    guarded.hear("spark-claude: go on", sender="spark-ori")
    assert not guarded.holds(channel=None)


def test_it_stands_down_still_after_a_restart(tmp_path: Path):
    before = Guarded(tmp_path)
    before.hear("look", **{"agentirc.dev/hops": "6"})
    before.close()
    after = Guarded(tmp_path)
    assert after.holds()
    after.hear("go on", sender="spark-ori")
    after.close()
    last = Guarded(tmp_path)
    assert not last.holds()
    last.close()


def test_who_says_the_same_again_and_again_is_not_answered(guarded: Guarded):
    for _ in range(3):
        guarded.hear("Are you   there?")
        assert not guarded.holds()
    guarded.hear("are you there?")
    assert guarded.holds()
    assert "spark-codex said nearly the same 4 times" in guarded.told[0][1]


def test_progress_is_not_the_same(guarded: Guarded):
    for percent in range(15):
        guarded.hear(f"the build of the package is {percent} % done")
    assert not guarded.holds()


def test_who_calls_too_often_is_not_answered(tmp_path: Path):
    guarded = Guarded(tmp_path, calls_per_agent=3, calls_per_channel=5, window_s=60, repeats=0, hops=0)
    for number in range(3):
        guarded.hear(f"{number}")
    guarded.now_s = 61
    for number in range(3):
        guarded.hear(f"{number}")
    assert not guarded.holds()
    guarded.hear("one more")
    assert guarded.holds()
    guarded.close()


def test_a_channel_in_which_everybody_calls_is_not_answered(tmp_path: Path):
    guarded = Guarded(tmp_path, calls_per_agent=3, calls_per_channel=5, window_s=60, repeats=0, hops=0)
    for number in range(5):
        guarded.hear(f"{number}", sender=f"spark-agent{number}")
    assert not guarded.holds()
    guarded.hear("6", sender="spark-agent6")
    assert guarded.holds()
    guarded.close()


def test_another_agent_told_the_channel_already(guarded: Guarded):
    notice = Said("spark-codex", "#ops", "standing down: because", True, False, (), None, BOT)
    guarded.guard.heard(notice)
    guarded.hear("look", **{"agentirc.dev/hops": "6"})
    assert guarded.holds()
    assert guarded.told == []


def test_people_and_guests_are_never_held_back(guarded: Guarded):
    for _ in range(50):
        guarded.hear("hello", sender="spark-ori")
        guarded.hear("hello", sender="spark-guest")
        guarded.spoke()
    assert guarded.told == []
    assert not guarded.holds()


@given(st.text(max_size=60))
def test_every_text_is_like_itself(text: str):
    assert is_alike(text, text)


def test_what_is_alike():
    assert is_alike("I fixed the build, please review it", "i fixed the build; please review it")
    assert not is_alike("I fixed the build, please review it", "The tests fail, please look")
    assert not is_alike("run 41 failed", "run 42 failed")
