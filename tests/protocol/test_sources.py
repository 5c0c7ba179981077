"""Whom a linked host may speak for: its own users, and people on other networks whom it relays."""

import pytest

from culture.protocol.line import MalformedLine
from culture.protocol.peers import validate


@pytest.mark.parametrize(
    "source", ["thor-ori!ori@thor", "Thor-x!y@elsewhere", "zoe/matrix!relay@thor", "*!*@thor"]
)
def test_a_host_speaks_for_its_users_and_for_those_whom_it_relays(source: str):
    assert validate.source(source, "thor") == source


@pytest.mark.parametrize(
    "source",
    [
        "spark-ori!ori@spark",
        "spark-ori!ori@thor",
        "zoe/matrix!relay@spark",
        # What is no nick is relayed, and needs the separator: these look like somebody's nick.
        "spark-ori\u200b!relay@thor",
        "sp\u0430rk-ori!relay@thor",
        "spark-ori.!relay@thor",
        "1spark!relay@thor",
        "spark-ori/!relay@thor",
        "/spark-ori!relay@thor",
        "!relay@thor",
        "*!*@spark",
        "*!ori@thor",
        "",
    ],
)
def test_a_host_speaks_for_nobody_else(source: str):
    with pytest.raises(MalformedLine):
        validate.source(source, "thor")
