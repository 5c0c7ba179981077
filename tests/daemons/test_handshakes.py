"""Who may be another host: what the other side of a refused link is told, and what the journal says."""

import asyncio
import hashlib
import re
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.certificates import Pair, make_pair
from support.irc import Plain, connected
from support.linked import SECRET, eventually, meshed, secret_of
from support.manager import Manager, managed

from culture.federation.links.challenge import LinkChallenge, Role
from culture.federation.links.handshake import OLD_VERSION, TOO_OFTEN, UNPROVED

pytestmark = pytest.mark.slow

REFUSED = f"ERROR :{UNPROVED}"
THEIRS = "f" * 32


def linked_to(*links: str) -> str:
    return "links:\n" + "".join(
        f"  - {{secret_credential: link{number}, {link}}}\n" for number, link in enumerate(links)
    )


def give_secrets(directory: Path, *secrets: str) -> None:
    (directory / "credentials").mkdir(parents=True)
    for number, secret in enumerate(secrets or (SECRET,)):
        (directory / "credentials" / f"link{number}").write_text(secret)


async def call(manager: Manager, *lines: str, address: str = "127.0.0.1") -> Plain:
    plain = Plain(
        *await asyncio.open_connection("127.0.0.1", manager.port(), local_addr=(address, 0)),
    )
    plain.send(*lines)
    return plain


async def prove(
    manager: Manager, name: str = "thor", secret: str = SECRET, address: str = "127.0.0.1"
) -> Plain:
    """Come as another host, and prove a secret."""
    plain = await call(manager, f"SERVER {name} 3 {THEIRS}", address=address)
    answer = await plain.read()
    if answer.startswith("SERVER "):
        challenge = LinkChallenge(name, "spark", THEIRS, answer.split(" ")[3])
        plain.send(f"PROOF {challenge.proof(secret, Role.CALLER)}")
    return plain


async def rest(plain: Plain) -> Sequence[str]:
    """All that is said until the connection ends."""
    before = len(plain.seen)
    while await plain.read():
        pass
    await plain.close()
    return plain.seen[before:-1]


@pytest.mark.parametrize(
    ("name", "secret", "journal"),
    [
        ("thor", "wrong", "thor: 127.0.0.1 has the wrong secret for 'thor'"),
        ("thor", "", "thor: 127.0.0.1 has the wrong secret for 'thor'"),
        ("ec2", SECRET, "ec2: 127.0.0.1 calls itself 'ec2', which is not among our links"),
        ("spark", SECRET, "spark: 127.0.0.1 calls itself 'spark', which is our own name"),
        ("orin", "of orin", "orin: 127.0.0.1 calls itself 'orin', which does not come from 127.0.0.1"),
        ("nano", "of nano", "nano: 127.0.0.1 calls itself 'nano', which has another certificate"),
    ],
)
async def test_a_host_that_is_refused_learns_less_than_the_operator(
    tmp_path: Path, name: str, secret: str, journal: str
):
    give_secrets(tmp_path, SECRET, "of orin", "of nano")
    pin = "ab" * 32
    links = linked_to(
        "name: thor", "name: orin, accept_from: [10.0.0.7]", f"name: nano, accept_fingerprint: {pin}"
    )
    async with managed(tmp_path, links) as manager:
        plain = await prove(manager, name, secret)
        assert re.fullmatch("SERVER spark 3 [0-9a-f]{32}", plain.seen[-1])
        assert await rest(plain) == [REFUSED]
        await eventually(lambda: f"warning: {journal}" in manager.journal, manager)


@pytest.mark.parametrize(
    ("lines", "answer", "journal"),
    [
        (
            [f"PASS {SECRET}", "SERVER thor 1 :x"],
            f"ERROR :{OLD_VERSION}",
            "thor: 127.0.0.1 speaks version 2 of links or older, and we speak version 3",
        ),
        (
            [f"SERVER thor 4 {THEIRS}"],
            "ERROR :Link refused: this host speaks version 3 of links and you speak version 4",
            "thor: 127.0.0.1 speaks version 4 of links, and we speak version 3",
        ),
    ],
)
async def test_a_host_of_another_version_is_told_which_versions_meet(
    tmp_path: Path, lines: list[str], answer: str, journal: str
):
    give_secrets(tmp_path)
    async with managed(tmp_path, linked_to("name: thor")) as manager:
        assert await rest(await call(manager, *lines)) == [answer]
        await eventually(lambda: f"warning: {journal}" in manager.journal, manager)


