"""Worktrees of a team's tasks: made before an agent starts, and never removed before their content is safe.

Everything in a worktree that is not committed, untracked files included, is committed to a rescue ref before
anything is removed. Files that the project itself ignores are not rescued.
"""

import re
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Final

from culture.errors import NotAllowedError, UsageError
from culture.git import GitError
from culture.team.mirror import SOURCE, Mirror

INCOMPLETE: Final = "[INCOMPLETE]"
RESCUE: Final = "refs/rescue/"
_TASK: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
# What an entry of the index is if it stands for another repository.
_GITLINK: Final = "160000"


class Proof(StrEnum):
    """Why a task's branch can be deleted without losing anything."""

    MERGED = "merged"
    SQUASHED = "merged as one commit"
    PUSHED = "pushed"
    RESCUED = "rescued"


@dataclass(frozen=True, slots=True)
class Worktree:
    """The directory and the branch of one task."""

    task: str
    directory: Path

    @property
    def branch(self) -> str:
        """Return the branch of the task."""
        return f"task/{self.task}"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two tasks that changed the same places."""

    tasks: tuple[str, str]
    paths: tuple[str, ...]


class Worktrees:
    """The worktrees of one team, below one directory."""

    def __init__(self, mirror: Mirror, directory: Path, *, author: str, new_id: Callable[[], str]) -> None:
        """`author` (`Name <address>`) makes rescue commits. `new_id` returns a name for a rescue ref."""
        self._mirror = mirror
        self._directory = directory
        self._author = author
        self._new_id = new_id

    def of(self, task: str) -> Worktree:
        """Return the worktree of a task, whether it exists or not."""
        if not _TASK.fullmatch(task):
            raise UsageError(f"'{task}' is not the id of a task: use a-z, 0-9 and '-'")
        return Worktree(task, self._directory / task)

    async def add(self, task: str, base: str = "") -> Worktree:
        """Make the worktree and the branch of a task; return it as it is if it is there.

        `base` is a branch of the source, by default the one that is checked out there.
        """
        worktree = self.of(task)
        if await self._is_registered(worktree):
            return worktree
        self._directory.mkdir(parents=True, exist_ok=True)
        await self._mirror.run("worktree", "prune")
        if await self._mirror.commit_of(f"refs/heads/{worktree.branch}"):
            # A task that goes on after its worktree was removed.
            await self._mirror.run("worktree", "add", "--quiet", str(worktree.directory), worktree.branch)
            return worktree
        start = SOURCE + (base or await self._mirror.default_branch())
        if await self._mirror.commit_of(start) is None:
            raise UsageError(f"the repository has no branch '{base}'", hint="git branch lists its branches")
        await self._mirror.run(
            "worktree", "add", "--quiet", "--no-track", "-b", worktree.branch, str(worktree.directory), start
        )
        return worktree

    async def rescue(self, task: str) -> str | None:
        """Commit what is not committed in a worktree and return its rescue ref; None if all was committed.

        The index and the files of the worktree stay as they are, also in the middle of a merge.
        """
        worktree = self.of(task)
        if not await self._is_registered(worktree) or not worktree.directory.is_dir():
            return None
        head = await self._head(worktree)
        tree = await self._tree_of_files(worktree, head)
        tip = await self._mirror.commit_of(f"refs/heads/{worktree.branch}")
        is_clean = tree == await self._mirror.run("rev-parse", f"{head}^{{tree}}")
        if is_clean and head == tip:
            return None
        commit = head if is_clean else await self._commit(worktree, tree, head)
        ref = f"{RESCUE}{task}/{self._new_id()}"
        await self._mirror.run("update-ref", ref, commit, "")
        if tip == head:
            # The branch is what people look at; it only ever moves forward here.
            await self._mirror.run("update-ref", f"refs/heads/{worktree.branch}", commit, head)
        return ref

    async def remove(self, task: str) -> None:
        """Remove the directory of a task after everything in it is committed. Its branch stays.

        Raises NotAllowedError if something in it cannot be saved.
        """
        worktree = self.of(task)
        if not await self._is_registered(worktree):
            return
        await self.rescue(task)
        nested = await self._nested_repositories(worktree)
        if nested:
            raise NotAllowedError(
                f"'{worktree.directory}' contains repositories that git cannot save: {', '.join(nested)}",
                hint=f"move or delete them, then: culturectl tasks rescue {task}",
            )
        # Twice: git itself refuses once to remove what was locked.
        await self._mirror.run("worktree", "remove", "--force", "--force", str(worktree.directory))

    async def proof(self, task: str) -> Proof | None:
        """Return why the branch of a task can be deleted, or None if it must stay."""
        branch = f"refs/heads/{self.of(task).branch}"
        tip = await self._mirror.commit_of(branch)
        if tip is None:
            return None
        main = await self._mirror.commit_of(SOURCE + await self._mirror.default_branch())
        if main is not None and await self._mirror.is_ancestor(tip, main):
            return Proof.MERGED
        if main is not None and await self._adds_nothing(tip, main):
            return Proof.SQUASHED
        if await self._mirror.commit_of(f"{SOURCE}{self.of(task).branch}") == tip:
            return Proof.PUSHED
        listed = await self._mirror.run(
            "for-each-ref", "--contains", tip, "--format=%(refname)", f"{RESCUE}{task}/"
        )
        return Proof.RESCUED if listed else None

    async def delete_branch(self, task: str) -> Proof:
        """Delete the branch of a task whose worktree is removed. Raise NotAllowedError without a proof."""
        worktree = self.of(task)
        proof = await self.proof(task)
        if proof is None or await self._is_registered(worktree):
            raise NotAllowedError(
                f"the branch '{worktree.branch}' stays: it is in use, or not merged, pushed or rescued",
                hint=f"culturectl tasks rescue {task}",
            )
        await self._mirror.run("update-ref", "-d", f"refs/heads/{worktree.branch}")
        return proof

    async def push(self, task: str) -> None:
        """Push the branch of a task to the source."""
        branch = f"refs/heads/{self.of(task).branch}"
        await self._mirror.run("push", "--quiet", "origin", f"{branch}:{branch}")
        await self._mirror.update()

    async def listed(self) -> list[Worktree]:
        """Return the worktrees that the mirror knows, also those whose directories are gone."""
        lines = (await self._mirror.run("worktree", "list", "--porcelain")).splitlines()
        paths = [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]
        own = self._directory.resolve()
        return [
            Worktree(path.name, self._directory / path.name) for path in paths if path.parent.resolve() == own
        ]

    async def reconcile(self, active: Collection[str]) -> list[str]:
        """Rescue and remove the worktrees of tasks that are not active; return the tasks.

        A worktree that cannot be saved stays where it is and is not returned.
        """
        removed = []
        for worktree in await self.listed():
            if worktree.task in active:
                continue
            try:
                await self.remove(worktree.task)
            except (NotAllowedError, GitError):
                continue
            removed.append(worktree.task)
        await self._mirror.run("worktree", "prune")
        return removed

    async def overlaps(self, tasks: Collection[str]) -> list[Overlap]:
        """Return the pairs of tasks whose branches conflict with each other."""
        branches = {task: f"refs/heads/{self.of(task).branch}" for task in sorted(tasks)}
        there = {task: ref for task, ref in branches.items() if await self._mirror.commit_of(ref)}
        found = []
        for one, other in combinations(there, 2):
            _, paths = await self._mirror.merge(there[one], there[other])
            if paths:
                found.append(Overlap((one, other), tuple(sorted(set(paths)))))
        return found

    async def _is_registered(self, worktree: Worktree) -> bool:
        return worktree in await self.listed()

    def _environment(self, worktree: Worktree) -> Mapping[str, str]:
        """Return what makes git use the mirror's own record of a worktree.

        The `.git` file in the worktree is the agent's to write, and may name a repository of its own.
        """
        record = self._mirror.directory / "worktrees" / worktree.task
        return {"GIT_DIR": str(record), "GIT_WORK_TREE": str(worktree.directory)}

    async def _head(self, worktree: Worktree) -> str:
        return await self._mirror.run("rev-parse", "--verify", "HEAD", env=self._environment(worktree))

    async def _tree_of_files(self, worktree: Worktree, head: str) -> str:
        """Return the tree of the files as they are, by an index of our own."""
        with tempfile.TemporaryDirectory(prefix="culture-rescue-") as directory:
            env = {**self._environment(worktree), "GIT_INDEX_FILE": str(Path(directory, "index"))}
            await self._mirror.run("read-tree", head, env=env)
            await self._mirror.run("add", "--all", "--", str(worktree.directory), env=env)
            return await self._mirror.run("write-tree", env=env)

    async def _commit(self, worktree: Worktree, tree: str, head: str) -> str:
        name, _, address = self._author.partition(" <")
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", name), ("EMAIL", address.rstrip(">")))
        }
        message = f"{INCOMPLETE} what was not committed of task {worktree.task}"
        return await self._mirror.run("commit-tree", tree, "-p", head, "-m", message, env=who)

    async def _nested_repositories(self, worktree: Worktree) -> list[str]:
        """Return the repositories inside a worktree whose content no commit of the mirror has."""
        if not worktree.directory.is_dir():
            return []
        tree = await self._tree_of_files(worktree, await self._head(worktree))
        rows = (await self._mirror.run("ls-tree", "-r", "-z", tree)).split("\0")
        links = [row.partition("\t")[2] for row in rows if row.startswith(_GITLINK)]
        return [link for link in links if (worktree.directory / link / ".git").exists()]

    async def _adds_nothing(self, tip: str, main: str) -> bool:
        """Return whether a merge would change nothing, as after a squash merge."""
        try:
            tree, conflicts = await self._mirror.merge(main, tip)
        except GitError:
            return False
        return not conflicts and tree == await self._mirror.run("rev-parse", f"{main}^{{tree}}")
