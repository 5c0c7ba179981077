"""The sections of a Markdown page, each named by its heading."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from culture.errors import NoInputError

# CommonMark section 4.2 (ATX headings) and 4.5 (fenced code blocks).
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
# Only a newline ends a line; str.splitlines() also splits at U+2028 and others.
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and everything up to the next heading of the same or a higher level."""

    title: str
    level: int
    # With the heading and all its subsections.
    text: str
    # Without the heading.
    body: str


def prose_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the number of each line, the line with its end, and whether it is outside of fenced code."""
    fence = ""
    for number, line in enumerate(_LINE.findall(text)):
        found = _FENCE.fullmatch(line.rstrip("\n"))
        if fence:
            yield number, line, False
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            yield number, line, False
        else:
            yield number, line, True


def sections_of(text: str) -> list[Section]:
    """Return all sections in their order; a subsection is also part of the text of its parent."""
    lines = _LINE.findall(text)
    headings = [
        (number, len(found[1]), (found[2] or "").strip())
        for number, line, is_prose in prose_lines(text)
        if is_prose and (found := _HEADING.fullmatch(line.rstrip("\n")))
    ]
    sections = []
    for at, (start, level, title) in enumerate(headings):
        later = (number for number, other, _ in headings[at + 1 :] if other <= level)
        end = next(later, len(lines))
        sections.append(
            Section(title, level, "".join(lines[start:end]), "".join(lines[start + 1 : end]).strip())
        )
    return sections


def find_section(text: str, title: str) -> Section:
    """Return the first section with this heading, whatever its case."""
    sections = sections_of(text)
    wanted = title.strip().lstrip("#").strip().casefold()
    for section in sections:
        if section.title.casefold() == wanted:
            return section
    known = ", ".join(section.title for section in sections) or "none"
    raise NoInputError(f"the page has no section '{title}'", hint=f"its sections: {known}")
