"""Sessions and channels as plain values: another server made from them answers as the first one did."""

import dataclasses
import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fuzz.generate import random_game
from support.fuzz.play import new_game
from support.fuzz.steps import Step
from support.network import Client, Network

from culture.ircd.auth.proof import Proof
from culture.ircd.model.channel import Channel, Setting, Topic
from culture.ircd.model.user import User
from culture.ircd.replication.stamps import Stamp
from culture.ircd.restart.snapshot import (
    account_values,
    channel_values,
    drop_empty_channels,
    restore_account,
    restore_channel,
    restore_session,
    session_values,
)
from culture.ircd.server import Ircd
from culture.ircd.session import Phase, Session

Known = dict[tuple[str, Any], Any]

CAPS = "away-notify account-tag draft/metadata-3 draft/read-marker draft/multiline batch multi-prefix"
NICKS = ("ori", "bo", "kit")
COMMANDS = (
    "JOIN #a", "JOIN #b", "JOIN #a,#c", "PART #a", "PART #b :done", "TOPIC #a :tea", "TOPIC #b :",
    "MODE #a +sk key", "MODE #a -s", "MODE #a +l 7", "MODE #b +im", "MODE #b -i", "MODE #a +b spam!*@*",
    "MODE #a +e kit!*@*", "MODE #a -b spam!*@*", "MODE #b +I *!*@10.0.0.7", "MODE #a +vo spark-bo spark-kit",
    "MODE #a -o spark-ori", "KICK #a spark-bo :out", "INVITE spark-kit #b", "INVITE spark-ori #a",
    "AWAY :tea", "AWAY", "SETNAME :Somebody", "MONITOR + spark-bo,spark-ann", "MONITOR - spark-bo",
    "METADATA * SET url :https://example.org", "METADATA #a SET about :tea", "METADATA * SUB url",
    "MARKREAD #a timestamp=1970-01-01T00:00:00.000Z", "RENAME #b #d :new", "MODE spark-ori +iw",
    "NICK spark-x", "NICK spark-y", "PRIVMSG #a :hello", "QUIT :bye", "CAP REQ :-batch", "CAP REQ :sasl",
    "BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one", "@batch=1 PRIVMSG #a :two",
)  # fmt: skip
QUESTIONS = (
    "CAP LIST", "LIST", "WHO #a", "WHO #b", "WHO *", "MODE #a", "MODE #b", "MODE #a b", "MODE #a e",
    "MODE #b I", "TOPIC #a", "TOPIC #b", "MONITOR L", "MONITOR S", "METADATA * LIST", "METADATA #a LIST",
    "METADATA * SUBS", "MARKREAD #a", "WHOIS spark-ori", "WHOIS spark-bo", "WHOIS spark-kit",
    "WHOIS spark-x", "JOIN #b", "JOIN #c", "BATCH -1",
)  # fmt: skip


def all_of(ircd: Ircd) -> Known:
    """What there is to know, with sessions by themselves."""
    state = ircd.state
    accounts = {*state.metadata.of_accounts, *state.markers.of_accounts}
    return {
        **{("channel", key): channel_values(channel) for key, channel in state.channels.items()},
        **{("account", account): account_values(state, account) for account in accounts},
        **{("session", session): session_values(ircd, session) for session in ircd.sessions},
    }


def take_changes(ircd: Ircd, known: Known) -> None:
    """As who keeps a file: only what changed is looked at."""
    changes, state = ircd.state.dirty, ircd.state
    for session in changes.sessions:
        is_over = session.phase is Phase.CLOSED
        known["session", session] = None if is_over else session_values(ircd, session)
    for key in changes.channels:
        channel = state.channels.get(key)
        known["channel", key] = channel_values(channel) if channel is not None else None
    for account in changes.accounts:
        known["account", account] = account_values(state, account)
    changes.clear()


def restored(ircd: Ircd) -> tuple[Network, dict[Any, Client]]:
    """Another server, made from what the first one would write to a file, and its clients."""
    network = Network(nick_policy="prefixed")
    clients = {}
    for (kind, key), value in all_of(ircd).items():
        read = json.loads(json.dumps(value))
        if kind == "channel":
            restore_channel(network.ircd.state, read)
        elif kind == "account":
            restore_account(network.ircd.state, key, read)
        else:
            clients[key] = network.adopt(restore_session(network.ircd, read, in_order=True))
    drop_empty_channels(network.ircd.state)
    return network, clients


def answers(client: Client, question: str) -> list[str]:
    """In any order; the names of batches are of no account."""
    client.send(question)
    lines = (re.sub(r"\bm[0-9a-f]+\b", "m", line) for line in client.lines())
    return sorted(" ".join(sorted(line.replace(":", "").split(" "))) for line in lines)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(COMMANDS)), max_size=40))
