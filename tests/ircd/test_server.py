"""RFC 2812 sections 3.4 and 3.7: what the server says of itself, and whether it is there."""

import pytest
from support.hosts import Mesh
from support.network import Network

from culture.ircd.commands.server.help import TOPICS
from culture.ircd.commands.table import COMMANDS


def test_ping_is_answered_with_what_was_sent():
    ori = Network().client("spark-ori")
    ori.send("PING :a b", "PING")
    assert ori.lines() == [":spark PONG spark :a b", ":spark 409 spark-ori :No origin specified"]


def test_an_unknown_command_is_named():
    ori = Network().client("spark-ori")
    ori.send("HELLO world")
    assert ori.lines() == [":spark 421 spark-ori HELLO :Unknown command"]


def test_lusers_counts_who_is_here():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo")
    network.client("spark-lea").drop()
    network.connect()
    bo.send("MODE spark-bo +i")
    network.client("spark-shy").send("MODE spark-shy +i", "QUIT")
    ori.send("LUSERS")
    assert ori.lines() == [
        ":spark 251 spark-ori :There are 1 users and 1 invisible on 1 servers",
        ":spark 252 spark-ori 0 :operator(s) online",
        ":spark 253 spark-ori 1 :unknown connection(s)",
        ":spark 254 spark-ori 1 :channels formed",
        ":spark 255 spark-ori :I have 2 clients and 0 servers",
        ":spark 265 spark-ori 2 3 :Current local users 2, max 3",
        ":spark 266 spark-ori 2 3 :Current global users 2, max 3",
    ]


def test_the_version_comes_with_what_is_supported():
    ori = Network().client("spark-ori")
    ori.send("VERSION")
    first, *rest = ori.lines()
    assert first == ":spark 351 spark-ori culture-1.0 spark :Culture IRC server"
    assert rest
    assert all(line.startswith(":spark 005 spark-ori ") for line in rest)


def test_isupport_tells_what_one_can_ask_for():
    ori = Network().client("spark-ori")
    ori.send("VERSION")
    tokens = {token for line in ori.lines()[1:] for token in line.split(" ")}
    assert {
        "AWAYLEN=390",
        "BOT=B",
        "ELIST=CMNTU",
        "MONITOR=100",
        "NAMELEN=150",
        "SAFELIST",
        "USERLEN=16",
        "WHOX",
    } <= tokens


def test_who_runs_the_server_is_told_as_far_as_it_is_known():
    network = Network(admin=("Ulm", "the people of Spark"))
    ori = network.client("spark-ori")
    ori.send("ADMIN")
    assert ori.lines() == [
        ":spark 256 spark-ori spark :Administrative info",
        ":spark 257 spark-ori :Ulm",
        ":spark 258 spark-ori :the people of Spark",
        ":spark 259 spark-ori :(not told)",
    ]


def test_time_info_links_and_motd():
    ori = Network().client("spark-ori")
    ori.send("TIME", "LINKS", "INFO", "MOTD")
    lines = ori.lines()
    assert lines[:3] == [
        ":spark 391 spark-ori spark :1970-01-12T13:46:40.000Z",
        ":spark 364 spark-ori spark spark :0 Culture IRC server",
        ":spark 365 spark-ori * :End of /LINKS list",
    ]
    assert [line.split(" ")[1] for line in lines[3:]] == ["371", "371", "371", "374", "422"]


def test_links_are_narrowed_down_by_a_mask():
    ori = Network().client("spark-ori")
    for asked, numerics in {
        "sp*": ["364", "365"],
        "thor": ["365"],
        "spark *": ["364", "365"],
        "thor *": ["402"],
    }.items():
        ori.send(f"LINKS {asked}")
        assert ori.numerics() == numerics
    ori.send("LINKS thor*")
    assert ori.lines() == [":spark 365 spark-ori thor* :End of /LINKS list"]


def test_stats_tell_how_long_the_server_is_up():
    network = Network()
    ori = network.client("spark-ori")
    network.clock.advance(2 * 86400 + 3 * 3600 + 4 * 60 + 5)
    ori.send("STATS u", "STATS z", "STATS")
    assert ori.lines() == [
        ":spark 242 spark-ori :Server Up 2 days 3:04:05",
        ":spark 219 spark-ori u :End of /STATS report",
        ":spark 219 spark-ori z :End of /STATS report",
        ":spark 461 spark-ori STATS :Not enough parameters",
    ]


