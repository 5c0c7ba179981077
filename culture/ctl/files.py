"""Files that are whole, or not there: whoever is cut off leaves no half ones behind that somebody reads."""

from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    half = path.with_name(f".{path.name}.part")
    half.write_bytes(data)
    half.replace(path)
