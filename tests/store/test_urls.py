"""The links that were shared: counted one by one, so that each can be taken back."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from culture.names import fold
from culture.store.database import MIGRATIONS, prepare
from culture.store.urls import FILE, Reader, Shared, SharedUrl, UrlChannelRenamed, UrlRedacted, Urls

URL = "https://example.org/disk"
ANYBODY = Reader({}, ())


@pytest.fixture
def urls(tmp_path: Path) -> Urls:
    return Urls(tmp_path)


def shared(number: int, channel: str = "#ops", *, is_public: bool = True) -> Shared:
    return Shared(URL, channel, f"m{number}", is_public, f"nick{number}", float(number))


def found(urls: Urls, reader: Reader = ANYBODY, channel: str | None = None) -> list[SharedUrl]:
    return urls.find(reader, channel, "", 100)


def test_what_is_left_is_counted_anew_when_one_is_redacted(urls: Urls):
    urls.add([shared(1), shared(2), shared(3)])
    assert found(urls) == [SharedUrl(URL, "#ops", 1000, 3000, 3, "nick1")]
    urls.add([UrlRedacted("#OPS", "m1")])
    assert found(urls) == [SharedUrl(URL, "#ops", 2000, 3000, 2, "nick2")]
    urls.add([UrlRedacted("#ops", "m3"), UrlRedacted("#other", "m2")])
    assert found(urls) == [SharedUrl(URL, "#ops", 2000, 2000, 1, "nick2")]
    urls.add([UrlRedacted("#ops", "m2")])
    assert found(urls) == []


def test_nothing_of_it_stays_in_the_file(urls: Urls, tmp_path: Path):
    urls.add([shared(1)])
    urls.add([UrlRedacted("#ops", "m1")])
    assert not any(URL.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_another_host_may_tell_later_what_was_redacted(urls: Urls):
    urls.add([UrlRedacted("#ops", "m1")])
    urls.add([shared(1), shared(2)])
    assert found(urls) == [SharedUrl(URL, "#ops", 2000, 2000, 1, "nick2")]


def test_the_same_message_counts_once(urls: Urls):
    urls.add([shared(1)])
    urls.add([shared(1)])
    assert found(urls) == [SharedUrl(URL, "#ops", 1000, 1000, 1, "nick1")]


def test_links_go_with_a_channel_that_is_renamed(urls: Urls):
    urls.add(
        [shared(1, "#Old"), UrlRedacted("#old", "m2"), UrlChannelRenamed("#old", "#New"), shared(2, "#new")]
    )
    assert found(urls, channel="#old") == []
    assert found(urls, channel="#new") == [SharedUrl(URL, "#New", 1000, 1000, 1, "nick1")]
    urls.add([UrlRedacted("#new", "m1")])
    assert found(urls) == []


def test_who_makes_a_channel_anew_is_told_nothing_private_of_the_one_before(urls: Urls):
    urls.add([shared(1, is_public=False), shared(3), shared(5, is_public=False)])
    closed = [fold("#ops")]
    assert found(urls, Reader({}, closed)) == []
    assert found(urls) == [SharedUrl(URL, "#ops", 3000, 3000, 1, "nick3")]
    assert found(urls, Reader({fold("#ops"): 4.0}, closed)) == [
        SharedUrl(URL, "#ops", 3000, 5000, 2, "nick3")
    ]
    assert found(urls, Reader({fold("#ops"): 1.0}, closed)) == [
        SharedUrl(URL, "#ops", 1000, 5000, 3, "nick1")
    ]


@pytest.mark.parametrize("name", ['#a"b', "#a\\b", "#é", "#a.b[0]", "#'"])
def test_any_channel_can_be_closed(urls: Urls, name: str):
    urls.add([shared(1, name), shared(2, name, is_public=False)])
    assert found(urls, Reader({}, [fold(name)])) == []
    assert [link.times for link in found(urls, Reader({fold(name): 0.0}, [fold(name)]))] == [2]


def test_links_that_were_only_counted_are_still_there(tmp_path: Path):
    (tmp_path / "migrations").mkdir()
    shutil.copy(MIGRATIONS / "urls" / "0001-urls.sql", tmp_path / "migrations")
    prepare(tmp_path / FILE, tmp_path / "migrations")
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as database, database:
        rows = [(URL, "#ops", 1, "#ops", "ori", 1000, 9000, 3), (URL, "#ops", 0, "#ops", "bo", 5000, 5000, 1)]
        database.executemany("INSERT INTO urls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    urls = Urls(tmp_path)
    urls.add([shared(10)])
    assert found(urls) == [SharedUrl(URL, "#ops", 1000, 10000, 4, "ori")]
    assert found(urls, Reader({fold("#ops"): 0.0}, ())) == [SharedUrl(URL, "#ops", 1000, 10000, 5, "ori")]
