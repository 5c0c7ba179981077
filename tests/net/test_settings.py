"""A configuration that is read again while the server runs."""

from pathlib import Path

import pytest
from support.network import Network

from culture.net.driver import Driver
from culture.net.settings import reload


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
