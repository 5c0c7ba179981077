"""Links begin with proofs both ways. Who cannot give them learns nothing, and the journal says why."""

from dataclasses import replace

import pytest
from support.mesh.few import Hosts, nonce, quiet_mesh

from culture.federation.links.attempts import MAX_FAILURES
from culture.federation.links.challenge import LinkChallenge, Role
from culture.federation.links.handshake import OLD_VERSION, TOO_OFTEN, UNPROVED
from culture.federation.links.link import Outbox
from culture.federation.mesh import Mesh
from culture.federation.ports import Caller, MeshNoteKind, Peer
from culture.names import Folded
from culture.protocol.line import parse_line

THOR = Peer("thor", "sesame")
PLAIN_THOR = replace(THOR, plain_secret=True)
PIN = "aa" * 32
# The nonce that a test chose for the other side, and those that the mesh takes in turn.
THEIRS, OURS, SECOND = "f" * 32, nonce(1), nonce(2)
GREETING = "LINK 3 1790000000 1790000000000 *"
CALLED = LinkChallenge("thor", "spark", THEIRS, OURS)
CALLING = LinkChallenge("spark", "thor", OURS, THEIRS)


def proof(challenge: LinkChallenge, role: Role, secret: str = "sesame") -> str:
    return f"PROOF {challenge.proof(secret, role)}"


class Connection:
    """One that comes to the mesh, or that the mesh makes."""

    def __init__(
        self, mesh: Mesh, *, address: str = "10.0.0.7", fingerprint: str = "", key: str = "x"
    ) -> None:
        self.mesh = mesh
        self.caller = Caller(address, fingerprint)
        self.key = key
        self.outbox = Outbox()
        self._password = ""
        self._is_introduced = False

    def dial(self, name: str = "thor") -> list[str]:
        self._is_introduced = True
        self.mesh.dialed(self.key, name)
        return self._heard()

    def say(self, *lines: str) -> list[str]:
        """What is answered, in one turn."""
        for line in lines:
            parsed = parse_line(line)
            if self._is_introduced:
                self.mesh.received(self.key, line.encode())
            elif parsed.command == "PASS":
                self._password = parsed.param(0)
            else:
                self._is_introduced = True
                self.mesh.offered(self.key, self._password, parsed, self.caller)
        return self._heard()

    def _heard(self) -> list[str]:
        self.outbox = self.mesh.flush()
        return self.outbox.lines.get(self.key, [])

    @property
    def notes(self) -> list[tuple[MeshNoteKind, str]]:
        return [(note.kind, note.text) for note in self.outbox.notes]

    @property
    def is_closed(self) -> bool:
        return self.key in [key for key, _ in self.outbox.closings]


def play(connection: Connection, transcript: list[str]) -> None:
    """Lines with > in front are said to the mesh, those with < are what it answers, no more and no less."""
    answers: list[str] = []
    for line in transcript:
        if line.startswith("> "):
            assert answers == []
            answers = connection.say(line[2:])
        else:
            assert answers
            assert answers.pop(0) == line[2:]
    assert answers == []


def linked(mesh: Mesh, **about: str) -> Connection:
    """Another host that came and proved who it is, up to its LINK."""
    connection = Connection(mesh, **about)
    connection.say(f"SERVER thor 3 {THEIRS}")
    connection.say(proof(CALLED, Role.CALLER))
    return connection


# What is said on connections that come to us.

HELLO = [f"> SERVER thor 3 {THEIRS}", f"< SERVER spark 3 {OURS}"]
PROVED = [
    f"> {proof(CALLED, Role.CALLER)}",
    f"< {proof(CALLED, Role.CALLED)}",
    f"< {GREETING}",
]
PLAIN = [
    "> PASS :sesame",
    "> SERVER thor 1 :x",
    "< PASS :sesame",
    "< SERVER spark 1 :",
    f"< {GREETING}",
]
WRONG_SECRET = "10.0.0.7 has the wrong secret for 'thor'"
SPARK_TO_US = LinkChallenge("spark", "spark", THEIRS, OURS)
VERSIONS = "Link refused: this host speaks version 3 of links and you speak version"
TOO_OLD = (
    "10.0.0.7 speaks version 2 of links or older, and we speak version 3; 'thor' is not configured for PASS"
)


