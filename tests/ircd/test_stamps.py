"""Of two changes of the same thing the later one wins, whichever is heard of first."""

from itertools import permutations

from culture.ircd.model.channel import Status
from culture.ircd.replication.stamps import NEVER, Stamp, Standing, format_stamp, parse_stamp


def test_a_stamp_is_its_time_and_then_its_host():
    assert NEVER < Stamp(1, "orin") < Stamp(1, "thor") < Stamp(2, "orin")
    assert parse_stamp(format_stamp(Stamp(7, "thor"))) == Stamp(7, "thor")


def test_who_was_kicked_is_out_until_they_come_again_in_whatever_order_it_is_heard():
    for order in permutations(["join", "kick", "again"]):
        standing = Standing()
        for what in order:
            if what == "kick":
                standing.kick(Stamp(2, "thor"))
            else:
                standing.join(Stamp(1 if what == "join" else 3, "spark"))
        assert standing.joined > standing.kicked


def test_a_status_that_was_given_before_somebody_came_again_is_gone():
    for order in permutations(["given", "came", "voiced"]):
        standing = Standing()
        for what in order:
            if what == "came":
                standing.join(Stamp(2, "spark"))
            elif what == "given":
                standing.give(Status.OPERATOR, Stamp(1, "thor"), present=True)
            else:
                standing.give(Status.VOICED, Stamp(3, "thor"), present=True)
        assert standing.held == {Status.VOICED}
