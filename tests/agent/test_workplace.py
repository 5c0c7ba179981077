"""The directory that an agent moves to, and what it is told there."""

import pytest

from culture.agent.backend.workdir import MAX_INSTRUCTIONS_BYTES, find_directory, read_instructions
from culture.errors import NoInputError


def test_a_path_is_seen_from_the_directory_before(tmp_path):
    (tmp_path / "site").mkdir()

    assert find_directory("site", tmp_path) == tmp_path / "site"
    assert find_directory("..", tmp_path / "site") == tmp_path
    assert find_directory(str(tmp_path), tmp_path / "site") == tmp_path


@pytest.mark.parametrize("path", ["nowhere", "file"])
def test_what_is_no_directory_is_refused(tmp_path, path):
    (tmp_path / "file").write_text("")

    with pytest.raises(NoInputError, match=f"no directory '{tmp_path}/{path}'"):
        find_directory(path, tmp_path)


def test_instructions_are_those_of_every_kind_of_agent(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("be kind\n")
    (tmp_path / "AGENTS.md").write_text("be quick\n")

    assert read_instructions(tmp_path) == [
        (str(tmp_path / "CLAUDE.md"), "be kind"),
        (str(tmp_path / "AGENTS.md"), "be quick"),
    ]


def test_the_same_text_is_told_once_and_an_empty_one_not_at_all(tmp_path):
    (tmp_path / "AGENTS.md").write_text("be quick\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert read_instructions(tmp_path) == [(str(tmp_path / "CLAUDE.md"), "be quick")]

    (tmp_path / "AGENTS.md").write_text("\n")
    assert read_instructions(tmp_path) == []


def test_a_huge_file_is_cut(tmp_path):
    (tmp_path / "AGENTS.md").write_text("x" * (MAX_INSTRUCTIONS_BYTES + 1))

    ((_, text),) = read_instructions(tmp_path)
    assert len(text) == MAX_INSTRUCTIONS_BYTES
