"""Find the directory that an agent works in, and the instructions in it."""

from pathlib import Path
from typing import Final, NamedTuple

from culture.errors import NoInputError, NotAllowedError

# As the backends look for them, each in its own way.
INSTRUCTION_FILES: Final = ("CLAUDE.md", "AGENTS.md")
MAX_INSTRUCTIONS_BYTES: Final = 64 * 1024


class Instructions(NamedTuple):
    """A file with instructions for agents."""

    file: str
    text: str


def find_directory(path: str, current: Path) -> Path:
    """Return a directory by its path, which may be relative to the current one."""
    directory = (current / Path(path).expanduser()).resolve()
    try:
        if not directory.is_dir():
            raise NoInputError(f"there is no directory '{directory}'")
        next(directory.iterdir(), None)
    except OSError as error:
        raise NotAllowedError(f"cannot open '{directory}': {error.strerror}") from None
    return directory


def read_instructions(directory: Path) -> list[Instructions]:
    """Return the instructions in a directory, each text once: one file is often a link to the other."""
    found: dict[str, str] = {}
    for name in INSTRUCTION_FILES:
        file = directory / name
        try:
            if file.is_file():
                with file.open("rb") as opened:
                    text = opened.read(MAX_INSTRUCTIONS_BYTES).decode(errors="replace").strip()
                found.setdefault(text, str(file))
        except OSError as error:
            raise NotAllowedError(f"cannot read '{file}': {error.strerror}") from None
    return [Instructions(file, text) for text, file in found.items() if text]