@pytest.mark.parametrize("peer", [THOR, PLAIN_THOR])
def test_both_sides_prove_the_secret_and_neither_sends_it(peer: Peer) -> None:
    mesh = quiet_mesh("spark", peer)
    connection = Connection(mesh)

    play(connection, [*HELLO, *PROVED])
    connection.say(GREETING)

    assert list(mesh.links.up) == ["thor"]
    assert connection.notes == [(MeshNoteKind.LINKED, "linked")]


def refused(told: str = UNPROVED) -> str:
    return f"< ERROR :{told}"


CALLS = {
    "wrong secret": (
        [*HELLO, f"> {proof(CALLED, Role.CALLER, 'wrong')}", refused()],
        WRONG_SECRET,
    ),
    "no secret": ([*HELLO, f"> {proof(CALLED, Role.CALLER, '')}", refused()], WRONG_SECRET),
    "empty proof": ([*HELLO, "> PROOF :", refused()], WRONG_SECRET),
    "secret instead of a proof": ([*HELLO, "> PROOF sesame", refused()], WRONG_SECRET),
    "unknown name": (
        [
            f"> SERVER orin 3 {THEIRS}",
            f"< SERVER spark 3 {OURS}",
            f"> {proof(CALLED._replace(caller='orin'), Role.CALLER)}",
            refused(),
        ],
        "10.0.0.7 calls itself 'orin', which is not among our links",
    ),
    "our own name": (
        [
            f"> SERVER spark 3 {THEIRS}",
            f"< SERVER spark 3 {OURS}",
            f"> {proof(SPARK_TO_US, Role.CALLER)}",
            refused(),
        ],
        "10.0.0.7 calls itself 'spark', which is our own name",
    ),
    "proof under another name": (
        [*HELLO, f"> {proof(CALLED._replace(caller='orin'), Role.CALLER)}", refused()],
        WRONG_SECRET,
    ),
    "proof for another host": (
        [*HELLO, f"> {proof(CALLED._replace(called='orin'), Role.CALLER)}", refused()],
        WRONG_SECRET,
    ),
    "proof of the other role": ([*HELLO, f"> {proof(CALLED, Role.CALLED)}", refused()], WRONG_SECRET),
    "proof of an earlier connection": (
        [*HELLO, f"> {proof(CALLED._replace(called_nonce=SECOND), Role.CALLER)}", refused()],
        WRONG_SECRET,
    ),
    "proof with its nonce in both places": (
        [*HELLO, f"> {proof(CALLED._replace(called_nonce=THEIRS), Role.CALLER)}", refused()],
        WRONG_SECRET,
    ),
    "LINK instead of a proof": (
        [*HELLO, f"> {GREETING}", refused()],
        "10.0.0.7 said 'LINK' before it proved who it is",
    ),
    "a request instead of a proof": (
        [*HELLO, "> WANT 1 spark", refused()],
        "10.0.0.7 said 'WANT' before it proved who it is",
    ),
    "PASS behind the challenge": (
        [*HELLO, "> PASS :sesame", refused()],
        "10.0.0.7 said 'PASS' before it proved who it is",
    ),
    "PASS, which is not configured": (
        ["> PASS :sesame", "> SERVER thor 1 :x", refused(OLD_VERSION)],
        TOO_OLD,
    ),
    "PASS with a wrong secret": (["> PASS :wrong", "> SERVER thor 1 :x", refused(OLD_VERSION)], TOO_OLD),
    "an old host that is not known": (
        ["> PASS :sesame", "> SERVER orin 1 :x", refused(OLD_VERSION)],
        "10.0.0.7 calls itself 'orin', which is not among our links",
    ),
    "an older version": (
        [f"> SERVER thor 2 {THEIRS}", refused(f"{VERSIONS} 2")],
        "10.0.0.7 speaks version 2 of links, and we speak version 3",
    ),
    "a newer version": (
        [f"> SERVER thor 4 {THEIRS}", refused(f"{VERSIONS} 4")],
        "10.0.0.7 speaks version 4 of links, and we speak version 3",
    ),
    "no version": (
        [f"> SERVER thor :a host {'x' * 99}", refused(f"{VERSIONS} a host xxxxxxxxxxxxx")],
        "10.0.0.7 speaks version a host xxxxxxxxxxxxx of links, and we speak version 3",
    ),
    "no nonce": (
        ["> SERVER thor 3 :x", refused("Link refused: SERVER is malformed")],
        "10.0.0.7 SERVER has no nonce",
    ),
    "an older version behind the proofs": (
        [*HELLO, *PROVED, "> LINK 2 1790000000 1790000000000 *", refused(f"{VERSIONS} 2")],
        "speaks version 2 of links, and we speak version 3",
    ),
    "something else than LINK": (
        [*HELLO, *PROVED, "> WANT 1 spark", refused("Link refused: expected LINK 3")],
        "said 'WANT' before LINK",
    ),
    "no numbers": (
        [*HELLO, *PROVED, f"> LINK 3 {'9' * 4301} 1 *", refused("Link refused: LINK is malformed")],
        "LINK is malformed",
    ),
}


