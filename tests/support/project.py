"""A project's repository with one commit, and the worktrees of a team that works on it."""

import itertools
import subprocess
from dataclasses import dataclass
from pathlib import Path

from culture.team.mirror import Mirror
from culture.team.worktrees import Worktrees


def git(directory: Path, *arguments: str) -> str:
    """Run git as a person or an agent would in this directory."""
    who = ["-c", "user.name=Ori", "-c", "user.email=ori@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@dataclass(frozen=True)
class Project:
    """The repository of a person, the mirror of the team, and its worktrees."""

    repository: Path
    mirror: Mirror
    worktrees: Worktrees

    def commit(self, directory: Path, name: str, text: str) -> str:
        """Write a file, commit it and return the commit."""
        (directory / name).write_text(text)
        git(directory, "add", name)
        git(directory, "commit", "-qm", f"change {name}")
        return git(directory, "rev-parse", "HEAD")

    def shown(self, what: str) -> str:
        """Return what the mirror has under a name such as `task/a:file`."""
        return git(self.mirror.directory, "show", what)

    def refs(self, pattern: str) -> list[str]:
        """Return the refs of the mirror that begin like this."""
        return git(self.mirror.directory, "for-each-ref", "--format=%(refname)", pattern).split()


async def make_project(home: Path) -> Project:
    """Make a repository with one commit, and a mirror of it."""
    repository = home / "app"
    repository.mkdir()
    git(repository, "init", "-q")
    mirror = Mirror(home / "team" / "repo.git", str(repository))
    numbers = itertools.count(1)
    worktrees = Worktrees(
        mirror,
        home / "worktrees",
        author="culture-team app <culture-team@spark>",
        new_id=lambda: str(next(numbers)),
    )
    made = Project(repository, mirror, worktrees)
    (repository / ".gitignore").write_text("build/\n")
    git(repository, "add", ".gitignore")
    made.commit(repository, "app.py", "print('hello')\n")
    await mirror.update()
    return made
