"""Links begin with proofs in both directions. Who cannot give them learns nothing, and is written down."""

from dataclasses import replace

import pytest
from support.mesh.few import Hosts, quiet_mesh

from culture.federation.handshake import UNPROVED
from culture.federation.link import Outbox
from culture.federation.mesh import Mesh
from culture.federation.ports import Caller, NoteKind, Peer
from culture.names import Folded
from culture.protocol.line import parse_line

THOR = Peer("thor", "sesame")
INTRODUCED = ["PASS :sesame", "SERVER spark 1 :"]


def offer(
    mesh: Mesh, *, secret: str = "sesame", server: str = "SERVER thor 1 :x", caller: str = "10.0.0.7"
) -> Outbox:
    mesh.offered("thor-calls", secret, parse_line(server), Caller(caller, "aa" * 32))
    return mesh.flush()


def told(outbox: Outbox) -> list[str]:
    return outbox.lines.get("thor-calls", [])


def test_the_called_side_introduces_itself_only_to_who_proved_who_it_is() -> None:
    outbox = offer(quiet_mesh("spark", THOR))

    assert told(outbox) == [*INTRODUCED, "LINK 2 1790000000 1790000000000 *"]


@pytest.mark.parametrize(
    ("peer", "fields", "written_down"),
    [
        (THOR, {"secret": "wrong"}, "10.0.0.7 has the wrong secret for 'thor'"),
        (THOR, {"secret": ""}, "10.0.0.7 has the wrong secret for 'thor'"),
        (THOR, {"server": "SERVER orin 1 :x"}, "10.0.0.7 calls itself 'orin', which is not among our links"),
        (THOR, {"server": "SERVER spark 1 :x"}, "10.0.0.7 calls itself 'spark', which is our own name"),
        (
            replace(THOR, accept_from=("10.1.0.0/16", "unix")),
            {},
            "10.0.0.7 calls itself 'thor', which does not come from 10.0.0.7",
        ),
        (
            replace(THOR, accept_fingerprint="bb" * 32),
            {},
            "10.0.0.7 calls itself 'thor', which has another certificate",
        ),
    ],
)
def test_who_is_refused_is_told_the_same_whatever_was_wrong(
    peer: Peer, fields: dict[str, str], written_down: str
) -> None:
    outbox = offer(quiet_mesh("spark", peer), **fields)

    assert told(outbox) == [f"ERROR :{UNPROVED}"]
    assert [key for key, _ in outbox.closings] == ["thor-calls"]
    assert [(note.kind, note.text) for note in outbox.notes] == [(NoteKind.REFUSED, written_down)]


def test_who_comes_from_the_right_place_with_the_right_certificate_is_let_in() -> None:
    peer = replace(THOR, accept_from=("10.0.0.0/24",), accept_fingerprint="aa" * 32)

    assert told(offer(quiet_mesh("spark", peer)))[:2] == INTRODUCED


def test_nothing_is_said_or_heard_after_a_refusal() -> None:
    mesh = quiet_mesh("spark", THOR)
    offer(mesh, secret="wrong")

    mesh.received("thor-calls", b"LINK 2 1790000000 1790000000000 *")
    mesh.received("thor-calls", b"WANT 1 spark")

    assert mesh.flush() == Outbox()


def test_a_host_that_is_linked_already_is_refused() -> None:
    hosts = Hosts("spark-thor")

    outbox = offer(hosts["spark"].mesh)

    assert told(outbox) == ["ERROR :Link refused: thor is linked already"]
    assert outbox.notes[0].text == "10.0.0.7 'thor' is linked already"
    assert "thor" in hosts["spark"].mesh.links.up


def test_another_version_is_refused_by_name() -> None:
    outbox = offer(quiet_mesh("spark", THOR), server="SERVER thor 2 :x")

    assert told(outbox) == ["ERROR :Link refused: version 1 is spoken here, not 2"]


def test_who_speaks_of_users_in_another_way_is_refused_by_the_version_that_it_says() -> None:
    mesh = quiet_mesh("spark", THOR)
    offer(mesh)

    mesh.received("thor-calls", b"LINK 1 1790000000 1790000000000 *")

    assert told(mesh.flush()) == ["ERROR :Link refused: version 2 is spoken here, not 1"]


