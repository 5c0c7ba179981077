"""The skills host: commands that skills answer, and what happens when one of them fails."""

from collections.abc import Sequence

import pytest
from support.network import Network

from culture.ircd.failures import Failure
from culture.ircd.skills import (
    Asker,
    EventRecord,
    NotRecordedError,
    Replies,
    Reply,
    ReplyBatch,
    Skill,
    SkillCommand,
    Skills,
)
from culture.protocol.multiline import Fragment
from culture.protocol.parties import Party, PartyKind


def said(text: str) -> EventRecord:
    return EventRecord("m1", 1.0, "PRIVMSG", "#a", "spark-ori!ori@spark", None, text)


class Echo(Skill):
    """Answers with what it is asked, as a batch, and tells who asks."""

    name = "echo"

    def __init__(self) -> None:
        self.askers: list[Asker] = []
        self.commands = {"ECHO": SkillCommand(self.echo, params=1, help=("ECHO text", "Says it again."))}

    def echo(self, asker: Asker, params: Sequence[str]) -> Replies:
        self.askers.append(asker)
        if params[0] == "no":
            raise Failure("REFUSED", params[-1], text="No")
        replies = [
            Reply("PRIVMSG", ("#a", word), "bo!b@h", 1000.0, "x1", "bo", {"+t": "1"}) for word in params
        ]
        return [ReplyBatch("echo", ("#a",), replies), Reply("ECHOEND", (params[0],), trailing=False)]


class Broken(Skill):
    name = "broken"
    wants = frozenset({"PRIVMSG"})

    def observe(self, happened: Sequence[EventRecord]) -> None:
        raise RuntimeError("no")

    def is_alive(self) -> bool:
        raise RuntimeError("not at all")

    def close(self) -> None:
        raise RuntimeError("still no")


class Watching(Skill):
    name = "watching"
    wants = frozenset({"PRIVMSG"})

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.is_closed = False

    def observe(self, happened: Sequence[EventRecord]) -> None:
        self.seen += [each.text for each in happened]

    def close(self) -> None:
        self.is_closed = True


class Recording(Skill):
    name = "recording"
    records = frozenset({"PRIVMSG"})

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def commit(self, happened: Sequence[EventRecord]) -> None:
        if self.error is not None:
            raise self.error


def test_a_skill_answers_a_command_in_what_the_client_negotiated():
    network = Network(skills=Skills([Echo()]))
    bare = network.client("spark-ori")
    bare.send("ECHO one :two three")
    assert bare.lines() == [
        ":bo!b@h PRIVMSG #a :one",
        ":bo!b@h PRIVMSG #a :two three",
        ":spark ECHOEND one",
    ]
    caps = "batch message-tags server-time account-tag labeled-response"
    rich = network.client("spark-bo", caps=caps)
    rich.send("@label=x ECHO one")
    tags = "time=1970-01-01T00:16:40.000Z;msgid=x1;account=bo;+t=1"
    assert rich.lines() == [
        "@label=x :spark BATCH +m2 labeled-response",
        "@batch=m2 :spark BATCH +m1 echo #a",
        f"@batch=m1;{tags} :bo!b@h PRIVMSG #a :one",
        "@batch=m2 :spark BATCH -m1",
        "@batch=m2;time=1970-01-12T13:46:40.000Z :spark ECHOEND one",
        ":spark BATCH -m2",
    ]


def test_a_failure_is_told_as_fail_and_missing_parameters_as_ever():
    ori = Network(skills=Skills([Echo()])).client("spark-ori")
    ori.send("ECHO no :a b", "ECHO")
    assert ori.lines() == [
        ":spark FAIL ECHO REFUSED * :No",
        ":spark 461 spark-ori ECHO :Not enough parameters",
    ]


def test_a_message_of_several_lines_is_whole_for_who_can_read_it():
    class Several(Skill):
        name = "several"

        def __init__(self) -> None:
            self.commands = {"SEVERAL": SkillCommand(self.answer)}

        def answer(self, asker: Asker, params: Sequence[str]) -> Replies:
            lines = (Fragment("one"), Fragment("two"))
            return [ReplyBatch("t", (), [Reply("PRIVMSG", ("#a",), "b!b@h", 1.0, "x", fragments=lines)])]

    network = Network(skills=Skills([Several()]))
    whole = network.client("spark-ori", caps="batch draft/multiline message-tags")
    whole.send("SEVERAL")
    assert whole.lines() == [
        ":spark BATCH +m1 t",
        "@batch=m1;msgid=x :b!b@h BATCH +x draft/multiline #a",
        "@batch=x :b!b@h PRIVMSG #a :one",
        "@batch=x :b!b@h PRIVMSG #a :two",
        "@batch=m1 :b!b@h BATCH -x",
        ":spark BATCH -m1",
    ]
    split = network.client("spark-bo", caps="batch")
    split.send("SEVERAL")
    assert split.lines()[1:-1] == ["@batch=m2 :b!b@h PRIVMSG #a :one", "@batch=m2 :b!b@h PRIVMSG #a :two"]


def test_a_skill_learns_who_asks_in_plain_values():
    echo = Echo()
    network = Network(skills=Skills([echo]))
    ori = network.client("spark-ori", "#a")
    bo = network.client("spark-bo", "#secret")
    bo.send("MODE #secret +s")
    network.clock.advance(5)
    ori.send("NICK spark-Ori2", "ECHO x")
    (asker,) = echo.askers
    assert (asker.nick, asker.account) == ("spark-Ori2", None)
    assert asker.parties == (Party(PartyKind.SESSION, ori.session.user.session_id),)
    assert asker.channels.keys() == {"#a"}
    assert asker.channels["#a"].signs == "@%+"
    assert asker.closed == {"#secret"}
    bo.send("PART #secret")
    ori.send("ECHO x")
    assert echo.askers[-1].closed == frozenset()


def test_a_skill_that_raises_is_reported_and_stepped_over():
    reports: list[str] = []
    watching = Watching()
    skills = Skills([Broken(), watching], lambda name, error: reports.append(f"{name}: {error}"))
    skills.observe([said("one")])
    assert skills.is_alive()
    skills.close()
    assert watching.seen == ["one"]
    assert watching.is_closed
    assert reports == ["broken: no", "broken: not at all", "broken: still no"]


def test_one_skill_that_is_dead_is_enough_for_the_watchdog():
    class Dead(Skill):
        def is_alive(self) -> bool:
            return False

    assert not Skills([Watching(), Dead()]).is_alive()


def test_each_skill_gets_what_it_wants_and_nothing_else():
    watching = Watching()
    skills = Skills([watching, Recording()])
    skills.observe([said("one"), said("two")._replace(command="NOTICE")])
    assert watching.seen == ["one"]
    assert skills.wants("PRIVMSG")
    assert not skills.wants("NOTICE")


@pytest.mark.parametrize("error", [RuntimeError("full"), NotRecordedError("full")])
def test_what_cannot_be_recorded_is_not_told(error: Exception):
    with pytest.raises(NotRecordedError):
        Skills([Recording(error)]).commit([said("one")])
    Skills([Recording()]).commit([said("one")])