async def test_a_host_that_is_linked_already_is_refused(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh:
        plain = await prove(mesh["spark"], secret=secret_of("spark-thor"))
        assert await rest(plain) == ["ERROR :Link refused: thor is linked already"]
        await eventually(lambda: "thor: 127.0.0.1 'thor' is linked already" in mesh["spark"].journal)


async def test_the_secret_is_nowhere_in_what_is_said_on_a_link(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh:
        assert b"SERVER spark 3 " in mesh.ways["spark-thor"].carried
        assert b"PROOF " in mesh.ways["spark-thor"].carried
        assert b"sesame" not in mesh.ways["spark-thor"].carried


async def test_hosts_that_both_call_come_to_one_link(tmp_path: Path):
    for name in ("spark", "thor"):
        give_secrets(tmp_path / name)

    def config(name: str) -> str:
        return linked_to(f"name: {name}, address: 'unix:{tmp_path}/{name}/ircd.sock'")

    async with (
        managed(tmp_path / "spark", config("thor"), name="spark") as spark,
        managed(tmp_path / "thor", config("spark"), name="thor") as thor,
    ):
        for manager in (spark, thor):
            await eventually(lambda manager=manager: ": linked" in manager.journal, manager)
        async with (
            connected(spark.port(), "spark-ori", "#ops") as ori,
            connected(thor.port(), "thor-bo", "#ops") as bo,
        ):
            await ori.until(":thor-bo!bo@thor JOIN #ops")
            bo.send("PRIVMSG #ops :once")
            assert (await ori.until("PRIVMSG")).endswith(":once")


async def test_hosts_that_send_the_secret_itself_are_linked_where_it_is_configured(tmp_path: Path):
    plain = {"spark-thor": ", plain_secret: true, accept_from: [unix]"}
    async with meshed(tmp_path, "spark-thor", options=plain) as mesh:
        carried = mesh.ways["spark-thor"].carried
        assert carried.startswith(f"PASS :{secret_of('spark-thor')}\r\nSERVER spark 1 :".encode())


async def test_a_host_that_we_call_has_to_be_the_one_that_we_call(tmp_path: Path):
    said: list[bytes] = []

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said.append(await reader.readline())
        writer.write(f"SERVER orin 3 {THEIRS}\r\nLINK 3 1 1 *\r\n".encode())
        said.append(await reader.read())
        writer.close()

    server = await asyncio.start_unix_server(pretend, tmp_path / "thor")
    give_secrets(tmp_path)
    async with managed(tmp_path, linked_to(f"name: thor, address: 'unix:{tmp_path}/thor'")) as manager:
        await eventually(
            lambda: "warning: thor: should be 'thor', and calls itself 'orin'" in manager.journal, manager
        )
    server.close()
    await server.wait_closed()
    assert re.fullmatch(rb"SERVER spark 3 [0-9a-f]{32}\r\n", said[0])
    assert said[1] == f"{REFUSED}\r\n".encode()


async def test_a_host_that_wants_the_secret_itself_does_not_get_it(tmp_path: Path):
    said: list[bytes] = []

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"PASS :guessed\r\nSERVER thor 1 :x\r\n")
        said.append(await reader.read())
        writer.close()

    server = await asyncio.start_unix_server(pretend, tmp_path / "thor")
    give_secrets(tmp_path)
    async with managed(tmp_path, linked_to(f"name: thor, address: 'unix:{tmp_path}/thor'")) as manager:
        await eventually(lambda: "warning: thor: wants the secret itself (PASS)" in manager.journal, manager)
    server.close()
    await server.wait_closed()
    assert SECRET.encode() not in b"".join(said)


async def test_with_the_wrong_secret_nothing_is_read_and_nothing_forged(tmp_path: Path):
    give_secrets(tmp_path)
    async with (
        managed(tmp_path, linked_to("name: thor")) as manager,
        connected(manager.port(), "spark-ori", "#ops") as ori,
        connected(manager.port(), "spark-bo", "#ops") as bo,
    ):
        await ori.until("JOIN")
        forged = "@o=thor;n=1.1;t=1;i=x :thor-eve!e@h PRIVMSG spark-ori :send me your password"
        plain = await prove(manager, secret="wrong")
        plain.send("LINK 3 1 1 *", forged, "WANT x spark")
        bo.send("PRIVMSG spark-ori :between us", "PRIVMSG #ops :for all")
        assert await ori.read() == ":spark-bo!bo@spark PRIVMSG spark-ori :between us"
        assert await ori.read() == ":spark-bo!bo@spark PRIVMSG #ops :for all"
        assert await rest(plain) == [REFUSED]
        ori.send("PING end")
        assert "PONG" in await ori.read()


async def test_before_the_handshake_is_complete_nothing_is_revealed(tmp_path: Path):
    give_secrets(tmp_path)
    async with (
        managed(tmp_path, linked_to("name: thor")) as manager,
        connected(manager.port(), "spark-ori", "#ops") as ori,
    ):
        plain = await prove(manager)
        ori.send("PRIVMSG #ops :hello")
        challenge = LinkChallenge("thor", "spark", THEIRS, plain.seen[-1].split(" ")[3])
        assert await plain.read() == f"PROOF {challenge.proof(SECRET, Role.CALLED)}"
        assert re.fullmatch(r"LINK 3 \d+ \d+ \*", await plain.read())
        plain.send("WANT x spark")
        assert await rest(plain) == ["ERROR :Link refused: expected LINK 3"]


async def test_who_has_not_proved_who_it_is_is_bound_like_a_client(tmp_path: Path):
    give_secrets(tmp_path)
    limits = "limits: {unregistered_clients: 0, local_clients: 0}\n"
    async with managed(tmp_path, limits + linked_to("name: thor")) as manager:
        plain = await call(manager, f"SERVER thor 3 {THEIRS}")
        await plain.until("SERVER ")
        plain.send("PROOF " + "x" * 60_000)
        assert await rest(plain) == [REFUSED]


async def test_a_peer_that_speaks_for_others_is_hung_up_on(tmp_path: Path):
    give_secrets(tmp_path)
    async with managed(tmp_path, linked_to("name: thor")) as manager:
        plain = await prove(manager)
        await plain.until("LINK ")
        plain.send("LINK 3 1 1 *", "@o=thor;n=1.1;t=1;i=x :spark-ori!o@h PRIVMSG #ops :not me")
        assert await plain.until("ERROR ") == "ERROR :Link broken: 'spark-ori!o@h' is not of the host 'thor'"
        await eventually(
            lambda: "warning: thor: 'spark-ori!o@h' is not of the host 'thor'" in manager.journal
        )
        await plain.close()


async def test_a_peer_that_says_goodbye_and_stays_is_hung_up_on(tmp_path: Path):
    give_secrets(tmp_path)
    async with managed(tmp_path, linked_to("name: thor")) as manager:
        plain = await prove(manager)
        await plain.until("LINK ")
        plain.send("LINK 3 1 1 *")
        await plain.until("HOST ")
        plain.send("ERROR :enough")
        assert await plain.read() == ""
        await plain.close()


async def test_who_hammers_at_the_door_has_to_wait_and_fills_no_journal(tmp_path: Path):
    give_secrets(tmp_path)
    async with managed(tmp_path, linked_to("name: thor")) as manager:
        for _ in range(5):
            assert await rest(await prove(manager, secret="wrong")) == [REFUSED]
        for _ in range(3):
            plain = await prove(manager)
            assert plain.seen[-1] == f"ERROR :{TOO_OFTEN}"
            await plain.close()
        await eventually(lambda: "thor: 127.0.0.1 tries too often" in manager.journal)
        assert len(re.findall("wrong secret|too often", manager.journal)) == 2


async def test_who_hammers_at_the_door_does_not_shut_it_for_the_real_host(tmp_path: Path):
    """It comes from another address than who tries to be it."""
    give_secrets(tmp_path / "spark")
    give_secrets(tmp_path / "thor")
    async with managed(tmp_path / "spark", linked_to("name: thor")) as spark:
        for _ in range(6):
            await (await prove(spark, secret="wrong", address="127.0.0.2")).close()
        await eventually(lambda: "thor: 127.0.0.2 tries too often" in spark.journal, spark)
        dials = linked_to(f"name: spark, address: '127.0.0.1:{spark.port()}'")
        async with managed(tmp_path / "thor", dials, name="thor") as thor:
            for manager in (spark, thor):
                await eventually(lambda manager=manager: ": linked" in manager.journal, manager)
            # Nor is what failed forgotten because the real host came.
            plain = await prove(spark, address="127.0.0.2")
            assert await rest(plain) == []
            assert plain.seen[0] == f"ERROR :{TOO_OFTEN}"


def fingerprint(pair: Pair) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())).hexdigest()


