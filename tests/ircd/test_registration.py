"""RFC 2812 section 3.1 and IRCv3 capability negotiation: becoming somebody."""

import pytest
from support.network import Network

from culture.config.ircd import Limits


def test_nick_and_user_in_any_order_are_welcomed():
    for lines in (["NICK spark-ori", "USER ori 0 * :Ori"], ["USER ori 0 * :Ori", "NICK spark-ori"]):
        client = Network().connect()
        client.send(*lines)
        numerics = client.numerics()
        assert numerics[:5] == ["001", "002", "003", "004", "005"]
        assert numerics[-1] == "422"


def test_the_welcome_names_the_client_as_others_see_it():
    client = Network().connect(host="10.0.0.7")
    client.send("NICK spark-ori", "USER ori 0 * :Ori")
    assert client.lines()[:4] == [
        ":spark 001 spark-ori :Welcome to the Culture network, spark-ori!ori@10.0.0.7",
        ":spark 002 spark-ori :Your host is spark, running version culture-1.0",
        ":spark 003 spark-ori :This server was created 1970-01-12T13:46:40.000Z",
        ":spark 004 spark-ori spark culture-1.0 BRiow CILMRbehiklmnostv Ibehklov",
    ]


def test_isupport_tells_what_the_server_does():
    client = Network().connect()
    client.send("NICK spark-ori", "USER ori 0 * :Ori")
    lines = [line for line in client.lines() if " 005 " in line]
    several = [line.removesuffix(" :are supported by this server").split(" ")[3:] for line in lines]
    told = {token for tokens in several for token in tokens}
    assert {"CASEMAPPING=rfc1459", "PREFIX=(ohv)@%+", "CHANTYPES=#", "NICKLEN=64", "UTF8ONLY"} <= told
    assert {"CHANMODES=beI,k,l,CLMRimnst", "MAXLIST=beI:100", "STATUSMSG=@%+", "EXTBAN=~,am"} <= told
    assert all(len(tokens) <= 13 for tokens in several)
    assert all(line.endswith(" :are supported by this server") for line in lines)


def test_the_message_of_the_day_is_sent_line_by_line():
    client = Network(motd="hello\n\nworld\n").connect()
    client.send("NICK spark-ori", "USER ori 0 * :Ori")
    assert [line for line in client.lines() if " 37" in line] == [
        ":spark 375 spark-ori :- spark Message of the day - ",
        ":spark 372 spark-ori :- hello",
        ":spark 372 spark-ori :- ",
        ":spark 372 spark-ori :- world",
        ":spark 376 spark-ori :End of /MOTD command.",
    ]


@pytest.mark.parametrize(
    "command", ["JOIN #a", "PRIVMSG #a :x", "WHO *", "LIST", "MODE #a", "NOSUCH", "TOPIC #a"]
)
def test_before_registration_nothing_is_seen_or_done(command: str):
    network = Network()
    client = network.connect()
    client.send(command)
    assert client.lines() == [":spark 451 * :You have not registered"]
    assert not network.ircd.state.channels


@pytest.mark.parametrize("line", ["USER", "USER ori", "USER ori 0 *", "USER ori 0 * :"])
def test_a_user_without_all_of_it_is_not_registered(line: str):
    client = Network().connect()
    client.send("NICK spark-ori", line, "NICK spark-ori2")
    assert client.lines() == [":spark 461 spark-ori USER :Not enough parameters"]
    client.send("USER ori 0 * Ori")
    assert client.numerics()[0] == "001"


def test_after_registration_there_is_no_second_one():
    client = Network().client("spark-ori")
    client.send("USER x 0 * :x", "PASS x")
    assert client.numerics() == ["462", "462"]


@pytest.mark.parametrize(
    ("nick", "name"),
    [
        ("ori", "ori"),
        ("thor-ori", "ori"),
        ("thor-claude-2", "claude-2"),
        ("spark-", "spark-"),
        ("spark", "spark"),
        ("sparkx-ori", "ori"),
    ],
)
def test_a_nick_needs_the_prefix_of_its_host(nick: str, name: str):
    client = Network().connect()
    client.send(f"NICK {nick}")
    assert client.lines() == [f":spark 432 * {nick} :Nicks on this host begin with spark-; try spark-{name}"]


def test_the_prefix_is_compared_without_case_and_of_a_dotted_name_the_first_part():
    client = Network(name="spark.example.org").connect()
    client.send("NICK SPARK-Ori", "USER o 0 * :o")
    assert client.numerics()[0] == "001"


@pytest.mark.parametrize("nick", ["ori", "[ori]", "o_r-i", "`{|}^\\"])
def test_an_open_server_takes_any_nick(nick: str):
    client = Network(nick_policy="open").connect()
    client.send(f"NICK {nick}", "USER o 0 * :o")
    assert client.numerics()[0] == "001"


@pytest.mark.parametrize(
    "nick", ["9ori", "-ori", "o ri", "o!ri", "o@ri", "#ori", "o\x02ri", "öri", "x" * 65, "a.b", "*", ":"]
)
def test_what_is_no_nick_is_refused(nick: str):
    client = Network(nick_policy="open").connect()
    client.send(f"NICK :{nick}", "USER o 0 * :o")
    (line,) = client.lines()
    assert line.split(" ")[1:3] == ["432", "*"]
    assert line.endswith(" :Erroneous nickname")


def test_nobody_is_called_as_the_server_is():
    client = Network(nick_policy="open").connect()
    client.send("NICK Spark")
    assert client.lines() == [":spark 432 * Spark :That is the name of a server"]


def test_no_nick_given():
    client = Network().connect()
    client.send("NICK", "NICK :")
    assert client.numerics() == ["431", "431"]


