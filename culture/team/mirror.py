"""The bare mirror of a project's repository, which a team owns and makes its worktrees from.

Agents never write into a person's repository: hooks and configuration that they could leave there would run
as the person. People get results by `git fetch` from the mirror.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from culture.errors import UnavailableError, UsageError
from culture.git import Git, GitError

SOURCE: Final = "refs/remotes/origin/"
_SETTINGS: Final = {
    "core.hooksPath": "/dev/null",
    # Agents work in the worktrees while a garbage collection would run.
    "gc.auto": "0",
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
    # Nobody writes to the source but by `push`, which names what it pushes.
    "push.default": "nothing",
}


class Mirror:
    """A bare repository with a copy of every branch of the source, and the branches of the team's tasks."""

    def __init__(self, directory: Path, source: str) -> None:
        """`source` is the path or the URL of the project's repository."""
        if source.startswith("-"):
            raise UsageError(f"'{source}' is not the path or URL of a repository")
        self.directory = directory
        self.source = source
        self._git = Git(directory)
        # The source may belong to another user, which git refuses without this; only files can allow it.
        self._safe = directory.with_name(f"{directory.name}.gitconfig")

    async def update(self) -> None:
        """Make the mirror if there is none, and fetch the branches of the source."""
        if not (self.directory / "HEAD").exists():
            await self._make()
        await self._git.run("config", "remote.origin.url", self.source)
        await self._git.run("fetch", "--quiet", "--prune", "--no-tags", "origin", env=self.trusting)

    async def _make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._safe.write_text("[safe]\n\tdirectory = *\n")
        await self._git.run("init", "--quiet", "--bare", str(self.directory))
        for key, value in _SETTINGS.items():
            await self._git.run("config", key, value)

    @property
    def trusting(self) -> Mapping[str, str]:
        """Return the environment in which git reads repositories and worktrees of other users."""
        return {"GIT_CONFIG_GLOBAL": str(self._safe)}

    async def default_branch(self) -> str:
        """Return the name of the branch that the source has checked out, such as main."""
        listed = await self._git.run("ls-remote", "--symref", "origin", "HEAD", env=self.trusting)
        for line in listed.decode().splitlines():
            if line.startswith("ref: refs/heads/"):
                return line.removeprefix("ref: refs/heads/").partition("\t")[0]
        raise UnavailableError(
            f"'{self.source}' has no branch checked out", hint=f"git -C {self.source} commit, then try again"
        )

    async def commit_of(self, name: str) -> str | None:
        """Return the commit that a ref or a revision names, or None if there is none."""
        try:
            return await self._git.line(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            )
        except GitError:
            return None

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether all of one commit is in another."""
        try:
            await self._git.run("merge-base", "--is-ancestor", older, newer)
        except GitError as error:
            if error.status != 1:
                raise
            return False
        return True

    async def merge(self, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
        """Return the tree that a merge would give, and the paths in which the two sides conflict."""
        try:
            output = await self._git.run(
                "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs
            )
        except GitError as error:
            if error.status != 1:
                raise
            output = error.output
        tree, *paths = output.decode(errors="replace").split("\0")
        return tree, tuple(path for path in paths if path)

    async def run(self, command: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """Return the output of a git command that reads or changes the mirror."""
        output = await self._git.run(command, *arguments, env={**self.trusting, **(env or {})})
        return output.decode(errors="replace").strip()
