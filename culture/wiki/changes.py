"""What changed in the wiki, when, and by whom, as git log tells it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from culture.wiki.page_names import name_of

# No author and no subject contains NUL.
LOG_FORMAT: Final = "--format=%x00%x00%H%x00%an%x00%aI%x00%s"


@dataclass(frozen=True, slots=True)
class Change:
    """One commit."""

    revision: str
    author: str
    at: datetime
    summary: str
    # The pages that it wrote, renamed or deleted, under their new and old names.
    pages: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.revision[:10]} {self.at:%Y-%m-%d %H:%M} {self.author}: {self.summary}"


def parse_log(output: str) -> list[Change]:
    """Parse the output of `git log --name-status` with LOG_FORMAT."""
    changes = []
    for record in output.split("\0\0")[1:]:
        revision, author, at, rest = record.split("\0")
        summary, *lines = rest.split("\n")
        paths = [path for line in lines for path in line.split("\t")[1:]]
        names = dict.fromkeys(name for path in paths if (name := name_of(path)) is not None)
        changes.append(Change(revision, author, datetime.fromisoformat(at), summary, tuple(names)))
    return changes
