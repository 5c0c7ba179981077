"""The irc skill, put where coding agents look for skills."""

import pytest

from culture.agent.backend.briefing import SKILL
from culture.ctl.main import run
from culture.ctl.verbs.host.skills import skill_files
from culture.errors import NoInputError, NotAllowedError, UsageError


def test_each_backend_has_its_place_and_a_shared_one_is_named_once(tmp_path):
    home = {"HOME": str(tmp_path)}

    assert skill_files(["claude"], None, home) == [tmp_path / ".claude/skills/irc/SKILL.md"]
    assert skill_files(["claude", "acp"], None, home)[1:] == [tmp_path / ".agents/skills/irc/SKILL.md"]
    assert skill_files(["acp", "acp"], tmp_path / "site", {}) == [
        tmp_path / "site/.agents/skills/irc/SKILL.md"
    ]
    elsewhere = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "/srv/claude"}
    assert [str(place) for place in skill_files(["claude"], None, elsewhere)] == [
        "/srv/claude/skills/irc/SKILL.md"
    ]


def test_it_says_what_it_wrote_and_the_second_time_nothing(tmp_path, capsys):
    file = tmp_path / ".claude/skills/irc/SKILL.md"

    assert run(["skills", "install", "--project", str(tmp_path), "claude"]) == 0
    assert capsys.readouterr() == (f"{file}\n", "")
    assert file.read_text() == SKILL.read_text()

    assert run(["skills", "install", "--project", str(tmp_path), "claude"]) == 0
    assert capsys.readouterr() == ("", f"{file} is up to date\n")

    file.write_text("an older one")
    assert run(["skills", "install", "--project", str(tmp_path), "claude"]) == 0
    assert file.read_text() == SKILL.read_text()
    assert [each.name for each in file.parent.iterdir()] == ["SKILL.md"]


def test_what_cannot_be_done_is_said(tmp_path):
    with pytest.raises(UsageError, match="unknown backend 'emacs'"):
        run(["skills", "install", "emacs"])
    with pytest.raises(NoInputError, match="no directory"):
        run(["skills", "install", "--project", str(tmp_path / "nowhere")])
    (tmp_path / ".claude").write_text("in the way")
    with pytest.raises(NotAllowedError, match="cannot write"):
        run(["skills", "install", "--project", str(tmp_path), "claude"])
