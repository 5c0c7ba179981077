"""The package: built from this tree, installed as a person would."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from system.hostlab.host import Host

TREE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Debs:
    culture: Path
    claude: Path


def build(directory: Path) -> Debs:
    # Packages that live for minutes need not be small.
    environment = os.environ | {"DPKG_DEB_COMPRESSOR_LEVEL": "1"}
    built = subprocess.run(
        [TREE / "scripts/build-deb", directory],
        env=environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    paths = {Path(line).name.split("_")[0]: Path(line) for line in built.stdout.splitlines()}
    return Debs(paths["culture"], paths["culture-claude"])


def install(host: Host, debs: Debs, *options: str) -> None:
    for deb in (debs.culture, debs.claude):
        shutil.copy(deb, host.path("/root"))
    names = [f"/root/{deb.name}" for deb in (debs.culture, debs.claude)]
    host.run("apt-get", "install", "--yes", *options, *names)
