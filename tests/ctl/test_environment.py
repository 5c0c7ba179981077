from pathlib import Path

import pytest

from culture.ctl.environment import child_environment, require_login
from culture.errors import UnavailableError


def test_children_get_ours_but_not_what_a_manager_said_to_us():
    ours = {
        "PATH": "/bin",
        "LISTEN_FDS": "1",
        "NOTIFY_SOCKET": "/n",
        "CULTURE_SOCKET": "/s",
        "CULTURE_HOME": "/a",
    }

    assert child_environment(ours, Path("/b")) == {"PATH": "/bin", "CULTURE_HOME": "/b"}


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"])
def test_a_key_will_do(name):
    require_login({name: "1"})


@pytest.mark.parametrize("where", ["HOME", "CLAUDE_CONFIG_DIR"])
def test_a_login_will_do_and_is_not_read(where, tmp_path):
    config = tmp_path / ".claude" if where == "HOME" else tmp_path
    config.mkdir(exist_ok=True)
    (config / ".credentials.json").write_text("not even JSON")

    require_login({"HOME": "/nowhere", where: str(tmp_path)})


def test_neither_key_nor_login_is_said_with_what_to_do(tmp_path):
    with pytest.raises(UnavailableError, match="needs a key or a Claude login") as refused:
        require_login({"HOME": str(tmp_path), "ANTHROPIC_API_KEY": ""})

    assert "export ANTHROPIC_API_KEY" in str(refused.value.hint)
