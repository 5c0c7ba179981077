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
from support.linked import SECRET, eventually, meshed
from support.manager import Manager, managed

pytestmark = pytest.mark.slow

REFUSED = "ERROR :Link refused: this is not a host that is known here, or not its secret"


def linked_to(*links: str) -> str:
    return "links:\n" + "".join(f"  - {{secret_credential: link, {link}}}\n" for link in links)


def give_secret(directory: Path) -> None:
    (directory / "credentials").mkdir(parents=True)
    (directory / "credentials" / "link").write_text(SECRET)


async def call(manager: Manager, *lines: str) -> Plain:
    plain = Plain(*await asyncio.open_connection("127.0.0.1", manager.port()))
    plain.send(*lines)
    return plain


async def answers(manager: Manager, *lines: str) -> Sequence[str]:
    """All that is said to who says this, until the connection ends."""
    plain = await call(manager, *lines)
    while await plain.read():
        pass
    await plain.close()
    return plain.seen[:-1]


@pytest.mark.parametrize(
    ("lines", "answer", "journal"),
    [
        (
            ["PASS wrong", "SERVER thor 1 :x"],
            REFUSED,
            "thor: 127.0.0.1 has the wrong secret for 'thor'",
        ),
        (["SERVER thor 1 :x"], REFUSED, "thor: 127.0.0.1 has the wrong secret for 'thor'"),
        (
            [f"PASS {SECRET}", "SERVER ec2 1 :x"],
            REFUSED,
            "ec2: 127.0.0.1 calls itself 'ec2', which is not among our links",
        ),
        (
            [f"PASS {SECRET}", "SERVER spark 1 :x"],
            REFUSED,
            "spark: 127.0.0.1 calls itself 'spark', which is our own name",
        ),
        (
            [f"PASS {SECRET}", "SERVER orin 1 :x"],
            REFUSED,
            "orin: 127.0.0.1 calls itself 'orin', which does not come from 127.0.0.1",
        ),
        (
            [f"PASS {SECRET}", "SERVER nano 1 :x"],
            REFUSED,
            "nano: 127.0.0.1 calls itself 'nano', which has another certificate",
        ),
        (
            [f"PASS {SECRET}", "SERVER thor 2 :x"],
            "ERROR :Link refused: version 1 is spoken here, not 2",
            "thor: 127.0.0.1 speaks version 2 of links, and we speak 1",
        ),
    ],
)
async def test_a_host_that_is_refused_learns_less_than_the_operator(
    tmp_path: Path, lines: list[str], answer: str, journal: str
):
    give_secret(tmp_path)
    pin = "ab" * 32
    links = linked_to(
        "name: thor", "name: orin, accept_from: [10.0.0.7]", f"name: nano, accept_fingerprint: {pin}"
    )
    async with managed(tmp_path, links) as manager:
        assert await answers(manager, *lines) == [answer]
        await eventually(lambda: f"warning: {journal}" in manager.journal, manager)


async def test_a_host_that_is_linked_already_is_refused(tmp_path: Path):
    async with meshed(tmp_path, "spark-thor") as mesh:
        told = await answers(mesh["spark"], f"PASS {SECRET}", "SERVER thor 1 :x")
        assert told == ["ERROR :Link refused: thor is linked already"]
        await eventually(lambda: "thor: 127.0.0.1 'thor' is linked already" in mesh["spark"].journal)


async def test_a_host_that_we_call_has_to_be_the_one_that_we_call(tmp_path: Path):
    said: list[bytes] = []

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said.append(await reader.readuntil(b" 1 :Culture IRC server\r\n"))
        writer.write(f"PASS {SECRET}\r\nSERVER orin 1 :x\r\nLINK 2 1 1 *\r\n".encode())
        said.append(await reader.read())
        writer.close()

    server = await asyncio.start_unix_server(pretend, tmp_path / "thor")
    give_secret(tmp_path)
    async with managed(tmp_path, linked_to(f"name: thor, address: 'unix:{tmp_path}/thor'")) as manager:
        await eventually(
            lambda: "warning: thor: should be 'thor', and calls itself 'orin'" in manager.journal, manager
        )
    server.close()
    await server.wait_closed()
    assert said[1] == f"{REFUSED}\r\n".encode()


