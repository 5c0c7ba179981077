"""Markdown pages in a git repository, with one commit per change."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from culture.errors import NoInputError, TemporaryError, UsageError
from culture.wiki.changes import LOG_FORMAT, Change, parse_log
from culture.wiki.links import links_of, rewrite_links
from culture.wiki.page_names import check_page_name, path_of
from culture.wiki.repository import BRANCH, Edit, Repository, decode, printable
from culture.wiki.sections import find_section

MAX_PAGE_BYTES: Final = 256 * 1024
MAX_ROWS: Final = 500
MAX_DIFF_CHARACTERS: Final = 8000
MAX_SUMMARY_CHARACTERS: Final = 200
MAX_HITS_PER_PAGE: Final = 3

# Control characters other than tab and newline could change the terminal of whoever reads the page.
_HOSTILE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_BLANKS: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or one section of it, at a revision."""

    name: str
    text: str
    # The commit that changed the page last.
    revision: str
    author: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a search has found."""

    page: str
    line_number: int
    line: str


class StaleRevision(TemporaryError):
    """A page has changed since the revision that a change is based on; the message says what changed."""

    def __init__(self, name: str, current: str | None, changes: Sequence[Change], diff: str) -> None:
        what = "has changed since then" if current else "was deleted since then"
        told = "".join(f"\n  {change}" for change in changes)
        hint = f"read the page again and base the change on {current[:10]}" if current else None
        super().__init__(f"'{name}' {what}:{told}\n{diff}".rstrip(), hint=hint)
        # None if the page was deleted.
        self.current = current
        self.changes = tuple(changes)
        self.diff = diff


class Wiki:
    """The operations on the pages of one wiki."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    @staticmethod
    async def open(directory: Path) -> "Wiki":
        """Open the wiki in a directory, and create it if the directory is missing or empty."""
        return Wiki(await Repository.open(directory))

    async def read(self, name: str, *, section: str = "", revision: str = "") -> Page:
        """Return a page or one of its sections, now or at a revision."""
        check_page_name(name)
        commit = await self._repository.resolve(revision) if revision else await self._repository.head()
        text = await self._repository.text(name, commit)
        if text is None:
            raise await self._no_such_page(name)
        last = (await self._log(commit or BRANCH, name, limit=1))[0]
        shown = find_section(text, section).text if section else text
        return Page(name, printable(shown), last.revision, last.author, last.at)

    async def write(self, name: str, text: str, author: str, *, base: str = "", summary: str = "") -> str:
        """Write a whole page and return its revision.

        `base` is the revision that the writer has read; it is empty for a new page. A page that has changed
        since is not overwritten: StaleRevision says what changed.
        """
        check_page_name(name)
        clean = _check_text(text)
        based_on = await self._repository.resolve(base) if base else ""

        async def prepare(head: str | None) -> Edit:
            current = await self._repository.text(name, head)
            if based_on:
                await self._check_base(name, based_on, current)
            elif current is not None and current != clean:
                revision = (await self._log(BRANCH, name, limit=1))[0].revision
                hint = f"read it first, then write with base {revision[:10]}"
                raise UsageError(f"the page '{name}' exists already", hint=hint)
            if current is None:
                await self._check_free(name, head)
            return Edit(_summary(summary, f"Write {name}"), {name: clean})

        return await self._repository.commit(author, prepare)

    async def edit(
        self, name: str, old: str, new: str, author: str, *, base: str = "", summary: str = ""
    ) -> str:
        """Replace a passage that occurs exactly once, and return the new revision."""
        check_page_name(name)
        based_on = await self._repository.resolve(base) if base else ""

        async def prepare(head: str | None) -> Edit:
            current = await self._repository.text(name, head)
            if based_on:
                await self._check_base(name, based_on, current)
            if current is None:
                raise await self._no_such_page(name)
            count = current.count(old) if old else 0
            if count != 1:
                found = f"occurs {count} times" if count else "does not occur"
                hint = "quote the passage exactly, with enough of its surroundings to be unique"
                raise UsageError(f"the passage {found} on '{name}'", hint=hint)
            return Edit(_summary(summary, f"Edit {name}"), {name: _check_text(current.replace(old, new))})

        return await self._repository.commit(author, prepare)

    async def delete(self, name: str, author: str, *, base: str, summary: str = "") -> str:
        """Delete a page that has not changed since the revision `base`; its history stays."""
        check_page_name(name)
        based_on = await self._repository.resolve(base)

        async def prepare(head: str | None) -> Edit:
            current = await self._repository.text(name, head)
            if current is None:
                raise await self._no_such_page(name)
            await self._check_base(name, based_on, current)
            return Edit(_summary(summary, f"Delete {name}"), {name: None})

        return await self._repository.commit(author, prepare)

    async def rename(self, old: str, new: str, author: str, *, summary: str = "") -> str:
        """Rename a page and rewrite all links to it, in one commit."""
        check_page_name(old)
        check_page_name(new)
        if old == new:
            raise UsageError(f"the page is called '{old}' already")

        async def prepare(head: str | None) -> Edit:
            objects = await self._repository.objects(head)
            if old not in objects:
                raise await self._no_such_page(old)
            await self._check_free(new, head, instead_of=old)
            changed: dict[str, str | None] = {old: None}
            for name, content in (await self._repository.texts(objects)).items():
                text = decode(content)
                if name == old:
                    changed[new] = rewrite_links(old, text, old, new)
                elif old in links_of(name, text):
                    changed[name] = rewrite_links(name, text, old, new)
            return Edit(_summary(summary, f"Rename {old} to {new}"), changed)

        return await self._repository.commit(author, prepare)

    async def pages(self, prefix: str = "") -> list[str]:
        """Return the names of all pages that begin with a prefix, in alphabetical order."""
        objects = await self._repository.objects(await self._repository.head())
        return sorted(name for name in objects if name.startswith(prefix))

    async def search(self, query: str, limit: int = 50) -> list[Hit]:
        """Return lines of the pages that contain every word of the query, whatever its case.

        Pages whose names contain all words come first.
        """
        words = _BLANKS.sub(" ", query).strip().casefold().split(" ")
        if not all(words) or len(query) > MAX_SUMMARY_CHARACTERS or _HOSTILE.search(query):
            raise UsageError(f"search for 1 to {MAX_SUMMARY_CHARACTERS} printable characters")
        # Not by git grep, which compiles patterns to machine code: the sandbox of the services forbids that.
        texts = await self._repository.texts(await self._repository.objects(await self._repository.head()))
        named = [name for name in sorted(texts) if all(word in name.casefold() for word in words)]
        hits = [Hit(name, 1, "") for name in named]
        for name in sorted(texts):
            text = printable(decode(texts[name]))
            if all(word in text.casefold() for word in words):
                hits += _lines_with(name, text, words)
        return hits[: _rows(limit)]

    async def history(self, name: str, limit: int = 50) -> list[Change]:
        """Return the changes of a page, the newest first, also those before it was renamed or deleted."""
        check_page_name(name)
        changes = await self._log(BRANCH, name, limit=limit, follow=True)
        if not changes:
            raise await self._no_such_page(name)
        return changes

    async def recent_changes(self, limit: int = 50) -> list[Change]:
        """Return the changes of all pages, the newest first."""
        return await self._log(BRANCH, limit=limit)

    async def pack(self) -> None:
        """Let git pack its objects if there are many. Call it once at the start of a long-lived process."""
        await self._repository.pack()

    async def _log(self, start: str, *names: str, limit: int, follow: bool = False) -> list[Change]:
        if await self._repository.head() is None:
            return []
        options = ["--follow"] if follow else []
        paths = map(path_of, names)
        output = await self._repository.run(
            "log", LOG_FORMAT, "--name-status", *options, f"-n{_rows(limit)}", start, "--", *paths
        )
        return parse_log(output)

    async def _check_base(self, name: str, base: str, current: str | None) -> None:
        """Raise StaleRevision unless the page has the same text as at the base."""
        read = await self._repository.text(name, base)
        if read == current:
            return
        changes = await self._log(f"{base}..{BRANCH}", name, limit=10)
        latest = changes[0].revision if changes and current is not None else None
        raise StaleRevision(name, latest, changes, _diff(printable(read or ""), printable(current or "")))

    async def _check_free(self, name: str, head: str | None, instead_of: str = "") -> None:
        """Refuse a name that another page has, also in another case, which some file systems ignore."""
        for page in await self._repository.objects(head):
            if page.lower() == name.lower() and page != instead_of:
                raise UsageError(f"there is a page '{page}' already", hint="choose another name")

    async def _no_such_page(self, name: str) -> NoInputError:
        close = difflib.get_close_matches(name, await self.pages(), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "list the pages"
        return NoInputError(f"there is no page '{name}'", hint=hint)


def _check_text(text: str) -> str:
    """Return the text with plain line ends, or raise UsageError if no page may have it."""
    clean = text.replace("\r\n", "\n").replace("\r", "\n")
    if found := _HOSTILE.search(clean):
        raise UsageError(f"the text contains the control character U+{ord(found[0]):04X}")
    clean = clean.rstrip("\n") + "\n"
    if len(clean.encode()) > MAX_PAGE_BYTES:
        hint = "split the page"
        raise UsageError(f"the text is longer than {MAX_PAGE_BYTES // 1024} KiB", hint=hint)
    if not clean.strip():
        raise UsageError("the text is empty", hint="delete the page instead")
    return clean


def _lines_with(name: str, text: str, words: Sequence[str]) -> list[Hit]:
    """Return the first lines of a page that contain a word."""
    lines = enumerate(text.split("\n"), start=1)
    found = [
        Hit(name, number, line.strip())
        for number, line in lines
        if any(word in line.casefold() for word in words)
    ]
    return found[:MAX_HITS_PER_PAGE]


def _summary(given: str, default: str) -> str:
    words = _BLANKS.sub(" ", _HOSTILE.sub("", given)).strip()
    return words[:MAX_SUMMARY_CHARACTERS] or default


def _rows(limit: int) -> int:
    return max(1, min(limit, MAX_ROWS))


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "base", "now", lineterm="", n=2)
    text = "\n".join(lines)
    return text if len(text) <= MAX_DIFF_CHARACTERS else text[:MAX_DIFF_CHARACTERS] + "\n…"
