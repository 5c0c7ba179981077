"""The Debian that hosts boot from: made by mmdebstrap once, kept as a tar, unpacked for a session."""

import fcntl
import hashlib
import os
import platform
import subprocess
import tempfile
from pathlib import Path

# What the .deb depends on is there already: hosts have no network to fetch it from.
PACKAGES = (
    "dbus",
    "git",
    "init-system-helpers",
    "libnss-systemd",
    "openssh-server",
    "procps",
    "python3",
    "python3-aiohttp",
    "python3-cryptography",
    "python3-jinja2",
    "python3-sdnotify",
    "python3-systemd",
    "python3-yaml",
    "systemd",
    "systemd-sysv",
)
# Nothing may start by itself in the middle of a test.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    # Tests that need it start it.
    "ssh.service",
    "ssh.socket",
)
HOOKS = (
    # mmdebstrap copies these two from the machine that it runs on.
    'rm -f "$1/etc/hostname" "$1/etc/resolv.conf"',
    # Empty: every host makes its own when it boots.
    ': > "$1/etc/machine-id"',
    f'chroot "$1" systemctl mask {" ".join(MASKED)} 2>/dev/null',
)
OPTIONS = (
    "--mode=root",
    "--variant=minbase",
    "--quiet",
    "--format=tar",
    '--aptopt=APT::Install-Recommends "false"',
    "--dpkgopt=force-unsafe-io",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
)


def suite() -> str:
    """The release of this machine, unless another of Debian is asked for."""
    return os.environ.get("CULTURE_SUITE") or _own_suite()


def _own_suite() -> str:
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def apt_sources() -> list[Path]:
    """The machine's own, those that have its release; no mirror is named here."""
    found = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    own = [
        path
        for path in found
        if path.suffix in (".list", ".sources") and path.exists() and _own_suite() in path.read_text()
    ]
    return own if suite() == _own_suite() else [_for_suite(path) for path in own]


def _for_suite(path: Path) -> Path:
    copy = cache_directory() / f"{suite()}-{path.name}"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(path.read_text().replace(_own_suite(), suite()))
    return copy


def cache_directory() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(cache, "culture")


def make_tar() -> Path:
    """The tar of the rootfs, from the cache if this very one was made before."""
    key = hashlib.sha256(repr((PACKAGES, HOOKS, OPTIONS)).encode()).hexdigest()[:16]
    tar = cache_directory() / f"rootfs-{suite()}-{key}.tar"
    tar.parent.mkdir(parents=True, exist_ok=True)
    with (tar.parent / "lock").open("w") as lock:
        # Side by side, one makes it and the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        _make_missing(tar)
    return tar


def _make_missing(tar: Path) -> None:
    if not tar.exists():
        with tempfile.TemporaryDirectory(dir=tar.parent) as part:
            _mmdebstrap(Path(part, tar.name))
            Path(part, tar.name).rename(tar)


def unpack(tar: Path, into: Path) -> None:
    into.mkdir()
    subprocess.run(["tar", "-C", into, "--numeric-owner", "--xattrs-include=*", "-xf", tar], check=True)


def _mmdebstrap(tar: Path) -> None:
    hooks = [f"--customize-hook={hook}" for hook in HOOKS]
    command = [
        "mmdebstrap",
        *OPTIONS,
        f"--include={','.join(PACKAGES)}",
        *hooks,
        suite(),
        tar,
        *apt_sources(),
    ]
    # In memory where there is some: half the time.
    memory = Path("/dev/shm")
    environment = os.environ | ({"TMPDIR": str(memory)} if memory.is_dir() else {})
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL)