@pytest.mark.parametrize("what", CALLS)
def test_who_comes_and_is_refused_learns_less_than_the_journal(what: str) -> None:
    transcript, written_down = CALLS[what]
    connection = Connection(quiet_mesh("spark", THOR))

    play(connection, transcript)

    assert len(connection.notes) == 1
    assert connection.notes[0][0] is MeshNoteKind.REFUSED
    assert connection.notes[0][1].startswith(written_down)
    assert connection.is_closed
    assert not connection.mesh.links.up


@pytest.mark.parametrize(
    ("peer", "written_down"),
    [
        (
            replace(THOR, accept_from=("10.1.0.0/16", "unix")),
            "10.0.0.7 calls itself 'thor', which does not come from 10.0.0.7",
        ),
        (
            replace(THOR, accept_fingerprint="bb" * 32),
            "10.0.0.7 calls itself 'thor', which has another certificate",
        ),
    ],
)
def test_who_comes_from_elsewhere_is_told_the_same_as_with_a_wrong_secret(
    peer: Peer, written_down: str
) -> None:
    connection = Connection(quiet_mesh("spark", peer), fingerprint=PIN)

    play(connection, [*HELLO, f"> {proof(CALLED, Role.CALLER)}", refused()])

    assert connection.notes == [(MeshNoteKind.REFUSED, written_down)]


def test_who_comes_from_the_right_place_with_the_right_certificate_is_let_in() -> None:
    peer = replace(THOR, accept_from=("10.0.0.0/24",), accept_fingerprint=PIN)

    play(Connection(quiet_mesh("spark", peer), fingerprint=PIN), [*HELLO, *PROVED])


def test_nothing_is_said_or_heard_after_a_refusal() -> None:
    mesh = quiet_mesh("spark", THOR)
    connection = Connection(mesh)
    play(connection, CALLS["wrong secret"][0])

    connection.say(proof(CALLED, Role.CALLER), GREETING, "WANT 1 spark")

    assert connection.outbox == Outbox()


def test_a_proof_is_good_for_one_connection() -> None:
    mesh = quiet_mesh("spark", THOR)
    linked(mesh, key="first").say("ERROR :bye")
    replayed = Connection(mesh, key="second")

    answers = replayed.say(f"SERVER thor 3 {THEIRS}")
    assert answers == [f"SERVER spark 3 {SECOND}"]
    assert replayed.say(proof(CALLED, Role.CALLER)) == [f"ERROR :{UNPROVED}"]


def test_a_host_does_not_prove_to_itself_who_somebody_else_is() -> None:
    """Somebody in the middle lets the host that it calls answer its own challenge."""
    mesh = quiet_mesh("spark", THOR)
    dialed, coming = Connection(mesh, key="dialed"), Connection(mesh, key="coming")
    assert dialed.dial() == [f"SERVER spark 3 {OURS}"]

    (challenge,) = coming.say(f"SERVER thor 3 {OURS}")
    (answer,) = dialed.say(challenge.replace("SERVER spark", "SERVER thor"))

    assert answer == proof(LinkChallenge("spark", "thor", OURS, SECOND), Role.CALLER)
    assert coming.say(answer) == [f"ERROR :{UNPROVED}"]
    assert not mesh.links.up


# Plain secrets, where they are configured.


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "unix"])
def test_a_secret_that_is_sent_is_taken_on_loopback_if_that_is_configured(address: str) -> None:
    play(Connection(quiet_mesh("spark", PLAIN_THOR), address=address), PLAIN)


def test_a_secret_that_is_sent_is_taken_with_the_configured_certificate() -> None:
    peer = replace(PLAIN_THOR, accept_fingerprint=PIN)

    play(Connection(quiet_mesh("spark", peer), fingerprint=PIN), PLAIN)


