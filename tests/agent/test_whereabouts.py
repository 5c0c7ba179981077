"""Where an agent is, kept in its file: the next process begins where the last one ended."""

from pathlib import Path

import pytest

from culture.agent.inbox.saved_location import SavedLocation
from culture.store.agent.file import AgentFile


@pytest.fixture
def begin(tmp_path):
    """Another process of the same agent."""
    files = []

    def begin(*channels: str, is_fresh: bool = False) -> SavedLocation:
        files.append(AgentFile(tmp_path))
        return SavedLocation(files[-1], channels or ["#general"], Path("/srv"), is_fresh=is_fresh)

    yield begin
    for file in files:
        file.close()


def test_an_agent_is_where_it_is_configured_to_be(begin):
    where = begin()

    assert (where.channels, where.directory) == (["#general"], Path("/srv"))


def test_an_agent_is_where_it_went_unless_it_begins_anew(begin):
    where = begin()
    where.joined("#ops")
    where.joined("#OPS")
    where.joined("#disks")
    where.left("#Disks")
    where.moved(Path("/srv/website"))

    again = begin()
    assert (again.channels, again.directory) == (["#general", "#OPS"], Path("/srv/website"))
    anew = begin(is_fresh=True)
    assert (anew.channels, anew.directory) == (["#general"], Path("/srv"))


def test_a_configured_channel_is_joined_again_also_by_an_agent_that_left_it(begin):
    begin().left("#general")

    assert begin().channels == ["#general"]


def test_a_channel_that_is_configured_no_more_is_not_joined_again(begin):
    where = begin("#general", "#ops")
    for channel in ("#General", "#ops", "#disks"):
        where.joined(channel)

    assert begin("#general").channels == ["#general", "#disks"]
