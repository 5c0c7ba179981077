"""Pruning: what comes later is found, and can be forgotten, whatever went before it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from culture.names import fold
from culture.store.history.archive import Archive
from culture.store.history.maintenance import opened
from culture.store.history.pruning import RetentionRule, prune

DAY_S = 86400


def happened(number: int, command: str, channel: str, text: str, *params: str) -> tuple[object, ...]:
    """One a day."""
    head = (f"m{number}", number * DAY_S, command, channel, "ori!o@h", None, text)
    return (*head, {}, True, None, (), params, "", number, "", False, "*", "")


def found(archive: Archive, word: str) -> list[str]:
    archive.catch_up()
    archive.index_for(5)
    query = "SELECT events.text FROM events JOIN words ON words.rowid = id WHERE words MATCH ? ORDER BY id"
    with archive.reading() as connection:
        return [text for (text,) in connection.execute(query, (f"text : {word}",))]


@pytest.fixture(params=[lambda archive: archive.index_for(5), lambda archive: None], ids=["indexed", "new"])
def pruned(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    """An old decision is kept, and all that was said after it is gone."""
    see_to: Callable[[Archive], None] = request.param
    archive = Archive(tmp_path)
    archive.append([happened(1, "PRIVMSG", "#keep", "an old decision")])
    archive.append([happened(number, "PRIVMSG", "#ops", f"chatter {number}") for number in range(2, 20)])
    archive.catch_up()
    see_to(archive)
    with opened(tmp_path) as connection:
        assert (
            prune(
                connection,
                RetentionRule(keep_days=1),
                {fold("#keep"): RetentionRule()},
                30 * DAY_S,
                lambda: None,
            )
            == 18
        )
    return archive


def test_what_is_said_after_the_newest_were_pruned_is_found(pruned: Archive):
    pruned.append([happened(31, "PRIVMSG", "#keep", "a new decision")])
    assert found(pruned, "decision") == ["an old decision", "a new decision"]
    assert found(pruned, "chatter") == []
    pruned.close()


def test_what_is_said_after_the_newest_were_pruned_can_be_redacted(pruned: Archive):
    pruned.append([happened(31, "PRIVMSG", "#keep", "a new decision")])
    pruned.append(
        [happened(32, "REDACT", "#keep", "", "m31"), happened(33, "PRIVMSG", "#keep", "a decision")]
    )
    assert found(pruned, "decision") == ["an old decision", "a decision"]
    pruned.close()


def test_no_number_is_given_twice_also_by_the_next_process(pruned: Archive):
    with opened(pruned.directory) as connection:
        assert prune(connection, RetentionRule(keep_days=1), {}, 30 * DAY_S, lambda: None) == 1
    pruned.close()
    again = Archive(pruned.directory)
    again.append([happened(31, "PRIVMSG", "#ops", "a new decision")])
    assert found(again, "decision") == ["a new decision"]
    with again.reading() as connection:
        assert connection.execute("SELECT id FROM events").fetchall() == [(20,)]
    with opened(again.directory) as connection:
        assert prune(connection, RetentionRule(keep_days=1), {}, 60 * DAY_S, lambda: None) == 1
    assert found(again, "decision") == []
    again.close()