def test_of_two_who_register_with_one_nick_the_first_to_be_done_has_it():
    network = Network()
    one, two = network.connect(), network.connect()
    one.send("NICK spark-ori")
    two.send("NICK spark-ori", "USER b 0 * :b")
    assert two.numerics()[0] == "001"
    one.send("USER o 0 * :o")
    assert one.lines() == [":spark 433 * spark-ori :Nickname is already in use"]
    one.send("NICK spark-kit")
    assert one.numerics()[0] == "001"


def test_a_nick_in_use_is_refused_whatever_its_case():
    network = Network(nick_policy="open")
    network.client("ori[]")
    other = network.connect()
    other.send("NICK ORI{}")
    assert other.lines() == [":spark 433 * ORI{} :Nickname is already in use"]


def test_a_username_has_no_room_for_tricks():
    client = Network().connect()
    client.send("NICK spark-ori", "USER a!b@c\x02:d 0 * :Ori")
    assert client.session.user.mask == "spark-ori!abcd@spark"


def test_a_password_is_asked_for():
    network = Network(password="secret")
    stranger, friend = network.connect(), network.connect()
    stranger.send("PASS wrong", "NICK spark-bo", "USER b 0 * :b")
    assert stranger.lines() == [
        ":spark 464 spark-bo :Password incorrect",
        "ERROR :Closing Link: spark (Password incorrect)",
    ]
    assert stranger.is_closed
    friend.send("PASS :secret", "NICK spark-ori", "USER o 0 * :o")
    assert friend.numerics()[0] == "001"


def test_whoever_does_not_register_in_time_is_let_go():
    network = Network(limits=Limits(registration_timeout_s=30))
    client = network.connect()
    client.send("CAP LS 302")
    client.lines()
    network.clock.advance(29)
    network.ircd.tick()
    assert not client.is_closed
    network.clock.advance(1)
    network.ircd.tick()
    assert client.lines() == ["ERROR :Closing Link: spark (Registration timeout)"]
    assert not network.ircd.sessions


def test_silence_is_asked_about_and_then_ended():
    network = Network(limits=Limits(ping_interval_s=90, ping_timeout_s=60))
    quiet, lively = network.client("spark-quiet", "#a"), network.client("spark-lively", "#a")
    quiet.lines()
    network.clock.advance(90)
    network.ircd.tick()
    assert quiet.lines() == ["PING :spark"]
    assert lively.lines() == ["PING :spark"]
    lively.send("PONG :spark")
    network.clock.advance(60)
    network.ircd.tick()
    assert quiet.lines() == ["ERROR :Closing Link: spark (Ping timeout: 150 seconds)"]
    assert lively.lines() == [":spark-quiet!quiet@spark QUIT :Ping timeout: 150 seconds"]


# CAP


def test_cap_ls_suspends_registration_until_cap_end():
    client = Network().connect()
    client.send("CAP LS 302", "NICK spark-ori", "USER o 0 * :o")
    *others, last = client.lines()
    assert all(line.startswith(":spark CAP * LS * :") for line in others)
    assert last.startswith(":spark CAP * LS :")
    assert "message-tags" in " ".join([*others, last]).replace(" :", " ").split(" ")
    client.send("CAP END")
    assert client.numerics()[0] == "001"


def test_cap_req_is_all_or_nothing():
    client = Network().connect()
    client.send(
        "CAP REQ :message-tags no-such-cap", "CAP LIST", "CAP REQ :message-tags server-time", "CAP LIST"
    )
    assert client.lines() == [
        ":spark CAP * NAK :message-tags no-such-cap",
        ":spark CAP * LIST :",
        ":spark CAP * ACK :message-tags server-time",
        "@time=1970-01-12T13:46:40.000Z :spark CAP * LIST :message-tags server-time",
    ]


def test_a_long_request_is_acknowledged_in_full():
    client = Network().connect()
    client.send("CAP REQ :" + "-batch " * 71, "CAP REQ :")
    *lines, last = client.lines()
    assert last == ":spark CAP * ACK :"
    assert [line.startswith(":spark CAP * ACK :-batch") for line in lines] == [True, True]
    assert sum(line.count("-batch") for line in lines) == 71


def test_a_capability_can_be_given_back_also_after_registration():
    client = Network().client("spark-ori", caps="message-tags")
    client.send("CAP REQ :-message-tags", "CAP LIST")
    assert client.lines() == [":spark CAP spark-ori ACK :-message-tags", ":spark CAP spark-ori LIST :"]


def test_cap_302_has_cap_notify_for_good():
    client = Network().connect()
    client.send("CAP LS 302")
    client.lines()
    client.send("CAP LIST", "CAP REQ :-cap-notify")
    assert client.lines() == [":spark CAP * LIST :cap-notify", ":spark CAP * NAK :-cap-notify"]


def test_cap_after_registration_does_not_end_it():
    client = Network().client("spark-ori")
    client.send("CAP LS 302", "CAP END", "PING x")
    assert client.lines()[-1] == ":spark PONG spark :x"


def test_an_unknown_cap_subcommand_is_refused():
    client = Network().connect()
    client.send("CAP FOO", "CAP")
    assert client.lines() == [
        ":spark 410 * FOO :Invalid CAP command",
        ":spark 461 * CAP :Not enough parameters",
    ]


def test_a_user_name_is_cut_by_its_bytes():
    network = Network()
    client = network.connect()
    client.send("NICK spark-ori", f"USER {'é' * 20} 0 * :o")
    assert client.lines()[0].endswith(f" spark-ori!{'é' * 8}@spark")