def test_what_no_server_does_any_more_is_refused_by_its_own_numeric():
    # RFC 2812 sections 4.5 and 4.6.
    ori = Network().client("spark-ori")
    ori.send("SUMMON ori", "USERS")
    assert ori.lines() == [
        ":spark 445 spark-ori :SUMMON has been disabled",
        ":spark 446 spark-ori :USERS has been disabled",
    ]


def test_stats_tell_how_often_which_command_was_sent():
    # RFC 2812 section 3.4.4, query m. A message counts whichever way it takes.
    network = Network()
    ori, _ = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("PRIVMSG #a :hello", "PRIVMSG spark-bo :\N{SNOWMAN}", "privmsg #b :nobody", "HELLO")
    ori.lines()
    ori.send("STATS m")
    assert ori.lines() == [
        ":spark 212 spark-ori JOIN 2",
        ":spark 212 spark-ori NICK 2",
        ":spark 212 spark-ori PRIVMSG 3",
        ":spark 212 spark-ori STATS 1",
        ":spark 212 spark-ori USER 2",
        ":spark 219 spark-ori m :End of /STATS report",
    ]


@pytest.mark.parametrize(
    "command", ["ADMIN", "INFO", "LIST *", "LUSERS *", "MOTD", "NAMES #a", "STATS u", "TIME", "VERSION"]
)
def test_a_question_may_name_this_server_and_no_other(command: str):
    ori = Network().client("spark-ori")
    for name in ("spark", "SP*", "spark-ori"):
        ori.send(f"{command} {name}")
        assert "402" not in ori.numerics()
    ori.send(f"{command} thor")
    assert ori.lines() == [":spark 402 spark-ori thor :No such server"]


@pytest.mark.parametrize(
    "command", ["ADMIN", "INFO", "LINKS", "LUSERS *", "MOTD", "STATS u", "TIME", "VERSION"]
)
def test_what_only_another_host_knows_is_answered_there_alone(command: str):
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori")
    mesh["thor"].client("bo")
    mesh.settle()
    for name in ("thor", "thor-bo"):
        ori.send(f"{command} {name} *" if command == "LINKS" else f"{command} {name}")
        assert ori.lines() == [f":spark 402 spark-ori {name} :Only answered on that server itself"]


@pytest.mark.parametrize(
    "question", ["LIST * thor", "NAMES #a thor", "WHOIS thor thor-bo", "WHOWAS x 1 thor"]
)
def test_what_is_the_same_on_all_hosts_may_be_asked_of_any(question: str):
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori")
    mesh["thor"].client("bo", "#a")
    mesh.settle()
    ori.send(question)
    assert "402" not in ori.numerics()


def test_help_explains_a_command():
    ori = Network().client("spark-ori")
    for command in ("HELP", "HELPOP"):
        ori.send(f"{command} whowas")
        assert ori.lines() == [
            ":spark 704 spark-ori WHOWAS :The WHOWAS command",
            ":spark 705 spark-ori WHOWAS :",
            ":spark 705 spark-ori WHOWAS :WHOWAS nick,nick [count [server]]",
            ":spark 706 spark-ori WHOWAS :Shows who used a nick before.",
        ]


def test_help_lists_the_commands_and_says_what_it_does_not_know():
    ori = Network().client("spark-ori")
    for command in ("HELP", "HELP index", "HELPINDEX"):
        ori.send(command)
        numerics = ori.numerics()
        assert numerics[0] == "704"
        assert set(numerics[1:-1]) == {"705"}
        assert numerics[-1] == "706"
    ori.send("HELP Unknown", "HELP :no such thing")
    assert ori.lines() == [
        ":spark 524 spark-ori Unknown :No help available on this topic",
        ":spark 524 spark-ori * :No help available on this topic",
    ]


def test_help_tells_of_no_command_that_there_is_not():
    assert set(TOPICS) <= set(COMMANDS)