@pytest.mark.parametrize(
    ("peer", "secret", "fingerprint"),
    [
        (PLAIN_THOR, "sesame", ""),
        (PLAIN_THOR, "sesame", PIN),
        (replace(PLAIN_THOR, accept_fingerprint=PIN), "sesame", "bb" * 32),
        (replace(PLAIN_THOR, accept_fingerprint=PIN), "wrong", PIN),
        (replace(PLAIN_THOR, accept_fingerprint=PIN), "", PIN),
    ],
)
def test_a_secret_that_is_sent_is_refused_elsewhere(peer: Peer, secret: str, fingerprint: str) -> None:
    connection = Connection(quiet_mesh("spark", peer), fingerprint=fingerprint)

    assert connection.say(f"PASS :{secret}", "SERVER thor 1 :x") == [f"ERROR :{OLD_VERSION}"]


def test_an_old_host_that_sends_its_secret_where_it_may_is_refused_by_its_version() -> None:
    connection = Connection(quiet_mesh("spark", PLAIN_THOR), address="127.0.0.1")
    play(connection, PLAIN)

    assert connection.say("LINK 2 1790000000 1790000000000 *") == [f"ERROR :{VERSIONS} 2"]


# What is said on connections that we make.

ANSWERED = [f"> SERVER thor 3 {THEIRS}", f"< {proof(CALLING, Role.CALLER)}"]


def test_the_caller_says_no_more_than_its_proof_until_the_other_side_gave_its_own() -> None:
    mesh = quiet_mesh("spark", THOR)
    connection = Connection(mesh)
    assert connection.dial() == [f"SERVER spark 3 {OURS}"]

    play(connection, ANSWERED)
    assert connection.say(proof(CALLING, Role.CALLED)) == []
    assert connection.say(GREETING)[0] == GREETING
    assert list(mesh.links.up) == ["thor"]


def test_a_plain_link_sends_its_secret_first() -> None:
    mesh = quiet_mesh("spark", PLAIN_THOR)
    connection = Connection(mesh)
    assert connection.dial() == ["PASS :sesame", "SERVER spark 1 :"]

    assert connection.say("PASS :sesame", "SERVER thor 1 :x") == []
    assert connection.say(GREETING)[0] == GREETING


