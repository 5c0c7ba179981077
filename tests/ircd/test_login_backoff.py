"""Guessing gets slower, for all connections of a client together, and for nobody else."""

import pytest
from support.network import Network

from culture.config.ircd import Limits, OperConfig
from culture.ircd.auth.login_backoff import FREE, MOST, LoginBackoff
from culture.ircd.commands.session.failed_logins import count_failure, login_ready_at


def test_the_wait_doubles_up_to_the_longest():
    backoff = LoginBackoff()
    waits = []
    for _ in range(FREE + 6):
        backoff.failed("a", 100.0)
        waits.append(backoff.ready_at("a", 20.0) - 100.0)
    assert waits[: FREE - 1] == [-100.0] * (FREE - 1)
    assert waits[FREE - 1 :] == [1, 2, 4, 8, 16, 20, 20]
    assert backoff.ready_at("b", 20.0) == 0.0
    assert backoff.ready_at("a", 0.0) == 100.0


def test_failures_are_forgotten_one_by_one():
    backoff = LoginBackoff()
    for _ in range(FREE + 2):
        backoff.failed("a", 0.0)
    backoff.failed("a", 600.0)
    assert backoff.ready_at("a", 20.0) == 0.0


def test_it_remembers_so_many_clients_and_no_more():
    backoff = LoginBackoff()
    for _ in range(FREE):
        backoff.failed("first", 0.0)
    for number in range(MOST):
        backoff.failed(number, 1.0)
    assert backoff.ready_at("first", 20.0) == 0.0


def test_connecting_anew_does_not_help():
    network = Network(
        opers=(OperConfig("root", password_credential="root"),), oper_passwords={"root": "sesame"}
    )
    for number in range(FREE):
        client = network.client(f"spark-x{number}")
        client.session.client = "192.0.2.1"
        client.send("OPER root wrong")
        assert client.numerics() == ["464"]
        client.send("QUIT")
    again, other = network.client("spark-y"), network.client("spark-ori")
    again.session.client = "192.0.2.1"
    again.send("OPER root sesame")
    assert again.lines() == [
        ":spark 464 spark-y :Too many failed attempts from your address; try again in 1 s"
    ]
    other.send("OPER root sesame")
    assert "381" in other.numerics()
    network.clock.advance(1.0)
    again.send("OPER root sesame")
    assert "381" in again.numerics()


@pytest.mark.parametrize(("longest_s", "ready_at"), [(20, 1_000_001.0), (0, 1_000_000.0)])
def test_the_configuration_bounds_the_wait(longest_s: int, ready_at: float):
    network = Network(limits=Limits(login_backoff_s=longest_s, login_failures=0))
    session = network.client("spark-bo").session
    for _ in range(FREE):
        count_failure(network.ircd, session)
    assert login_ready_at(network.ircd, session.client) == ready_at
