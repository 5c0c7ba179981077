"""Templates for pages that teams write: the state of a sprint, plans, handoffs and decisions."""

from enum import StrEnum

from culture.config.paths import skel
from culture.wiki.sections import sections_of


class Template(StrEnum):
    """The templates in `skel/wiki`, each named as its file."""

    SPRINT = "sprint"
    PLAN = "plan"
    HANDOFF = "handoff"
    DECISION = "decision"


def template_text(template: Template) -> str:
    """Return the text of a template, in which each section says what to write there."""
    return (skel() / "wiki" / f"{template.value}.md").read_text(encoding="utf-8")


def missing_sections(text: str, template: Template) -> list[str]:
    """Return the sections of a template that a page lacks, leaves empty or copies unchanged."""
    written = {section.title.casefold(): section.body for section in sections_of(text)}
    required = [section for section in sections_of(template_text(template)) if section.level > 1]
    return [
        section.title
        for section in required
        if written.get(section.title.casefold(), "") in ("", section.body)
    ]
