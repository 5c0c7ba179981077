"""RFC 2812 sections 3.4, 3.6 and 4: who and what is here, and whether the server is."""

from support.network import Network


def test_who_lists_the_members_of_a_channel():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    bo.send("WHO #A")
    assert bo.lines() == [
        ":spark 352 spark-bo #a ori spark spark spark-ori H@ :0 spark-ori",
        ":spark 352 spark-bo #a bo spark spark spark-bo H :0 spark-bo",
        ":spark 315 spark-bo #A :End of WHO list",
    ]
    ori.lines()


def test_who_finds_a_nick_a_mask_or_nobody():
    network = Network()
    ori = network.client("spark-ori")
    network.client("spark-claude")
    network.client("spark-codex")
    ori.send("WHO spark-CLAUDE")
    assert ori.lines()[0] == ":spark 352 spark-ori * claude spark spark spark-claude H :0 spark-claude"
    ori.send("WHO spark-c*")
    assert ori.numerics() == ["352", "352", "315"]
    ori.send("WHO spark-c?dex")
    assert ori.numerics() == ["352", "315"]
    ori.send("WHO nobody", "WHO #nope", "WHO")
    assert ori.numerics() == ["315", "315", "352", "352", "352", "315"]


def test_a_mask_with_many_stars_costs_nothing():
    network = Network()
    ori = network.client("spark-ori")
    network.client("spark-" + "a" * 50)
    ori.send("WHO " + "*a" * 25 + "b")
    assert ori.numerics() == ["315"]


def test_the_invisible_are_found_by_those_who_share_a_channel_and_by_name():
    network = Network()
    shy, friend = network.client("spark-shy", "#a"), network.client("spark-friend", "#a")
    stranger = network.client("spark-stranger")
    shy.send("MODE spark-shy +i")
    for client, found in ((friend, True), (stranger, False)):
        client.lines()
        client.send("WHO spark-s*")
        assert any("spark-shy" in line for line in client.lines()) is found
    stranger.send("WHO spark-shy", "NAMES #a", "WHO #a")
    lines = stranger.lines()
    assert "spark-shy" in lines[0]
    assert not any("spark-shy" in line for line in lines[2:])


def test_whois_tells_who_somebody_is():
    network = Network()
    ori = network.client("spark-ori", "#a", "#b")
    bo = network.client("spark-bo")
    network.clock.advance(7)
    bo.send("WHOIS SPARK-ori")
    assert bo.lines() == [
        ":spark 311 spark-bo spark-ori ori spark * :spark-ori",
        ":spark 319 spark-bo spark-ori :@#a @#b",
        ":spark 312 spark-bo spark-ori spark :Culture IRC server",
        ":spark 317 spark-bo spark-ori 7 1000000 :seconds idle, signon time",
        ":spark 318 spark-bo spark-ori :End of /WHOIS list",
    ]
    ori.lines()


def test_whois_of_nobody_and_of_a_server():
    network = Network()
    bo = network.client("spark-bo")
    bo.send(
        "WHOIS spark-no", "WHOIS", "WHOIS spark spark-bo", "WHOIS spark-bo spark-bo", "WHOIS thor spark-bo"
    )
    numerics = bo.numerics()
    assert numerics[:3] == ["401", "318", "431"]
    assert numerics[3:] == ["311", "312", "317", "318", "311", "312", "317", "318", "402"]


def test_ping_is_answered_with_what_was_sent():
    ori = Network().client("spark-ori")
    ori.send("PING :a b", "PING")
    assert ori.lines() == [":spark PONG spark :a b", ":spark 409 spark-ori :No origin specified"]


def test_userhost_and_lusers_and_motd():
    network = Network()
    ori = network.client("spark-ori")
    ori.send("USERHOST spark-ori nobody", "MOTD", "MOTD spark", "MOTD thor", "LUSERS")
    lines = ori.lines()
    assert lines[0] == ":spark 302 spark-ori :spark-ori=+ori@spark"
    assert [line.split(" ")[1] for line in lines[1:4]] == ["422", "422", "402"]
    assert lines[4] == ":spark 251 spark-ori :There are 1 users and 0 invisible on 1 servers"


def test_an_unknown_command_is_named():
    ori = Network().client("spark-ori")
    ori.send("HELLO world")
    assert ori.lines() == [":spark 421 spark-ori HELLO :Unknown command"]
