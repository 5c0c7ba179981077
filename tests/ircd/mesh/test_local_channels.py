"""Channels with mode L: nothing of them leaves their host."""

from support.hosts import Mesh, two_in_ops


def test_others_see_its_members_leave_and_nothing_else():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    assert "#ops" in mesh["thor"].picture()

    ori.send(
        "MODE #ops +L", "PRIVMSG #ops :just us", "TOPIC #ops :ours", "KICK #ops spark-nobody", "QUIT :bye"
    )
    mesh["spark"].network.flush()

    assert [each.command for each in mesh["spark"].unsent["thor"]] == ["LEFT", "GONE"]
    mesh.settle()
    assert mesh["thor"].picture() == {}


def test_it_takes_an_operator_and_nobody_of_another_host():
    mesh, ori, bo = two_in_ops()
    ori.lines()

    ori.send("MODE #ops +L")
    assert ori.lines() == [":spark 696 spark-ori #ops L * :Somebody in the channel is on another host"]
    bo.send("PART #ops")
    mesh.settle()
    ori.send("MODE #ops +L", "MODE #ops -L")
    assert ori.lines()[1:] == [
        ":spark-ori!ori@spark MODE #ops +L",
        ":spark 696 spark-ori #ops L * :A local channel stays local until everybody has left it",
    ]


def test_a_channel_of_the_same_name_elsewhere_is_another_one():
    mesh, ori, bo = two_in_ops("MODE #ops +L")
    ori.lines()

    bo.send("PRIVMSG #ops :hello", "TOPIC #ops :tea")
    ori.send("PRIVMSG #ops :just us", "NAMES #ops")
    mesh.settle()
    assert [line for line in ori.lines() if "thor-bo" in line or "tea" in line] == []
    assert [line for line in bo.lines() if "spark-ori" in line] == []

    ori.send("PART #ops", "JOIN #ops")
    mesh.settle()

    assert ":spark 353 spark-ori = #ops :@thor-bo spark-ori" in ori.lines()
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_it_is_not_in_a_snapshot():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops", "#open")
    ori.send("MODE #ops +L")
    mesh.settle()

    lines = mesh["spark"].mesh.snapshot("spark", None)

    assert any("#open" in line for line in lines)
    assert not any("#ops" in line for line in lines)
