"""Pages are read, written, edited, searched, renamed and deleted; each change is a commit of its author."""

import os
import subprocess
from pathlib import Path

import pytest

from culture.errors import CultureError, NoInputError, UnavailableError, UsageError
from culture.wiki.wiki import MAX_PAGE_BYTES, StaleRevision, Wiki

PLAN = "# Plan\n\nDelete old logs.\n\n## Risks\n\nNone.\n\n### Big ones\n\nNo.\n\n## Tests\n\nBy hand.\n"


def git(place: Path, *arguments: str, stdin: str = "") -> str:
    env = {**os.environ, "GIT_DIR": str(place), "GIT_CONFIG_GLOBAL": "/dev/null"}
    person = {"GIT_AUTHOR_NAME": "ori", "GIT_AUTHOR_EMAIL": "o@spark"}
    person |= {"GIT_COMMITTER_NAME": "ori", "GIT_COMMITTER_EMAIL": "o@spark"}
    done = subprocess.run(
        ["git", *arguments], env=env | person, input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def read_blob(place: Path, name: str) -> bytes:
    return subprocess.run(
        ["git", "-C", place, "cat-file", "blob", name], capture_output=True, check=True
    ).stdout


async def test_a_page_is_read_as_it_was_written_with_its_author_and_revision(wiki: Wiki):
    revision = await wiki.write("plans/disk", PLAN, "spark-harper", summary="Plan the cleanup")

    page = await wiki.read("plans/disk")
    assert (page.text, page.author, page.revision) == (PLAN, "spark-harper", revision)


async def test_a_section_is_read_with_its_subsections(wiki: Wiki):
    await wiki.write("plans/disk", PLAN, "harper")

    page = await wiki.read("plans/disk", section="risks")

    assert page.text == "## Risks\n\nNone.\n\n### Big ones\n\nNo.\n\n"
    with pytest.raises(NoInputError, match="no section 'Costs'") as caught:
        await wiki.read("plans/disk", section="Costs")
    assert caught.value.hint == "its sections: Plan, Risks, Big ones, Tests"


async def test_a_heading_inside_of_code_is_no_section(wiki: Wiki):
    await wiki.write("notes", "# Notes\n```sh\n# Status\n```\n# Status\nfine\n", "harper")

    assert (await wiki.read("notes", section="Status")).text == "# Status\nfine\n"


async def test_an_old_revision_can_be_read(wiki: Wiki):
    first = await wiki.write("sprint", "one", "harper")
    second = await wiki.write("sprint", "two", "jules", base=first)

    assert (await wiki.read("sprint", revision=first[:8])).text == "one\n"
    assert (await wiki.read("sprint")).revision == second


@pytest.mark.parametrize("revision", ["HEAD", "main", "--help", "0" * 40, "abc", "main:sprint.md"])
async def test_a_revision_that_is_none_is_refused(wiki: Wiki, revision: str):
    await wiki.write("sprint", "one", "harper")

    with pytest.raises(NoInputError, match="no revision"):
        await wiki.read("sprint", revision=revision)


async def test_a_stale_write_is_refused_with_what_changed(wiki: Wiki):
    base = await wiki.write("sprint", "- disk: open\n- tls: open\n", "em")
    newer = await wiki.write("sprint", "- disk: done\n- tls: open\n", "jules", base=base)

    with pytest.raises(StaleRevision, match="'sprint' has changed since then") as caught:
        await wiki.write("sprint", "- disk: open\n- tls: done\n", "harper", base=base)

    assert caught.value.current == newer
    assert [change.author for change in caught.value.changes] == ["jules"]
    assert "-- disk: open\n+- disk: done" in caught.value.diff
    assert caught.value.hint == f"read the page again and base the change on {newer[:10]}"
    assert (await wiki.read("sprint")).text == "- disk: done\n- tls: open\n"


async def test_a_page_that_was_deleted_meanwhile_is_not_brought_back(wiki: Wiki):
    base = await wiki.write("sprint", "one", "em")
    await wiki.delete("sprint", "jules", base=base)

    with pytest.raises(StaleRevision, match="'sprint' was deleted since then"):
        await wiki.write("sprint", "two", "harper", base=base)


async def test_changes_of_other_pages_make_no_revision_stale(wiki: Wiki):
    base = await wiki.write("sprint", "one", "em")
    await wiki.write("plans/disk", PLAN, "harper")

    await wiki.write("sprint", "two", "em", base=base)
    assert (await wiki.read("sprint")).text == "two\n"


async def test_an_existing_page_is_not_overwritten_by_who_has_not_read_it(wiki: Wiki):
    await wiki.write("sprint", "one", "em")

    with pytest.raises(UsageError, match="exists already") as caught:
        await wiki.write("sprint", "two", "harper")
    assert caught.value.hint is not None
    assert "write with base" in caught.value.hint


async def test_writing_the_same_again_is_no_change(wiki: Wiki):
    await wiki.write("sprint", "one", "em")
    await wiki.write("sprint", "one\n", "em")

    assert len(await wiki.recent_changes()) == 1


async def test_an_edit_replaces_what_occurs_exactly_once(wiki: Wiki):
    await wiki.write("sprint", "- disk: open\n- tls: open\n", "em")

    await wiki.edit("sprint", "disk: open", "disk: done", "jules")

    assert (await wiki.read("sprint")).text == "- disk: done\n- tls: open\n"
    for old, what in [("open: disk", "does not occur"), (": ", "occurs 2 times"), ("", "does not occur")]:
        with pytest.raises(UsageError, match=what):
            await wiki.edit("sprint", old, "x", "jules")


async def test_an_edit_may_be_based_on_a_revision_too(wiki: Wiki):
    base = await wiki.write("sprint", "a b", "em")
    await wiki.edit("sprint", "a", "A", "jules")

    with pytest.raises(StaleRevision):
        await wiki.edit("sprint", "b", "B", "harper", base=base)


async def test_history_and_recent_changes_tell_who_did_what_the_newest_first(wiki: Wiki):
    base = await wiki.write("plans/disk", PLAN, "harper", summary="Plan\nthe  cleanup")
    await wiki.write("sprint", "one", "em")
    await wiki.edit("plans/disk", "By hand", "By script", "jules", base=base)
    await wiki.rename("plans/disk", "plans/disk-cleanup", "em")

    recent = await wiki.recent_changes(limit=2)
    assert [(change.author, change.summary) for change in recent] == [
        ("em", "Rename plans/disk to plans/disk-cleanup"),
        ("jules", "Edit plans/disk"),
    ]
    assert recent[0].pages == ("plans/disk", "plans/disk-cleanup")
    history = await wiki.history("plans/disk-cleanup")
    assert [change.author for change in history] == ["em", "jules", "harper"]
    assert history[-1].summary == "Plan the cleanup"


async def test_a_deleted_page_keeps_its_history(wiki: Wiki):
    base = await wiki.write("sprint", "one", "em")
    await wiki.delete("sprint", "jules", base=base, summary="Over")

    assert await wiki.pages() == []
    assert [change.summary for change in await wiki.history("sprint")] == ["Over", "Write sprint"]
    assert (await wiki.read("sprint", revision=base)).text == "one\n"
    with pytest.raises(NoInputError, match="no page 'sprint'"):
        await wiki.delete("sprint", "jules", base=base)


async def test_pages_are_listed_by_prefix(wiki: Wiki):
    for name in ("sprint", "plans/b", "plans/a"):
        await wiki.write(name, "text", "em")

    assert await wiki.pages() == ["plans/a", "plans/b", "sprint"]
    assert await wiki.pages("plans/") == ["plans/a", "plans/b"]


async def test_a_search_finds_pages_with_all_words(wiki: Wiki):
    await wiki.write("plans/disk", "# Plan\nDelete old logs.\nKeep the journal.\n", "em")
    await wiki.write("plans/tls", "# Plan\nRenew.\n", "em")

    hits = await wiki.search("JOURNAL plan")
    assert {(hit.page, hit.line_number) for hit in hits} == {("plans/disk", 1), ("plans/disk", 3)}
    assert [hit.page for hit in await wiki.search("tls")] == ["plans/tls"]
    assert await wiki.search("-e x --open-files-in-pager=touch") == []
    for query in ("", "  ", "a\0b", "x" * 1000):
        with pytest.raises(UsageError):
            await wiki.search(query)


async def test_an_empty_wiki_has_nothing(wiki: Wiki):
    assert (await wiki.pages(), await wiki.search("x"), await wiki.recent_changes()) == ([], [], [])
    with pytest.raises(NoInputError):
        await wiki.read("sprint")
    with pytest.raises(NoInputError):
        await wiki.history("sprint")


async def test_a_mistyped_name_is_told_what_was_probably_meant(wiki: Wiki):
    await wiki.write("sprint", "one", "em")

    with pytest.raises(NoInputError) as caught:
        await wiki.read("sprnt")
    assert caught.value.hint == "did you mean sprint?"


HOSTILE = [
    "",
    ".",
    "..",
    "../x",
    "a/../b",
    "/etc/passwd",
    "a//b",
    "a/",
    ".git/config",
    "a.git/x",
    "a\nb",
    "a\0b",
]
HOSTILE += ["-x", "--help", "a b", "a\\b", "ä", "a.md", "a.md/b", "x.lock", ":(top)x", "a*", "x/" * 6 + "x"]
HOSTILE += ["x" * 201, "a:b", "~x", "a@{1}", "a\u202eb", "HEAD^"]


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_is_refused_by_every_operation(wiki: Wiki, name: str):
    base = await wiki.write("sprint", "one", "em")
    attempts = [
        lambda: wiki.read(name),
        lambda: wiki.write(name, "x", "em"),
        lambda: wiki.edit(name, "a", "b", "em"),
        lambda: wiki.delete(name, "em", base=base),
        lambda: wiki.history(name),
        lambda: wiki.rename(name, "fine", "em"),
        lambda: wiki.rename("sprint", name, "em"),
    ]
    for attempt in attempts:
        with pytest.raises(UsageError, match="is not the name of a page"):
            await attempt()
    assert len(await wiki.recent_changes()) == 1


@pytest.mark.parametrize(
    "text", ["a\0b", "a\x1b[2Jb", "\x85", "\ud800", "", "\n\n", "x" * (MAX_PAGE_BYTES + 1)]
)
async def test_a_text_that_no_page_may_have_is_refused(wiki: Wiki, text: str):
    with pytest.raises(UsageError):
        await wiki.write("sprint", text, "em")
    assert await wiki.pages() == []


@pytest.mark.parametrize("author", ["", "a\nb", "a <b@c>", "...", "x" * 65, "\0"])
async def test_a_hostile_author_is_refused(wiki: Wiki, author: str):
    with pytest.raises(UsageError, match="author"):
        await wiki.write("sprint", "one", author)


async def test_names_that_differ_only_in_case_are_refused(wiki: Wiki):
    await wiki.write("sprint", "one", "em")
    await wiki.write("plan", "one", "em")

    for attempt in (wiki.write("Sprint", "two", "em"), wiki.rename("plan", "SPRINT", "em")):
        with pytest.raises(UsageError, match="there is a page 'sprint' already"):
            await attempt
    await wiki.rename("sprint", "Sprint", "em")
    assert await wiki.pages() == ["Sprint", "plan"]


async def test_what_a_person_pushed_besides_pages_is_never_followed(wiki: Wiki, tmp_path: Path):
    """A symbolic link in the repository would otherwise be a way out of it."""
    await wiki.write("sprint", "one", "em")
    place = tmp_path / "wiki.git"
    link = git(place, "hash-object", "-w", "--stdin", stdin="/etc/passwd")
    page = git(place, "hash-object", "-w", "--stdin", stdin="hello")
    tree = git(place, "mktree", stdin=f"120000 blob {link}\tsecret.md\n100644 blob {page}\thello.md\n")
    git(place, "update-ref", "refs/heads/main", git(place, "commit-tree", tree, "-p", "main", stdin="push"))

    assert await wiki.pages() == ["hello"]
    with pytest.raises(NoInputError):
        await wiki.read("secret")
    await wiki.write("other", "x", "em")
    assert "secret.md" in git(place, "ls-tree", "--name-only", "main")


async def test_a_page_in_another_encoding_survives_a_rename(wiki: Wiki, tmp_path: Path):
    await wiki.write("sprint", "one", "em")
    place, raw = tmp_path / "wiki.git", tmp_path / "raw"
    raw.write_bytes(b"caf\xe9 [[sprint]]\n")
    blob = git(place, "hash-object", "-w", str(raw))
    tree = git(place, "mktree", stdin=f"{git(place, 'ls-tree', 'main')}\n100644 blob {blob}\told.md\n")
    git(place, "update-ref", "refs/heads/main", git(place, "commit-tree", tree, "-p", "main", stdin="push"))

    await wiki.rename("sprint", "sprints/one", "em")

    assert (await wiki.read("old")).text == "caf\ufffd [[sprints/one]]\n"
    assert read_blob(place, "main:old.md") == b"caf\xe9 [[sprints/one]]\n"


async def test_hooks_and_settings_of_people_are_not_used(wiki: Wiki, tmp_path: Path, monkeypatch):
    place, proof = tmp_path / "wiki.git", tmp_path / "proof"
    hooks = place / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-commit", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {proof}\n")
        (hooks / name).chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\nhooksPath = {hooks}\n[commit]\ngpgSign = true\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")

    await wiki.write("sprint", "one", "em")
    await wiki.pack()

    assert not proof.exists()


async def test_a_wiki_is_opened_again_and_no_other_directory_becomes_one(tmp_path: Path):
    first = await Wiki.open(tmp_path / "wiki.git")
    await first.write("sprint", "one", "em")
    assert await (await Wiki.open(tmp_path / "wiki.git")).pages() == ["sprint"]

    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").write_text("mine")
    with pytest.raises(UnavailableError, match="is not a bare git repository"):
        await Wiki.open(tmp_path / "precious")
    with pytest.raises(CultureError):
        await Wiki.open(tmp_path / "precious/file")


async def test_its_repository_is_sound_and_has_one_commit_per_change(wiki: Wiki, tmp_path: Path):
    base = await wiki.write("sprint", "one", "em")
    await wiki.write("sprint", "two", "spark-jules", base=base)

    git(tmp_path / "wiki.git", "fsck", "--strict")
    log = git(tmp_path / "wiki.git", "log", "--format=%an <%ae> %cn: %s", "main")
    assert log.splitlines() == [
        "spark-jules <spark-jules@culture> Culture wiki: Write sprint",
        "em <em@culture> Culture wiki: Write sprint",
    ]
