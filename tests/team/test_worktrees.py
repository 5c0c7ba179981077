"""A task's worktree is made from the team's mirror, and nothing in it is ever lost."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.project import Project, git, make_project

from culture.errors import NotAllowedError, UsageError
from culture.team.worktrees import INCOMPLETE, Overlap, Proof


async def test_a_worktree_starts_from_the_branch_that_the_person_has_checked_out(project: Project) -> None:
    worktree = await project.worktrees.add("login")

    assert (worktree.directory / "app.py").read_text() == "print('hello')\n"
    assert git(worktree.directory, "branch", "--show-current") == "task/login"
    assert git(project.repository, "branch", "--list") == "* main"


async def test_adding_a_worktree_twice_gives_the_same_one(project: Project) -> None:
    first = await project.worktrees.add("login")
    project.commit(first.directory, "login.py", "pass\n")

    assert await project.worktrees.add("login") == first
    assert (first.directory / "login.py").exists()


async def test_a_task_goes_on_with_its_branch_after_its_worktree_was_removed(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    project.commit(worktree.directory, "login.py", "pass\n")
    await project.worktrees.remove("login")
    assert not worktree.directory.exists()

    await project.worktrees.add("login")

    assert (worktree.directory / "login.py").read_text() == "pass\n"


@pytest.mark.parametrize("task", ["", "..", "a/b", "-x", "A", "a b", "a\n", "x" * 64, "ä"])
async def test_a_task_id_cannot_leave_the_directory(project: Project, task: str) -> None:
    with pytest.raises(UsageError, match="is not the id of a task"):
        await project.worktrees.add(task)


async def test_a_base_that_does_not_exist_is_refused_and_leaves_nothing(project: Project) -> None:
    with pytest.raises(UsageError, match="no branch 'nowhere'"):
        await project.worktrees.add("login", base="nowhere")

    assert project.refs("refs/heads/task/") == []
    assert await project.worktrees.listed() == []


async def test_uncommitted_and_untracked_files_survive_the_removal(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    (worktree.directory / "app.py").write_text("print('half done')\n")
    (worktree.directory / "notes.txt").write_text("to do\n")
    (worktree.directory / "build").mkdir()
    (worktree.directory / "build" / "big.o").write_text("ignored")

    await project.worktrees.remove("login")

    assert not worktree.directory.exists()
    [rescue] = project.refs("refs/rescue/login/")
    assert project.shown(f"{rescue}:app.py") == "print('half done')"
    assert project.shown(f"{rescue}:notes.txt") == "to do"
    assert git(project.mirror.directory, "log", "-1", "--format=%s", "task/login").startswith(INCOMPLETE)


async def test_a_rescue_leaves_index_and_files_alone(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    (worktree.directory / "staged.py").write_text("1\n")
    git(worktree.directory, "add", "staged.py")
    before = git(worktree.directory, "diff", "--cached", "--name-only")

    assert await project.worktrees.rescue("login") == "refs/rescue/login/1"

    assert (worktree.directory / "staged.py").read_text() == "1\n"
    assert before == "staged.py"


async def test_a_rescue_of_what_is_committed_makes_nothing(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    project.commit(worktree.directory, "login.py", "pass\n")

    assert await project.worktrees.rescue("login") is None
    assert project.refs("refs/rescue/") == []


async def test_commits_on_a_detached_head_are_rescued(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    git(worktree.directory, "checkout", "-q", "--detach")
    lost = project.commit(worktree.directory, "login.py", "pass\n")

    await project.worktrees.remove("login")

    [rescue] = project.refs("refs/rescue/login/")
    assert git(project.mirror.directory, "rev-parse", rescue) == lost


async def test_an_unfinished_merge_with_a_left_lock_is_rescued(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    git(worktree.directory, "checkout", "-qb", "other")
    project.commit(worktree.directory, "app.py", "print('theirs')\n")
    git(worktree.directory, "checkout", "-q", "task/login")
    project.commit(worktree.directory, "app.py", "print('ours')\n")
    with pytest.raises(Exception, match="merge"):
        git(worktree.directory, "merge", "other")
    (project.mirror.directory / "worktrees" / "login" / "index.lock").touch()

    await project.worktrees.remove("login")

    [rescue] = project.refs("refs/rescue/login/")
    assert "<<<<<<<" in project.shown(f"{rescue}:app.py")


async def test_a_repository_inside_a_worktree_keeps_the_worktree(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    nested = worktree.directory / "vendor"
    nested.mkdir()
    git(nested, "init", "-q")
    project.commit(nested, "only-here.txt", "unique\n")

    with pytest.raises(NotAllowedError, match="vendor"):
        await project.worktrees.remove("login")

    assert (nested / "only-here.txt").read_text() == "unique\n"
    assert await project.worktrees.reconcile(()) == []


async def test_a_forged_git_file_in_the_worktree_runs_nothing(project: Project, tmp_path: Path) -> None:
    worktree = await project.worktrees.add("login")
    evil = tmp_path / "evil"
    evil.mkdir()
    git(evil, "init", "-q")
    ran = tmp_path / "ran"
    git(evil, "config", "core.fsmonitor", f"touch {ran}; false")
    (worktree.directory / ".git").write_text(f"gitdir: {evil / '.git'}\n")
    (worktree.directory / "work.txt").write_text("kept\n")

    await project.worktrees.rescue("login")

    assert not ran.exists()
    assert project.shown("refs/rescue/login/1:work.txt") == "kept"


async def test_hooks_of_the_mirror_do_not_run(project: Project, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hook = project.mirror.directory / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)

    await project.worktrees.add("login")

    assert not ran.exists()


async def test_a_branch_is_deleted_only_with_a_proof(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    project.commit(worktree.directory, "login.py", "pass\n")
    await project.worktrees.remove("login")

    with pytest.raises(NotAllowedError, match="stays"):
        await project.worktrees.delete_branch("login")

    git(project.repository, "pull", "-q", "--no-rebase", str(project.mirror.directory), "task/login")
    await project.mirror.update()
    assert await project.worktrees.delete_branch("login") is Proof.MERGED
    assert project.refs("refs/heads/task/") == []


async def test_a_squash_merge_is_a_proof(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    project.commit(worktree.directory, "login.py", "one\n")
    project.commit(worktree.directory, "login.py", "two\n")
    await project.worktrees.remove("login")
    git(project.repository, "fetch", "-q", str(project.mirror.directory), "task/login")
    git(project.repository, "merge", "-q", "--squash", "FETCH_HEAD")
    git(project.repository, "commit", "-qm", "login")
    project.commit(project.repository, "other.py", "later\n")
    await project.mirror.update()

    assert await project.worktrees.proof("login") is Proof.SQUASHED


async def test_a_pushed_branch_is_a_proof(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    project.commit(worktree.directory, "login.py", "pass\n")
    assert await project.worktrees.proof("login") is None

    await project.worktrees.push("login")

    assert await project.worktrees.proof("login") is Proof.PUSHED
    assert "task/login" in git(project.repository, "branch", "--list")


async def test_a_rescued_branch_is_a_proof(project: Project) -> None:
    worktree = await project.worktrees.add("login")
    (worktree.directory / "notes.txt").write_text("to do\n")
    await project.worktrees.remove("login")

    assert await project.worktrees.delete_branch("login") is Proof.RESCUED
    assert project.shown("refs/rescue/login/1:notes.txt") == "to do"


async def test_orphans_are_rescued_at_the_start_and_active_tasks_stay(project: Project) -> None:
    for task in ("active", "orphan", "gone"):
        worktree = await project.worktrees.add(task)
        (worktree.directory / "work.txt").write_text(f"{task}\n")
    gone = project.worktrees.of("gone").directory
    gone.rename(gone.with_name("moved-away"))

    removed = await project.worktrees.reconcile({"active"})

    assert "orphan" in removed
    assert [each.task for each in await project.worktrees.listed()] == ["active"]
    assert project.shown("refs/rescue/orphan/1:work.txt") == "orphan"


async def test_tasks_that_change_the_same_lines_overlap(project: Project) -> None:
    for task, text in (("one", "print('one')\n"), ("two", "print('two')\n")):
        project.commit((await project.worktrees.add(task)).directory, "app.py", text)
    project.commit((await project.worktrees.add("three")).directory, "three.py", "pass\n")

    assert await project.worktrees.overlaps(["one", "two", "three", "unknown"]) == [
        Overlap(("one", "two"), ("app.py",))
    ]


NAMES = st.sampled_from(["a.txt", "b.txt", "dir/c.txt", "app.py", "weird name\twith\ttabs", "-dash", "ünï"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "delete", "stage", "commit", "rescue"]), NAMES, st.text(max_size=20)),
    max_size=8,
)


@given(steps=STEPS)
@settings(max_examples=12)
def test_whatever_an_agent_did_is_in_the_mirror_after_the_removal(
    steps: list[tuple[str, str, str]],
) -> None:
    async def play(home: Path) -> None:
        project = await make_project(home)
        worktree = await project.worktrees.add("task")
        root = worktree.directory
        for step, name, text in steps:
            path = root / name
            match step:
                case "write":
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(text)
                case "delete":
                    path.unlink(missing_ok=True)
                case "stage":
                    git(root, "add", "--all")
                case "commit":
                    git(root, "commit", "-q", "--allow-empty", "-am", "step")
                case "rescue":
                    await project.worktrees.rescue("task")
        expected = {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and path.name != ".git"
        }
        await project.worktrees.remove("task")
        restored = home / "restored"
        git(home, "clone", "-q", "--branch", "task/task", str(project.mirror.directory), str(restored))
        found = {
            str(path.relative_to(restored)): path.read_bytes()
            for path in restored.rglob("*")
            if path.is_file() and ".git" not in path.parts
        }
        assert found == expected

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(play(Path(directory)))
