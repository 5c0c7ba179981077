"""The wiki's bare git repository: read pages at a commit, and commit changes by compare-and-swap.

There is no working tree. A change writes new objects first and moves the branch last, in one step, so a crash
or a full disk leaves the previous state. If another process has moved the branch, the change is made again.
"""

import asyncio
import contextlib
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from culture.errors import NoInputError, TemporaryError, UnavailableError, UsageError
from culture.git import Git, GitError
from culture.wiki.page_names import name_of, path_of

BRANCH: Final = "refs/heads/main"
# Each attempt fails only if another writer succeeded.
MAX_ATTEMPTS: Final = 50
# A git process holds the lock of a branch for milliseconds. One that was killed never removes it.
STALE_LOCK_S: Final = 10.0
LOCK_WAIT_S: Final = 20.0
CREATION_WAIT_S: Final = 5.0
_LOCK_POLL_S: Final = 0.05

# What `git init --bare --template=` creates, `objects` last.
_INITIAL_ENTRIES: Final = {"HEAD", "config", "objects", "refs"}
_LOCKS: Final = {"HEAD.lock", "config.lock", "branches"}
_FILE_MODES: Final = ("100644", "100755")
_REVISION: Final = re.compile(r"[0-9a-f]{7,40}")
# Git removes other characters at the ends of a name, and refuses a name that has nothing else.
_AUTHOR: Final = re.compile(r"(?=.*[A-Za-z0-9])[^<>\x00-\x20\x7f-\x9f]{1,64}")
_COMMITTER: Final = {"GIT_COMMITTER_NAME": "Culture wiki", "GIT_COMMITTER_EMAIL": "wiki@culture"}


@dataclass(frozen=True, slots=True)
class Edit:
    """What a commit changes: the new text of each page, or None for a page that is removed."""

    summary: str
    pages: Mapping[str, str | None]


# Returns what to change at a commit (None: the wiki is empty). It is called again if the branch has moved.
Prepare = Callable[[str | None], Awaitable[Edit]]


