"""A configuration that is read again while the server runs."""

from pathlib import Path

import pytest
from support.network import Network

from culture.errors import ConfigError
from culture.net.driver import Driver
from culture.net.reload import read_config, reload


async def test_a_new_credential_is_told_to_wait_for_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    config = tmp_path / "ircd.yaml"
    config.write_text("name: spark\nmotd: new\nopers: [{name: watch, password_credential: watch}]\n")
    driver = Driver(Network(motd="old").ircd)
    reload(driver, config, None, {"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert caplog.messages == [
        "the configuration stays as it was until a restart, which loads credentials: "
        f"credential 'watch': is not in '{tmp_path}'"
    ]
    assert driver.ircd.config.motd == "old"
    await driver.stop()


def test_the_message_of_the_day_comes_from_a_file_unless_the_configuration_has_one(tmp_path: Path):
    config, file = tmp_path / "ircd.yaml", tmp_path / "motd"
    file.write_bytes(b"hello\r\n\r\nwor\0ld\n")

    config.write_text(f"motd_file: {file}\n")
    assert read_config(config).motd == "hello\n\nworld"
    config.write_text(f"motd: mine\nmotd_file: {file}\n")
    assert read_config(config).motd == "mine"
    config.write_text('motd_file: ""\n')
    assert read_config(config).motd == ""


def test_a_message_of_the_day_that_cannot_be_read_is_an_error(tmp_path: Path):
    config, file = tmp_path / "ircd.yaml", tmp_path / "motd"
    config.write_text(f"motd_file: {file}\n")

    with pytest.raises(ConfigError, match=f"'motd_file': there is no '{file}'"):
        read_config(config)
    file.write_bytes(b"caf\xe9")
    with pytest.raises(ConfigError, match="is not UTF-8 at byte 3"):
        read_config(config)