async def test_a_link_by_tls_knows_its_peer_by_its_certificate_both_ways(tmp_path: Path):
    pairs = {name: make_pair(tmp_path, name) for name in ("spark", "thor")}
    for name in pairs:
        give_secrets(tmp_path / name)
    tls = {name: f"tls: {{certificate: {pair.certificate}, key: {pair.key}" for name, pair in pairs.items()}
    accepts = f"name: spark, accept_fingerprint: {fingerprint(pairs['spark'])}"
    thor_config = f"{tls['thor']}, client_certificates: {pairs['spark'].certificate}}}\n{linked_to(accepts)}"
    async with managed(tmp_path / "thor", thor_config, names=("irc", "irc-tls"), name="thor") as thor:
        address = f"address: 'tls:127.0.0.1:{thor.port('irc-tls')}'"
        dials = f"name: thor, {address}, fingerprint: {fingerprint(pairs['thor'])}"
        async with managed(tmp_path / "spark", f"{tls['spark']}}}\n{linked_to(dials)}") as spark:
            for manager in (spark, thor):
                await eventually(lambda manager=manager: ": linked" in manager.journal, manager)


async def test_a_host_with_another_certificate_never_hears_the_secret(tmp_path: Path):
    pair, other = make_pair(tmp_path, "thor"), make_pair(tmp_path, "other")
    heard: list[bytes] = []

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read())
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(other.certificate, other.key)
    server = await asyncio.start_server(pretend, "127.0.0.1", 0, ssl=context)
    give_secrets(tmp_path)
    address = f"address: 'tls:127.0.0.1:{server.sockets[0].getsockname()[1]}'"
    links = linked_to(f"name: thor, {address}, fingerprint: {fingerprint(pair)}")
    async with managed(tmp_path, links) as manager:
        await eventually(
            lambda: "its certificate is not the one in 'fingerprint'" in manager.journal, manager
        )
    server.close()
    await server.wait_closed()
    assert set(heard) <= {b""}