def test_the_caller_says_no_more_than_its_introduction_until_the_other_proved_who_it_is() -> None:
    mesh = quiet_mesh("spark", THOR)
    mesh.dialed("call", "thor")
    assert mesh.flush().lines == {"call": INTRODUCED}

    mesh.received("call", b"PASS :sesame")
    mesh.received("call", b"SERVER thor 1 :")
    assert mesh.flush().lines == {}

    mesh.received("call", b"LINK 2 1790000000 1790000000000 *")
    assert mesh.flush().lines["call"][0] == "LINK 2 1790000000 1790000000000 *"


@pytest.mark.parametrize(
    ("lines", "written_down"),
    [
        (["PASS :wrong", "SERVER thor 1 :"], "has the wrong secret for 'thor'"),
        (["SERVER thor 1 :"], "has the wrong secret for 'thor'"),
        (["PASS :sesame", "SERVER orin 1 :"], "should be 'thor', and calls itself 'orin'"),
        (["LINK 2 1 1 *"], "said 'LINK' before it said who it is"),
        (["HOST thor 1 1 :"], "said 'HOST' before it said who it is"),
        (["PASS :sesame", "SERVER thor 1 :", "WANT 1 spark"], "said 'WANT' before LINK"),
        (["ERROR :go away"], "refused us: go away"),
    ],
)
def test_a_host_that_was_called_has_to_be_the_one_it_should_be(lines: list[str], written_down: str) -> None:
    mesh = quiet_mesh("spark", THOR)
    mesh.dialed("call", "thor")
    mesh.flush()

    for line in lines:
        mesh.received("call", line.encode())
    outbox = mesh.flush()

    assert [(note.kind, note.text) for note in outbox.notes] == [(NoteKind.REFUSED, written_down)]
    assert len(outbox.lines["call"]) == 1
    assert outbox.lines["call"][0].startswith("ERROR :Link refused")
    assert [key for key, _ in outbox.closings] == ["call"]
    assert not mesh.links.up


def test_who_does_not_say_in_time_who_it_is_is_hung_up_on() -> None:
    hosts = Hosts("spark-thor")
    hosts.world.crash("thor")
    mesh = hosts["spark"].mesh
    mesh.dialed("call", "thor")
    hosts.world.now += 20

    mesh.tick()

    assert ("call", UNPROVED) in mesh.flush().closings


def test_two_hosts_that_call_each_other_end_up_with_one_link() -> None:
    """The call of the one that sorts first counts."""
    orin, thor = quiet_mesh("orin", THOR), quiet_mesh("thor", Peer("orin", "sesame"))
    orin.dialed("ours", "thor")
    thor.dialed("ours", "orin")
    thor.flush()

    orin.offered("theirs", "sesame", parse_line("SERVER thor 1 :"), Caller("10.0.0.7"))
    thor.offered("theirs", "sesame", parse_line("SERVER orin 1 :"), Caller("10.0.0.8"))

    assert orin.flush().lines["theirs"] == ["ERROR :Link refused: thor is being called"]
    outbox = thor.flush()
    assert outbox.lines["ours"] == ["ERROR :It called us"]
    assert outbox.lines["theirs"][:1] == ["PASS :sesame"]


def test_a_clock_that_is_off_is_warned_about() -> None:
    mesh = quiet_mesh("spark", THOR)
    offer(mesh)

    mesh.received("thor-calls", b"LINK 2 1790000090 1790000090500 *")

    assert [note.text for note in mesh.flush().notes] == ["linked", "its clock differs from ours by +90.5 s"]


def test_a_link_is_limited_to_what_both_sides_allow() -> None:
    mesh = quiet_mesh("spark", replace(THOR, channels=frozenset({Folded("#a"), Folded("#b")})))
    offer(mesh)

    mesh.received("thor-calls", b"LINK 2 1790000000 1790000000000 #b,#c")

    assert mesh.links.up["thor"].scope == frozenset({Folded("#b")})
    assert mesh.flush().notes[0].text == "linked, limited to #b"
