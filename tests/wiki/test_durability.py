"""Several writers, killed processes and a full disk leave every page whole."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culture.errors import CultureError
from culture.wiki import repository
from culture.wiki.wiki import StaleRevision, Wiki

# Adds one line to a page again and again, as an agent does: read, then write what was read and one line more.
WRITER = """
import asyncio, sys
from pathlib import Path
from culture.errors import CultureError
from culture.wiki.wiki import StaleRevision, Wiki

async def main(place, author, lines):
    wiki = await Wiki.open(Path(place))
    for number in range(int(lines)):
        while True:
            page = await wiki.read("log")
            try:
                await wiki.write("log", f"{page.text}{author} {number}\\n", author, base=page.revision)
            except StaleRevision:
                continue
            break
        print(number, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def start_writer(place: Path, author: str, lines: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(place), author, str(lines)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def check_repository(place: Path) -> None:
    done = subprocess.run(
        ["git", "-C", place, "fsck", "--strict"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


async def test_two_processes_that_write_one_page_lose_nothing(tmp_path: Path):
    place = tmp_path / "wiki.git"
    wiki = await Wiki.open(place)
    await wiki.write("log", "begin\n", "em")

    writers = [start_writer(place, author, 8) for author in ("harper", "jules")]
    for writer in writers:
        await asyncio.to_thread(writer.communicate, timeout=50)
        assert writer.returncode == 0

    lines = (await wiki.read("log")).text.splitlines()
    assert sorted(lines[1:]) == sorted(f"{author} {n}" for author in ("harper", "jules") for n in range(8))
    assert len(await wiki.recent_changes()) == 17
    check_repository(place)


async def test_what_was_reported_before_kill_9_is_there_and_the_next_writer_goes_on(
    tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(repository, "STALE_LOCK_S", 0.5)
    place = tmp_path / "wiki.git"
    wiki = await Wiki.open(place)
    await wiki.write("log", "begin\n", "em")
    for round_number in range(4):
        author = f"w{round_number}"
        writer = start_writer(place, author, 1000)
        assert writer.stdout is not None
        reported = [int(await asyncio.to_thread(writer.stdout.readline)) for _ in range(2 + round_number)]
        # Its git processes die with it, at any moment.
        os.killpg(writer.pid, signal.SIGKILL)
        await asyncio.to_thread(writer.communicate)

        lines = (await wiki.read("log")).text.splitlines()
        own = [line for line in lines if line.startswith(f"{author} ")]
        assert own == [f"{author} {number}" for number in range(len(own))]
        assert len(own) >= len(reported)
        check_repository(place)
        await wiki.edit("log", "begin", "begin", "em")
        await wiki.write(f"after/{author}", "fine\n", "em")


async def test_the_lock_of_a_killed_git_is_removed(tmp_path: Path):
    wiki = await Wiki.open(tmp_path / "wiki.git")
    await wiki.write("sprint", "one", "em")
    lock = tmp_path / "wiki.git/refs/heads/main.lock"
    lock.touch()
    os.utime(lock, (0, 0))

    await wiki.write("plan", "two", "em")
    assert await wiki.pages() == ["plan", "sprint"]


async def test_a_writer_waits_for_a_lock_that_is_in_use(tmp_path: Path):
    wiki = await Wiki.open(tmp_path / "wiki.git")
    await wiki.write("sprint", "one", "em")
    lock = tmp_path / "wiki.git/refs/heads/main.lock"
    lock.touch()
    writing = asyncio.create_task(wiki.write("plan", "two", "em"))
    done, _ = await asyncio.wait([writing], timeout=0.3)
    assert not done
    lock.unlink()
    await writing


async def test_a_full_disk_is_reported_and_changes_nothing(small_disk: Path):
    place = small_disk / "wiki.git"
    wiki = await Wiki.open(place)
    base = await wiki.write("sprint", "one", "em")
    filler = small_disk / "rest"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(4096))

    with pytest.raises(CultureError, match=r"(?i)space|write"):
        await wiki.write("sprint", os.urandom(50_000).hex(), "em", base=base)
    assert (await wiki.read("sprint")).text == "one\n"

    filler.unlink()
    await wiki.write("sprint", "two", "em", base=base)
    assert (await wiki.read("sprint")).text == "two\n"
    check_repository(place)


async def test_a_cancelled_write_leaves_a_wiki_that_can_be_written(tmp_path: Path):
    wiki = await Wiki.open(tmp_path / "wiki.git")
    for number in range(10):
        writing = asyncio.create_task(wiki.write(f"p{number}", "x", "em"))
        await asyncio.wait([writing], timeout=0.005 * number)
        writing.cancel()
        await asyncio.wait([writing])
    await wiki.write("end", "x", "em")
    assert "end" in await wiki.pages()
    check_repository(tmp_path / "wiki.git")


steps = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["read", "write"])), max_size=10)


@settings(max_examples=8, deadline=None)
@given(steps=steps)
def test_a_write_succeeds_exactly_if_nobody_wrote_since_its_reading(steps: list[tuple[int, str]]):
    """The model: each writer knows the number of writes at its last reading."""

    async def scenario(place: Path) -> None:
        writers = [await Wiki.open(place), await Wiki.open(place)]
        first = await writers[0].write("page", "0", "em")
        bases, known, count = [first, first], [0, 0], 0
        for who, step in steps:
            if step == "read":
                page = await writers[who].read("page")
                assert page.text == f"{count}\n"
                bases[who], known[who] = page.revision, count
                continue
            attempt = writers[who].write("page", str(count + 1), f"w{who}", base=bases[who])
            if known[who] == count:
                bases[who] = await attempt
                count += 1
                known[who] = count
            else:
                with pytest.raises(StaleRevision):
                    await attempt

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(scenario(Path(directory) / "wiki.git"))