ANSWERS = {
    "wrong secret": (
        [*ANSWERED, f"> {proof(CALLING, Role.CALLED, 'wrong')}"],
        "has the wrong secret for 'thor'",
    ),
    "our own proof": ([*ANSWERED, f"> {proof(CALLING, Role.CALLER)}"], "has the wrong secret for 'thor'"),
    "no proof": ([*ANSWERED, f"> {GREETING}"], "said 'LINK' before it proved who it is"),
    "our own nonce": ([f"> SERVER thor 3 {OURS}"], "sends our own nonce back"),
    "another name": ([f"> SERVER orin 3 {THEIRS}"], "should be 'thor', and calls itself 'orin'"),
    "our name": ([f"> SERVER spark 3 {THEIRS}"], "should be 'thor', and calls itself 'spark'"),
    "PASS": (["> PASS :sesame"], "wants the secret itself (PASS), which is not configured for this link"),
    "SERVER of an old host": (
        ["> SERVER thor 1 :x"],
        "wants the secret itself (PASS), which is not configured for this link",
    ),
    "another version": (
        [f"> SERVER thor 4 {THEIRS}"],
        "speaks version 4 of links, and we speak version 3",
    ),
    "no nonce": (["> SERVER thor 3 x"], "SERVER has no nonce"),
    "LINK": ([f"> {GREETING}"], "said 'LINK' before it proved who it is"),
    "HOST": (["> HOST thor 1 1 :"], "said 'HOST' before it proved who it is"),
    "something else than LINK": (
        [*ANSWERED, f"> {proof(CALLING, Role.CALLED)}", "> WANT 1 spark"],
        "said 'WANT' before LINK",
    ),
    "a refusal": (["> ERROR :go away"], "refused us: go away"),
    "a refusal of an old host": (
        ["> ERROR :Link refused: this is not a host that is known here, or not its secret"],
        "refused us as a host does that speaks version 2 of links or older; we speak version 3",
    ),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_host_that_was_called_has_to_be_the_one_it_should_be(what: str) -> None:
    transcript, written_down = ANSWERS[what]
    connection = Connection(quiet_mesh("spark", THOR))
    connection.dial()
    play(connection, transcript[:-1])

    (answer,) = connection.say(transcript[-1][2:])

    assert answer.startswith("ERROR :Link refused")
    assert "sesame" not in answer
    assert connection.notes == [(MeshNoteKind.REFUSED, written_down)]
    assert connection.is_closed
    assert not connection.mesh.links.up


@pytest.mark.parametrize(
    ("lines", "written_down"),
    [
        (["PASS :wrong", "SERVER thor 1 :"], "has the wrong secret for 'thor'"),
        (["SERVER thor 1 :"], "has the wrong secret for 'thor'"),
        (["PASS :sesame", "SERVER orin 1 :"], "should be 'thor', and calls itself 'orin'"),
        (["PASS :sesame", f"SERVER thor 3 {THEIRS}"], "answers PASS with a challenge"),
        (
            ["PASS :sesame", "SERVER thor 1 :", "LINK 2 1 1 *"],
            "speaks version 2 of links, and we speak version 3",
        ),
    ],
)
def test_a_host_that_was_sent_the_secret_has_to_know_it(lines: list[str], written_down: str) -> None:
    connection = Connection(quiet_mesh("spark", PLAIN_THOR))
    connection.dial()

    connection.say(*lines)

    assert connection.notes == [(MeshNoteKind.REFUSED, written_down)]


# Attempts.


def guess(mesh: Mesh, address: str, name: str = "thor", fingerprint: str = "") -> list[str]:
    connection = Connection(mesh, address=address, fingerprint=fingerprint)
    answers = connection.say(f"SERVER {name} 3 {THEIRS}")
    return answers if answers[0].startswith("ERROR") else connection.say("PROOF guessed")


def test_five_bad_tries_lock_out_who_made_them_and_not_the_host_that_they_claimed_to_be() -> None:
    mesh = quiet_mesh("spark", THOR, Peer("orin", "simsim"))
    for _ in range(MAX_FAILURES):
        assert guess(mesh, "10.0.0.9") == [f"ERROR :{UNPROVED}"]

    assert guess(mesh, "10.0.0.9") == [f"ERROR :{TOO_OFTEN}"]
    assert guess(mesh, "10.0.0.9", name="orin") == [f"ERROR :{UNPROVED}"]
    number = MAX_FAILURES + 2
    real = Connection(mesh, address="10.0.0.7")
    real.say(f"SERVER thor 3 {THEIRS}")
    challenge = CALLED._replace(called_nonce=nonce(number))
    assert real.say(proof(challenge, Role.CALLER))[-1] == GREETING
    # Nor does its success make the failures forgotten.
    assert guess(mesh, "10.0.0.9") == [f"ERROR :{TOO_OFTEN}"]


def test_the_configured_certificate_is_not_locked_out_by_others_from_its_address() -> None:
    mesh = quiet_mesh("spark", replace(THOR, accept_fingerprint=PIN))
    for _ in range(MAX_FAILURES):
        guess(mesh, "127.0.0.1")

    assert guess(mesh, "127.0.0.1") == [f"ERROR :{TOO_OFTEN}"]
    assert guess(mesh, "127.0.0.1", fingerprint=PIN) == [f"ERROR :{UNPROVED}"]


def test_many_connections_at_once_are_no_way_to_guess_more() -> None:
    mesh = quiet_mesh("spark", THOR)
    connections = [Connection(mesh, key=f"x{number}") for number in range(MAX_FAILURES + 3)]
    for connection in connections:
        connection.say(f"SERVER thor 3 {THEIRS}")

    answers = [connection.say("PROOF guessed") for connection in connections]

    assert answers == [[f"ERROR :{UNPROVED}"]] * MAX_FAILURES + [[f"ERROR :{TOO_OFTEN}"]] * 3


# One link between two hosts.


def test_a_host_that_is_linked_already_is_refused() -> None:
    mesh = quiet_mesh("spark", THOR)
    linked(mesh, key="first").say(GREETING)
    second = Connection(mesh, key="second")
    second.say(f"SERVER thor 3 {THEIRS}")

    answers = second.say(proof(CALLED._replace(called_nonce=SECOND), Role.CALLER))

    assert answers == ["ERROR :Link refused: thor is linked already"]
    assert second.notes[0][1] == "10.0.0.7 'thor' is linked already"
    assert "thor" in mesh.links.up


def test_who_only_claims_to_be_a_host_keeps_nobody_from_calling_it() -> None:
    mesh = quiet_mesh("spark", replace(THOR, has_address=True, is_dialed=True))
    connection = Connection(mesh)
    connection.say(f"SERVER thor 3 {THEIRS}")

    mesh.tick()

    assert mesh.flush().dials == ["thor"]


def test_who_does_not_prove_in_time_who_it_is_is_hung_up_on() -> None:
    hosts = Hosts("spark-thor")
    hosts.world.crash("thor")
    mesh = hosts["spark"].mesh
    mesh.dialed("call", "thor")
    mesh.offered("coming", "", parse_line(f"SERVER thor 3 {THEIRS}"), Caller("10.0.0.7"))
    mesh.flush()
    hosts.world.now += 20

    mesh.tick()

    outbox = mesh.flush()
    assert {key for key, _ in outbox.closings} == {"call", "coming"}
    assert outbox.lines["coming"] == ["ERROR :Link refused: you did not prove in time who you are"]


def converse(meshes: dict[str, Mesh], wires: dict[tuple[str, str], tuple[str, str]]) -> None:
    """Carry lines between meshes until nobody says anything. A wire is from one mesh and key to another."""
    is_open = dict.fromkeys(wires, True)
    introduced: set[tuple[str, str]] = set()
    while outboxes := {name: mesh.flush() for name, mesh in meshes.items()}:
        if not any(outbox.lines or outbox.closings for outbox in outboxes.values()):
            return
        for name, outbox in outboxes.items():
            for key, lines in outbox.lines.items():
                to, their_key = wires[name, str(key)]
                for line in lines if is_open[name, str(key)] else ():
                    if their_key == "in" and (to, their_key) not in introduced:
                        introduced.add((to, their_key))
                        meshes[to].offered(their_key, "", parse_line(line), Caller("10.0.0.7"))
                    else:
                        meshes[to].received(their_key, line.encode())
            for key, _ in outbox.closings:
                to, their_key = wires[name, str(key)]
                is_open[name, str(key)] = is_open[to, their_key] = False
                meshes[to].closed(their_key, "Connection closed")


def test_two_hosts_that_call_each_other_end_up_with_one_link() -> None:
    """The call of the one that sorts first counts."""
    orin, thor = quiet_mesh("orin", THOR), quiet_mesh("thor", Peer("orin", "sesame"))
    orin.dialed("out", "thor")
    thor.dialed("out", "orin")

    converse(
        {"orin": orin, "thor": thor},
        {
            ("orin", "out"): ("thor", "in"),
            ("thor", "in"): ("orin", "out"),
            ("thor", "out"): ("orin", "in"),
            ("orin", "in"): ("thor", "out"),
        },
    )

    assert [(link.key, link.role) for link in orin.links.up.values()] == [("out", Role.CALLER)]
    assert [(link.key, link.role) for link in thor.links.up.values()] == [("in", Role.CALLED)]


def test_a_clock_that_is_off_is_warned_about() -> None:
    connection = linked(quiet_mesh("spark", THOR))

    connection.say("LINK 3 1790000090 1790000090500 *")

    assert [text for _, text in connection.notes] == ["linked", "its clock differs from ours by +90.5 s"]


def test_a_link_is_limited_to_what_both_sides_allow() -> None:
    mesh = quiet_mesh("spark", replace(THOR, channels=frozenset({Folded("#a"), Folded("#b")})))
    connection = linked(mesh)

    connection.say("LINK 3 1790000000 1790000000000 #b,#c")

    assert mesh.links.up["thor"].scope == frozenset({Folded("#b")})
    assert connection.notes[0][1] == "linked, limited to #b"


# A secret that is being replaced.


@pytest.mark.parametrize("secret", ["sesame", "simsim"])
def test_while_a_secret_is_replaced_a_caller_may_prove_either_and_gets_the_proof_of_the_same(
    secret: str,
) -> None:
    connection = Connection(quiet_mesh("spark", replace(THOR, other_secrets=("simsim",))))
    hello, answer = HELLO[0].removeprefix("> "), HELLO[1].removeprefix("< ")

    assert connection.say(hello) == [answer]
    assert connection.say(proof(CALLED, Role.CALLER, secret))[0] == proof(CALLED, Role.CALLED, secret)


def test_who_proves_neither_of_two_secrets_is_refused() -> None:
    connection = Connection(quiet_mesh("spark", replace(THOR, other_secrets=("simsim",))))
    connection.say(HELLO[0].removeprefix("> "))

    assert connection.say(proof(CALLED, Role.CALLER, "wrong")) == [f"ERROR :{UNPROVED}"]


def test_a_host_that_is_called_proves_the_secret_that_we_use_and_no_other() -> None:
    connection = Connection(quiet_mesh("spark", replace(THOR, other_secrets=("simsim",))))
    connection.dial()
    told = connection.say(f"SERVER thor 3 {THEIRS}")
    assert told == [proof(CALLING, Role.CALLER)]

    assert connection.say(proof(CALLING, Role.CALLED, "simsim"))[0].startswith("ERROR")
