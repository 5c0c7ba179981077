import io
import time

import pytest

from culture.config.address import TcpAddress, UnixAddress
from culture.ctl.up.console import Console, describe_exit, how_to_connect, journal_line

WHEN = time.struct_time((2026, 11, 6, 2, 46, 41, 4, 310, 0))


def test_a_line_looks_as_journalctl_prints_it():
    line = journal_line(WHEN, "spark", "culture-ircd", 123, "listening")

    assert line == "Nov 06 02:46:41 spark culture-ircd[123]: listening"


def test_a_line_cannot_command_the_terminal():
    line = journal_line(WHEN, "spark", "culture-ircd", 1, "nick \x1b[2Jgone\r\x9b")

    assert line.endswith("nick �[2Jgone��")


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exited with status 0"), (78, "exited with status 78"), (-9, "was killed by SIGKILL")],
)
def test_how_a_child_ended_is_said_in_words(status, words):
    assert describe_exit(status) == words


def test_how_to_connect_can_be_typed():
    said = how_to_connect(TcpAddress("127.0.0.1", 6667), "spark-you", "#general", "spark-claude")

    assert said == (
        "irssi -c 127.0.0.1 -p 6667 -n spark-you   then   /join #general   and   @spark-claude hello"
    )


def test_without_an_agent_there_is_nobody_to_greet():
    said = how_to_connect(UnixAddress("/run/culture/ircd.sock"), "you", "#general", None)

    assert said == "connect to unix:/run/culture/ircd.sock as you   then   /join #general"


def test_the_announcement_is_set_off_and_bold_only_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = []
    for stream in (io.StringIO(), Terminal()):
        Console(stream, "spark", 1).announce("hello")
        shown.append(stream.getvalue())

    assert shown == ["\n  hello\n\n", "\n  \x1b[1mhello\x1b[0m\n\n"]


def test_a_reader_that_is_gone_stops_nothing():
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    Console(Closed(), "spark", 1).say("still here")
