"""Whisper, whisper more strongly, then escalate; one good evaluation leads off the ladder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.agent.supervision.ladder import Escalating, Intervention, Ladder, Whispering
from culture.agent.supervision.verdict import Verdict, VerdictKind

OK = Verdict(VerdictKind.OK)
CORRECTION = Verdict(VerdictKind.CORRECTION, "Try another flag.")
DEEPER = Verdict(VerdictKind.THINK_DEEPER, "Think about the schema.")
ESCALATION = Verdict(VerdictKind.ESCALATION, "Retried cmake 4 times.")


def climb(*verdicts: Verdict, threshold: int = 3) -> list[str]:
    """What is done about each verdict."""
    ladder = Ladder(threshold)
    return [_name(ladder.judged(verdict)) for verdict in verdicts]


def _name(done: Intervention | None) -> str:
    if done is None:
        return "nothing"
    return "escalation" if isinstance(done, Escalating) else f"whisper {done.kind}"


@pytest.mark.parametrize(
    ("verdicts", "done"),
    [
        ((OK, OK), ["nothing", "nothing"]),
        ((CORRECTION, OK, CORRECTION), ["whisper CORRECTION", "nothing", "whisper CORRECTION"]),
        ((CORRECTION,) * 3, ["whisper CORRECTION", "whisper CORRECTION", "escalation"]),
        ((DEEPER, CORRECTION, DEEPER), ["whisper THINK_DEEPER", "whisper CORRECTION", "escalation"]),
        ((ESCALATION, CORRECTION), ["whisper ESCALATION", "escalation"]),
        ((CORRECTION, ESCALATION), ["whisper CORRECTION", "escalation"]),
        ((ESCALATION, OK, CORRECTION), ["whisper ESCALATION", "nothing", "whisper CORRECTION"]),
        # After an escalation a person has decided, and everything begins anew.
        (
            (CORRECTION,) * 4,
            ["whisper CORRECTION", "whisper CORRECTION", "escalation", "whisper CORRECTION"],
        ),
    ],
)
def test_interventions(verdicts: tuple[Verdict, ...], done: list[str]):
    assert climb(*verdicts) == done


def test_the_threshold_says_how_many_evaluations_lead_to_a_person():
    assert climb(CORRECTION, threshold=1) == ["escalation"]
    assert climb(CORRECTION, CORRECTION, threshold=2) == ["whisper CORRECTION", "escalation"]
    assert climb(*[CORRECTION] * 5, threshold=5) == ["whisper CORRECTION"] * 4 + ["escalation"]


def test_the_second_whisper_is_stronger():
    ladder = Ladder(3)

    first, second = ladder.judged(CORRECTION), ladder.judged(CORRECTION)

    assert first == Whispering(VerdictKind.CORRECTION, "Try another flag.")
    assert isinstance(second, Whispering)
    assert second.text.startswith("This is still so after the last remark. Try another flag.")
    assert "last warning" in second.text


@given(st.lists(st.sampled_from([OK, CORRECTION, DEEPER, ESCALATION])), st.integers(2, 6))
def test_nobody_is_paused_without_a_warning(verdicts: list[Verdict], threshold: int):
    done = climb(*verdicts, threshold=threshold)

    for number, each in enumerate(done):
        if each == "escalation":
            assert number > 0
            assert done[number - 1].startswith("whisper")
