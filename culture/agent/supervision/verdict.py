"""The verdicts of a judge, and how they are read from its answer."""

import re
import textwrap
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# The longest remark that is passed on.
MAX_REMARK: Final = 400


class VerdictKind(StrEnum):
    """What a judge says about an agent."""

    OK = "OK"
    CORRECTION = "CORRECTION"
    THINK_DEEPER = "THINK_DEEPER"
    ESCALATION = "ESCALATION"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict, with the judge's remark unless it is OK."""

    kind: VerdictKind
    remark: str = ""


_OK: Final = re.compile(r"OK\b[^\n]*")
_REMARK: Final = re.compile(
    r"(?P<kind>CORRECTION|THINK_DEEPER|ESCALATION)(?:\s*[:—-]\s*|\s+)(?P<remark>\S.*)", re.DOTALL
)
_SECOND: Final = re.compile(r"^(OK|CORRECTION|THINK_DEEPER|ESCALATION)\b", re.MULTILINE)


def parse_verdict(answer: str) -> Verdict | None:
    """Return the verdict of an answer, or None if the answer is not exactly one verdict."""
    answer = answer.strip()
    if len(_SECOND.findall(answer)) != 1:
        return None
    if _OK.fullmatch(answer):
        return Verdict(VerdictKind.OK)
    found = _REMARK.fullmatch(answer)
    if found is None:
        return None
    remark = textwrap.shorten(found["remark"], MAX_REMARK, placeholder=" …")
    return Verdict(VerdictKind(found["kind"]), remark)