async def test_with_the_wrong_secret_nothing_is_read_and_nothing_forged(tmp_path: Path):
    give_secret(tmp_path)
    async with (
        managed(tmp_path, linked_to("name: thor")) as manager,
        connected(manager.port(), "spark-ori", "#ops") as ori,
        connected(manager.port(), "spark-bo", "#ops") as bo,
    ):
        await ori.until("JOIN")
        forged = "@o=thor;n=1.1;t=1;i=x :thor-eve!e@h PRIVMSG spark-ori :send me your password"
        plain = await call(manager, "PASS wrong", "SERVER thor 1 :x", "LINK 2 1 1 *", forged, "WANT x spark")
        bo.send("PRIVMSG spark-ori :between us", "PRIVMSG #ops :for all")
        assert await ori.read() == ":spark-bo!bo@spark PRIVMSG spark-ori :between us"
        assert await ori.read() == ":spark-bo!bo@spark PRIVMSG #ops :for all"
        assert [await plain.read(), await plain.read()] == [REFUSED, ""]
        ori.send("PING end")
        assert "PONG" in await ori.read()
        await plain.close()


async def test_before_the_handshake_is_complete_nothing_is_revealed(tmp_path: Path):
    give_secret(tmp_path)
    async with (
        managed(tmp_path, linked_to("name: thor")) as manager,
        connected(manager.port(), "spark-ori", "#ops") as ori,
    ):
        plain = await call(manager, f"PASS {SECRET}", "SERVER thor 1 :x")
        ori.send("PRIVMSG #ops :hello")
        assert [await plain.read(), await plain.read()] == [
            f"PASS :{SECRET}",
            "SERVER spark 1 :Culture IRC server",
        ]
        assert re.fullmatch(r"LINK 2 \d+ \d+ \*", await plain.read())
        plain.send("WANT x spark")
        assert await plain.read() == "ERROR :Link refused: expected LINK 2"
        assert await plain.read() == ""
        await plain.close()


async def test_a_peer_that_speaks_for_others_is_hung_up_on(tmp_path: Path):
    give_secret(tmp_path)
    async with managed(tmp_path, linked_to("name: thor")) as manager:
        plain = await call(manager, f"PASS {SECRET}", "SERVER thor 1 :x", "LINK 2 1 1 *")
        await plain.until("LINK ")
        plain.send("@o=thor;n=1.1;t=1;i=x :spark-ori!o@h PRIVMSG #ops :not me")
        assert await plain.until("ERROR ") == "ERROR :Link broken: 'spark-ori!o@h' is not of the host 'thor'"
        await eventually(
            lambda: "warning: thor: 'spark-ori!o@h' is not of the host 'thor'" in manager.journal
        )
        await plain.close()


async def test_a_peer_that_says_goodbye_and_stays_is_hung_up_on(tmp_path: Path):
    give_secret(tmp_path)
    async with managed(tmp_path, linked_to("name: thor")) as manager:
        plain = await call(manager, f"PASS {SECRET}", "SERVER thor 1 :x", "LINK 2 1 1 *")
        await plain.until("HOST ")
        plain.send("ERROR :enough")
        assert await plain.read() == ""
        await plain.close()


async def test_who_hammers_at_the_door_has_to_wait_and_fills_no_journal(tmp_path: Path):
    give_secret(tmp_path)
    async with managed(tmp_path, linked_to("name: thor")) as manager:
        for _ in range(5):
            assert await answers(manager, "PASS wrong", "SERVER thor 1 :x") == [REFUSED]
        for _ in range(3):
            told = await answers(manager, f"PASS {SECRET}", "SERVER thor 1 :x")
            assert told == ["ERROR :Link refused: too many attempts, wait a minute"]
        await eventually(lambda: "thor: 127.0.0.1 tries too often" in manager.journal)
        assert len(re.findall("wrong secret|too often", manager.journal)) == 2


def fingerprint(pair: Pair) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())).hexdigest()


async def test_a_link_by_tls_knows_its_peer_by_its_certificate_both_ways(tmp_path: Path):
    pairs = {name: make_pair(tmp_path, name) for name in ("spark", "thor")}
    for name in pairs:
        give_secret(tmp_path / name)
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
    give_secret(tmp_path)
    address = f"address: 'tls:127.0.0.1:{server.sockets[0].getsockname()[1]}'"
    links = linked_to(f"name: thor, {address}, fingerprint: {fingerprint(pair)}")
    async with managed(tmp_path, links) as manager:
        await eventually(
            lambda: "its certificate is not the one in 'fingerprint'" in manager.journal, manager
        )
    server.close()
    await server.wait_closed()
    assert set(heard) <= {b""}
