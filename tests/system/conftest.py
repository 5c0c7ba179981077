"""Hosts with the package installed from the .deb that this tree builds.

One rootfs is unpacked for the session, the package is installed on it once by apt, and every test boots
a host of its own on top of that. Where tests run side by side, each process has its own.
"""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from support.requirement import unable
from system.hostlab import rootfs
from system.hostlab.disk import in_memory
from system.hostlab.host import Host, booted
from system.package import Debs, build, install

TOOLS = ("systemd-nspawn", "mmdebstrap", "nsenter", "systemd-analyze", "dpkg-deb", "tar", "ip", "nft")
# The CLI is not part of the package: hosts get the one that the SDK of the tests brings.
CLI = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
JOURNALS = pytest.StashKey[list[tuple[str, Callable[[], str]]]]()


@dataclass(frozen=True, slots=True)
class Lab:
    """Boots hosts in a directory of its own."""

    directory: Path
    base: Path
    numbers: Iterator[int]

    def boot(self, *lower: Path, name: str = "spark") -> contextlib.AbstractContextManager[Host]:
        """A host on the bare rootfs, or on what was written above it."""
        place = self.directory / f"host{next(self.numbers)}"
        return booted(name, place, [*lower, self.base], read_only={CLI: "/usr/local/bin/claude"})


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    if reason := _why_not():
        unable(reason)
    tar = rootfs.make_tar()
    with tempfile.TemporaryDirectory(prefix="culture-hosts-") as name, in_memory(Path(name)) as directory:
        rootfs.unpack(tar, directory / "base")
        yield Lab(directory, directory / "base", itertools.count())


@pytest.fixture(scope="session")
def debs(lab: Lab) -> Debs:
    return build(lab.directory / "debs")


@pytest.fixture(scope="session")
def installed(lab: Lab, debs: Debs) -> Iterator[Path]:
    """What a host's disk has more than the bare rootfs after the package was installed."""
    with lab.boot() as host:
        install(host, debs)
        host.power_off()
        yield host.written


@pytest.fixture
def bare(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Host]:
    """A host that has never heard of the package."""
    with lab.boot() as host, _told_on_failure(request, host):
        yield host


@pytest.fixture
def spark(request: pytest.FixtureRequest, lab: Lab, installed: Path) -> Iterator[Host]:
    """A host that booted with the package installed."""
    with lab.boot(installed) as host, _told_on_failure(request, host):
        yield host


def _why_not() -> str | None:
    """Why no host can be booted here."""
    if os.geteuid() != 0:
        return "booting hosts needs root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        packages = "systemd-container mmdebstrap iproute2 nftables"
        return f"{', '.join(missing)} cannot be found (apt install {packages})"
    if not rootfs.apt_sources():
        return "there are no apt sources to make a host from"
    return None if CLI.exists() else f"'{CLI}' is not there"


@contextlib.contextmanager
def _told_on_failure(request: pytest.FixtureRequest, host: Host) -> Iterator[None]:
    def tail() -> str:
        try:
            return host.run("journalctl", "--boot", "--no-pager", "--lines=60", check=False).stdout
        except subprocess.TimeoutExpired:
            return "the host does not answer"

    request.node.stash.setdefault(JOURNALS, []).append((host.name, tail))
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A test that failed shows the journal of its host, which is gone soon after."""
    report = yield
    if call.when == "call" and report.failed:
        for name, tail in item.stash.get(JOURNALS, []):
            report.sections.append((f"journal of {name}", tail()))
    return report