class Repository:
    """Reads and commits pages."""

    def __init__(self, git: Git) -> None:
        self._git = git
        # Writers in this process take turns, so that they do not repeat each other's work.
        self._lock = asyncio.Lock()

    @staticmethod
    async def open(directory: Path) -> "Repository":
        """Open the repository, and create it if the directory is missing or empty."""
        git = Git(directory)
        branch = BRANCH.removeprefix("refs/heads/")
        deadline = time.monotonic() + CREATION_WAIT_S
        while _is_uninitialised(directory):
            try:
                await git.run("init", "--quiet", "--bare", "--template=", f"--initial-branch={branch}")
            except GitError:
                # Another process may be creating it at the same time.
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(_LOCK_POLL_S)
        return Repository(git)

    async def pack(self) -> None:
        """Let git pack its objects if there are many."""
        await self._git.run("gc", "--auto", "--quiet")

    async def head(self) -> str | None:
        """Return the newest commit, or None if the wiki is empty."""
        with contextlib.suppress(GitError):
            return await self._git.line("rev-parse", "--verify", "--quiet", BRANCH)
        return None

    async def resolve(self, revision: str) -> str:
        """Return the commit of a revision that a person or an agent named."""
        head = await self.head()
        if head is not None and _REVISION.fullmatch(revision):
            with contextlib.suppress(GitError):
                commit = await self._git.line("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
                await self._git.run("merge-base", "--is-ancestor", commit, head)
                return commit
        raise NoInputError(f"there is no revision {revision[:50]!r}", hint="ask for the history of the page")

    async def objects(self, commit: str | None, *names: str) -> dict[str, str]:
        """Return the object id of each page, or only of the named pages, at a commit."""
        if commit is None:
            return {}
        listed = await self._git.run("ls-tree", "-r", "-z", commit, "--", *map(path_of, names))
        found = {}
        for entry in listed.decode(errors="replace").split("\0")[:-1]:
            attributes, _, path = entry.partition("\t")
            mode, kind, object_id = attributes.split(" ")
            name = name_of(path)
            # A person may have pushed symbolic links or other files; those are not pages.
            if name is not None and kind == "blob" and mode in _FILE_MODES:
                found[name] = object_id
        return found

    async def texts(self, object_ids: Mapping[str, str]) -> dict[str, bytes]:
        """Return the content of each page."""
        wanted = "".join(f"{object_id}\n" for object_id in object_ids.values()).encode()
        output = await self._git.run("cat-file", "--batch", stdin=wanted) if wanted else b""
        texts, at = {}, 0
        for name in object_ids:
            header_end = output.index(b"\n", at)
            size = int(output[at:header_end].split(b" ")[2])
            texts[name] = output[header_end + 1 : header_end + 1 + size]
            at = header_end + size + 2
        return texts

    async def text(self, name: str, commit: str | None) -> str | None:
        """Return the text of a page at a commit, or None if it is not there."""
        contents = await self.texts(await self.objects(commit, name))
        return decode(contents[name]) if name in contents else None

    async def run(self, command: str, *arguments: str) -> str:
        """Return the output of a git command that only reads."""
        return (await self._git.run(command, *arguments)).decode(errors="replace")

    async def commit(self, author: str, prepare: Prepare) -> str:
        """Commit a change and return the new commit; an edit that changes nothing returns the old one."""
        identity = _identity(author)
        async with self._lock:
            for _ in range(MAX_ATTEMPTS):
                head = await self.head()
                edit = await prepare(head)
                tree = await self._write_tree(head, edit.pages)
                if head is not None and tree == await self._git.line("rev-parse", f"{head}^{{tree}}"):
                    return head
                parent = ["-p", head] if head is not None else []
                commit = await self._git.line(
                    "commit-tree", tree, *parent, stdin=f"{edit.summary}\n".encode(), env=identity
                )
                if await self._move_branch(commit, head):
                    return commit
        raise TemporaryError("too many others are writing to the wiki", hint="try again in a few seconds")

    async def _write_tree(self, head: str | None, pages: Mapping[str, str | None]) -> str:
        entries = []
        for name, text in pages.items():
            mode, object_id = "0", "0" * 40
            if text is not None:
                mode = _FILE_MODES[0]
                object_id = await self._git.line("hash-object", "-w", "--stdin", stdin=encode(text))
            entries.append(f"{mode} {object_id}\t{path_of(name)}\0")
        with tempfile.TemporaryDirectory(prefix="culture-wiki-") as directory:
            index = {"GIT_INDEX_FILE": f"{directory}/index"}
            if head is not None:
                await self._git.run("read-tree", head, env=index)
            await self._git.run(
                "update-index", "-z", "--index-info", stdin="".join(entries).encode(), env=index
            )
            return await self._git.line("write-tree", env=index)

    async def _move_branch(self, commit: str, head: str | None) -> bool:
        """Let the branch point to the commit, and return False if it has moved since `head`."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                await self._git.run("update-ref", BRANCH, commit, head or "0" * 40)
            except GitError:
                if await self.head() != head:
                    return False
                if not self._lock_exists() or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(_LOCK_POLL_S)
            else:
                return True

    def _lock_exists(self) -> bool:
        """Return whether the branch was locked, and remove the lock if its git process was killed."""
        lock = self._git.directory / f"{BRANCH}.lock"
        with contextlib.suppress(FileNotFoundError):
            if time.time() - lock.stat().st_mtime > STALE_LOCK_S:
                lock.unlink()
            return True
        return False


def _is_uninitialised(directory: Path) -> bool:
    """Return whether git has to create the repository, or to finish what an earlier process began."""
    try:
        entries = {path.name for path in directory.iterdir()} if directory.exists() else set()
    except OSError as error:
        raise UnavailableError(f"cannot open the wiki in '{directory}': {error.strerror}") from None
    if entries >= _INITIAL_ENTRIES:
        return False
    if not entries <= _INITIAL_ENTRIES | _LOCKS:
        hint = "name another directory, or an empty one"
        raise UnavailableError(f"'{directory}' is not a bare git repository", hint=hint)
    return True


def decode(content: bytes) -> str:
    """Decode a page so that `encode` returns the same bytes, even if they are not UTF-8."""
    return content.decode(errors="surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes of a text that `decode` returned or that a writer gave."""
    return text.encode(errors="surrogateescape")


def printable(text: str) -> str:
    """Return a decoded page with replacement characters for bytes that are not UTF-8."""
    return encode(text).decode(errors="replace")


def _identity(author: str) -> dict[str, str]:
    if not _AUTHOR.fullmatch(author):
        raise UsageError(f"{author[:64]!r} cannot be the author of a change")
    mailbox = re.sub(r"[^A-Za-z0-9-]", "-", author).strip("-")
    return {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": f"{mailbox}@culture", **_COMMITTER}
