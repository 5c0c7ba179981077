"""The grammar of page names, which are also paths in the wiki's git repository."""

import re
from typing import Final

from culture.errors import UsageError

SUFFIX: Final = ".md"
MAX_NAME_CHARACTERS: Final = 200
MAX_DEPTH: Final = 6

# Only ASCII, so that no two names look the same. Git and file systems treat no such path specially.
_SEGMENT: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
# `a.md/b` would need a directory where the page `a` is a file. Git uses the other two names itself.
_RESERVED_ENDS: Final = (".md", ".lock", ".git")


def is_page_name(text: str) -> bool:
    """Return whether a page may have this name, such as `plans/disk-cleanup`."""
    segments = text.split("/")
    return (
        len(text) <= MAX_NAME_CHARACTERS
        and len(segments) <= MAX_DEPTH
        and all(_SEGMENT.fullmatch(each) and not each.lower().endswith(_RESERVED_ENDS) for each in segments)
    )


def check_page_name(text: str) -> str:
    """Return the name, or raise UsageError if no page may have it."""
    if not is_page_name(text):
        hint = f"use letters, digits, '-', '_' and '.' in up to {MAX_DEPTH} parts, such as plans/disk-cleanup"
        raise UsageError(f"{text[:MAX_NAME_CHARACTERS]!r} is not the name of a page", hint=hint)
    return text


def path_of(name: str) -> str:
    """Return the path of a page in the repository."""
    return name + SUFFIX


def name_of(path: str) -> str | None:
    """Return the page at a path in the repository, or None if it is not the path of a page."""
    name = path.removesuffix(SUFFIX)
    return name if name != path and is_page_name(name) else None
