"""The built packages, before they are installed."""

import shutil
import subprocess

import pytest
from support.requirement import unable
from system.package import Debs

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]


def test_lintian_has_nothing_to_complain_about(debs: Debs):
    if not shutil.which("lintian"):
        unable("there is no lintian (apt install lintian)")
    checked = subprocess.run(
        ["lintian", "--allow-root", "--fail-on=error,warning", debs.culture, debs.claude],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_the_name_irc_in_usr_bin_is_left_to_others(debs: Debs):
    listed = subprocess.run(
        ["dpkg-deb", "--contents", debs.culture], capture_output=True, text=True, check=True
    ).stdout
    names = {line.rpartition(" ")[2] for line in listed.splitlines()}

    assert "./usr/lib/culture/bin/irc" in names
    assert "./usr/bin/irc" not in names