def test_another_server_answers_as_the_first_one_did(said: list[tuple[int, str]]):
    network = Network()
    clients = [network.client(f"spark-{nick}", "#a", caps=CAPS) for nick in NICKS]
    for number, line in said:
        clients[number].send(line)
    for client in clients:
        client.lines()

    another, others = restored(network.ircd)

    for state in (network.ircd.state, another.ircd.state):
        assert state.closed == {key for key, channel in state.channels.items() if not channel.is_public}
        assert state.guarded == {key for key, channel in state.channels.items() if channel.guard.bans}
    for client in clients:
        if not client.is_closed:
            for question in QUESTIONS:
                assert answers(others[client.session], question) == answers(client, question), question


def _whole(values: dict[str, Any]) -> dict[str, Any]:
    """Without what a crash cuts off anyway."""
    return {name: value for name, value in values.items() if name != "draft"}


@pytest.mark.parametrize("seed", range(4))
def test_what_changed_is_known_to_have_changed(seed: int):
    with new_game() as game:
        ircd, random = game._ircd, Random(seed)
        ircd.state.dirty.is_wanted = True
        known: Known = {}
        for step in random_game(random, game.here):
            game.step(step)
            game.step(Step("turn"))
            ircd.state.dirty.sessions |= dict.fromkeys(ircd.sessions - {key[1] for key in known})
            take_changes(ircd, known)
            there = all_of(ircd)
            known = {key: value for key, value in known.items() if value}
            assert known.keys() == there.keys()
            for key, value in there.items():
                assert _whole(known[key]) == _whole(value), step


def test_who_is_invited_to_a_channel_is_written_down_anew_with_its_name():
    network = Network()
    network.ircd.state.dirty.is_wanted = True
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo")
    known: Known = {}
    ori.send("MODE #a +i", "INVITE spark-bo #a")
    take_changes(network.ircd, known)

    ori.send("RENAME #a #b")
    take_changes(network.ircd, known)

    assert known["session", bo.session]["invited_to"].keys() == {"#b"}


def test_what_cannot_go_on_is_told():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="draft/multiline batch standard-replies")
    ori.send("BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one")
    values = session_values(network.ircd, ori.session)
    other = Network()
    restore_channel(other.ircd.state, channel_values(network.ircd.state.channels["#a"]))

    session = restore_session(other.ircd, json.loads(json.dumps(values)), in_order=False)

    [told] = other.adopt(session).lines()
    assert told.startswith(":spark FAIL BATCH MULTILINE_INVALID ")


# By another name, or made again from what is kept.
KEPT_OTHERWISE = {
    # `kind` follows from what the session can prove.
    User: {"mask", "modes", "session", "spoke_at", "channels", "invites", "server", "kind"},
    Session: {
        "user",
        "phase",
        "password",
        "caps",
        "form",
        "wants_echo",
        "subscriptions",
        "draft",
        "exchange",
        # The connection knows it.
        "uid",
        "is_administrator",
    },
    Channel: {"members", "masks", "is_local", "_readers", "_has_agents"},
}
NOT_KEPT = {
    # Of the process: its timers, its output, its questions.
    Session: {
        "heard_at", "ping_sent_at", "unlabeled", "write", "credit", "outlet", "question", "close_reason",
        "client", "question_count", "metadata_changes", "metadata_since", "hinted_at", "recorded_bytes",
    },
}  # fmt: skip


@pytest.mark.parametrize("thing", [User, Session, Channel])
def test_nothing_is_forgotten(thing: type[Any]):
    """Whoever gives these a field says here what becomes of it in a restart."""
    network = Network(password="secret")
    ori = network.connect()
    ori.send("PASS secret", "CAP REQ :batch", "NICK spark-ori", "USER ori 0 * :Ori", "CAP END", "JOIN #a")
    ori.session.oper, ori.session.fingerprint, ori.session.is_secure = "admin", "ab", True
    ori.session.is_local = ori.session.is_trusted = ori.session.is_negotiating = True
    ori.session.is_unidentified = True
    ori.session.proof, ori.session.unix_user = Proof.PASSWORD, "ori"
    ori.session.failures, ori.session.cap_version, user = 1, 302, ori.session.user
    user.account, user.away, user.metadata, user.markers = "ori", "tea", {"a": "b"}, {"#a": "now"}
    channel = network.ircd.state.channels["#a"]
    channel.topic, channel.metadata, channel.settings = (
        Topic("tea", "ori", 1.0),
        {"a": "b"},
        {Setting.KEY: "k"},
    )
    channel.stamps, channel.made_anew = {"topic": Stamp(1000, "spark")}, Stamp(1, "spark")
    channel.torn = frozenset({"thor"})
    values = {**session_values(network.ircd, ori.session), **channel_values(channel)}

    fields = {field.name for field in dataclasses.fields(thing)}

    assert fields - KEPT_OTHERWISE[thing] - NOT_KEPT.get(thing, set()) <= values.keys()
