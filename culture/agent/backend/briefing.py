"""Write what an agent is told before its first turn: who it is, how it speaks, what its operator wants.

The skill is part of the briefing rather than a file that the backend has to discover: a prompt that is
delivered verbatim comes without the listing of skills, a locked-down agent may not open files, and so
nothing has to be installed into anyone's home.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

SKILL: Final = Path(__file__).parents[1] / "skill" / "SKILL.md"


def briefing(nick: str, server: str, channels: Sequence[str], instructions: str, skill: str) -> str:
    host = nick.partition("-")[0]
    where = ", ".join(channels) if channels else "no channel yet"
    parts = [
        f"You are {nick}, an agent on the host '{host}', connected to the IRC server {server}, in {where}.",
        without_front_matter(skill),
        instructions,
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def without_front_matter(skill: str) -> str:
    _, fence, rest = skill.partition("---\n")
    return rest.partition("\n---\n")[2] if fence else skill
