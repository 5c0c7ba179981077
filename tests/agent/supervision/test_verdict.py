"""A verdict is one of four words and, unless it is OK, a remark. Anything else is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.agent.supervision.verdict import MAX_REMARK, Verdict, VerdictKind, parse_verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("OK", Verdict(VerdictKind.OK)),
        (" OK — it makes progress\n", Verdict(VerdictKind.OK)),
        ("CORRECTION ask in #ops", Verdict(VerdictKind.CORRECTION, "ask in #ops")),
        ("CORRECTION: ask\nin #ops", Verdict(VerdictKind.CORRECTION, "ask in #ops")),
        ("THINK_DEEPER — why cmake?", Verdict(VerdictKind.THINK_DEEPER, "why cmake?")),
        ("ESCALATION Retried cmake 4 times.", Verdict(VerdictKind.ESCALATION, "Retried cmake 4 times.")),
        ("", None),
        ("ok", None),
        ("OKAY", None),
        ("CORRECTION", None),
        ("CORRECTIONS are needed", None),
        ("correction ask", None),
        ("I think: CORRECTION ask", None),
        ("OK\nCORRECTION ask", None),
        ("CORRECTION ask\nESCALATION stuck", None),
        ("OK\nbut it is slow", None),
    ],
)
def test_answers(answer: str, verdict: Verdict | None):
    assert parse_verdict(answer) == verdict


@given(st.text())
def test_any_text_is_read_as_one_line_or_not_at_all(answer: str):
    verdict = parse_verdict(f"CORRECTION {answer}")

    if verdict is not None:
        assert 0 < len(verdict.remark) <= MAX_REMARK
        assert len(verdict.remark.splitlines()) == 1
