"""Who a connection is before it says a word: the user of a unix socket, or where it comes from."""

import asyncio
import os
import pwd
from pathlib import Path

import pytest
from support.irc import Plain
from support.network import Network

from culture.config import loader
from culture.config.ircd import AccountsConfig, IrcdConfig, OidcConfig, Tls
from culture.errors import ConfigError
from culture.net.auth.authenticator_chain import Recognized, authenticate, describe_access
from culture.net.driver import Driver
from culture.net.listen.listeners import listening
from culture.net.listen.origin import Origin, parse_ip

ME = pwd.getpwuid(os.getuid()).pw_name
UNIX = Origin(None, uid=os.getuid())
NEAR = Origin(parse_ip("10.1.2.3"))
FAR = Origin(parse_ip("192.0.2.1"))
CERTIFICATES = Tls(client_certificates="/etc/culture/clients.pem")


@pytest.mark.parametrize(
    ("origin", "accounts", "known"),
    [
        (UNIX, AccountsConfig(local_users={ME: "ori"}), Recognized("ori")),
        (UNIX, AccountsConfig(local_users={"somebody": "ori"}), None),
        (Origin(None, uid=4_000_000_000), AccountsConfig(local_users={ME: "ori"}), None),
        (UNIX, AccountsConfig(trusted=("unix",)), Recognized()),
        (NEAR, AccountsConfig(trusted=("10.0.0.0/8",)), Recognized()),
        (FAR, AccountsConfig(trusted=("10.0.0.0/8",), local_users={ME: "ori"}), None),
        (FAR, AccountsConfig(), None),
    ],
)
def test_what_they_are(origin: Origin, accounts: AccountsConfig, known: Recognized | None):
    assert authenticate(origin, accounts) == known


def test_the_first_that_knows_decides_in_the_order_of_the_configuration():
    asked = {"local_users": {ME: "ori"}, "trusted": ("unix",)}
    assert authenticate(UNIX, AccountsConfig(**asked)) == Recognized("ori")
    assert authenticate(UNIX, AccountsConfig(authenticators=("network", "user"), **asked)) == Recognized()
    assert authenticate(UNIX, AccountsConfig(authenticators=("user",), trusted=("unix",))) is None
    assert authenticate(UNIX, AccountsConfig(authenticators=(), **asked)) is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (IrcdConfig(), "accounts are not required: anyone who can reach the server may connect"),
        (
            IrcdConfig(password_credential="door"),
            "accounts are not required: anyone who can reach the server may connect, with the connection"
            " password",
        ),
        (
            IrcdConfig(accounts=AccountsConfig(required=True)),
            "accounts are required; these may connect: clients that log in (PLAIN, SCRAM-SHA-256)",
        ),
        (
            IrcdConfig(
                accounts=AccountsConfig(
                    authenticators=("user", "network", "token"),
                    required=True,
                    local_users={"ori": "ori"},
                    trusted=("unix", "10.0.0.0/8"),
                ),
                oidc=OidcConfig(keys_url="https://id.example/keys", issuer="x", audience="y"),
            ),
            "accounts are required; these may connect: clients that log in (OAUTHBEARER), the Unix user ori,"
            " anyone from unix, anyone from 10.0.0.0/8",
        ),
    ],
)
def test_the_journal_says_describe_access(config: IrcdConfig, words: str):
    assert describe_access(config) == words


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("authenticators: [], required: true", "lets nobody in"),
        ("authenticators: [certificate], registration: true", "'registration' needs 'password'"),
        ("authenticators: [magic]", "expected one of user, network, certificate, password, token"),
        ("local_users: {ori: 'o r i'}", "'o r i' is not a name for an account"),
        ("local_users: {1000: ori}", "expected text, found '1000'"),
        ("local_users: {ori: ori, ori: bo}", "key 'ori' stands twice in 'accounts.local_users'"),
    ],
)
def test_what_makes_no_sense_is_told(yaml: str, words: str):
    with pytest.raises(ConfigError, match=words):
        loader.parse(f"accounts: {{{yaml}}}\n", IrcdConfig, where="ircd.yaml")


async def test_a_user_of_this_machine_is_logged_in_by_coming_through_the_unix_socket(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO")
    accounts = AccountsConfig(required=True, local_users={ME: "Ori"})
    with listening((f"unix:{tmp_path}/ircd.sock",), []) as listeners:
        driver = Driver(Network(accounts=accounts).ircd)
        driver.serve(listeners)
        plain = Plain(*await asyncio.open_unix_connection(str(tmp_path / "ircd.sock")))
        plain.send("NICK spark-ori", "USER o 0 * :o", "WHOIS spark-ori")
        assert await plain.read() == ":spark 900 * *!*@spark Ori :You are now logged in as Ori"
        await plain.until(" 001 ")
        assert " Ori " in await plain.until(" 330 ")
        await plain.close()
        await driver.stop()
    (entry,) = [each for each in caplog.records if "is logged in" in each.getMessage()]
    assert (entry.CULTURE_ACCOUNT, entry.CULTURE_MECHANISM) == ("Ori", "user")


@pytest.mark.parametrize(
    ("authenticators", "tls", "sasl"),
    [
        (("certificate",), CERTIFICATES, "sasl=EXTERNAL"),
        (("certificate",), Tls(), None),
        (("password", "certificate"), CERTIFICATES, "sasl=PLAIN,EXTERNAL,SCRAM-SHA-256"),
        (("password", "certificate"), Tls(), "sasl=PLAIN,SCRAM-SHA-256"),
        (("user", "network", "token"), CERTIFICATES, None),
        ((), CERTIFICATES, None),
    ],
)
def test_what_is_asked_for_and_can_work_is_offered(
    authenticators: tuple[str, ...], tls: Tls, sasl: str | None
):
    client = Network(accounts=AccountsConfig(authenticators=authenticators), tls=tls).connect()
    client.send("CAP LS 302")
    words = " ".join(client.lines()).split()
    assert next((word for word in words if word.startswith("sasl")), None) == sasl
