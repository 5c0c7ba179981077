"""The SASL mechanisms, and how IRC carries them (RFC 4616, 4422, 5802, 7677; IRCv3 sasl-3.1, sasl-3.2)."""

import base64
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.accounts import accounts_in
from support.network import Client, Network
from support.scram import ScramClient

from culture.config.ircd import AccountsConfig, Limits, Tls
from culture.ircd.auth.questions import ScramKeys
from culture.ircd.sasl.exchange import MECHANISMS, chunks
from culture.ircd.sasl.scram import ScramSha256
from culture.ircd.sasl.step import Ask, Challenge, LoggedIn, SaslFailure
from culture.net.auth.accounts import StoredAccounts
from culture.store.accounts import Accounts
from culture.store.passwords import scram_secret


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def plain(name: str = "jilles", password: str = "sesame", authzid: str = "") -> str:
    return encoded("\0".join([authzid, name, password]))


LOGGED_IN = [
    ":spark 900 * *!*@spark Jilles :You are now logged in as Jilles",
    ":spark 903 * :SASL authentication successful",
]
FAILED = [":spark 904 * :SASL authentication failed"]


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    return accounts_in(tmp_path, "Jilles")


@pytest.fixture
def network(accounts: Accounts) -> Network:
    tls = Tls(client_certificates="/etc/culture/clients.pem")
    return Network(authenticator=StoredAccounts(accounts), nick_policy="open", tls=tls)


def asking(network: Network) -> Client:
    """A connection with the capability."""
    client = network.connect()
    client.send("CAP LS 302", "CAP REQ :sasl")
    client.lines()
    return client


def log_in(client: Client, authzid: str = "", name: str = "jilles", password: str = "sesame") -> None:
    client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {plain(name, password, authzid)}")


def test_the_capability_lists_the_mechanisms_for_those_who_know_values(network: Network):
    new, old = network.connect(), network.connect()
    new.send("CAP LS 302")
    old.send("CAP LS")
    assert " sasl=PLAIN,EXTERNAL,SCRAM-SHA-256 " in " ".join(new.lines())
    assert " sasl " in old.lines()[0]


@pytest.mark.parametrize("authzid", ["", "jilles", "JILLES"])
def test_plain_logs_in_and_registration_goes_on(network: Network, authzid: str):
    client = asking(network)
    client.send("AUTHENTICATE plain")
    assert client.lines() == ["AUTHENTICATE +"]
    client.send(f"AUTHENTICATE {plain(authzid=authzid)}")
    assert client.lines() == LOGGED_IN
    client.send("NICK j", "USER j 0 * :j", "CAP END")
    assert client.numerics()[0] == "001"
    assert client.session.user.account == "Jilles"


@pytest.mark.parametrize(
    "response",
    [
        "\0jilles\0wrong",
        "\0bo\0sesame",
        "bo\0jilles\0sesame",
        "jilles\0sesame",
        "\0\0",
        "\0jilles\0",
        "",
        "\0a\0b\0c",
    ],
)
def test_what_is_not_a_name_and_its_password_fails(network: Network, response: str):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {encoded(response) or '+'}")
    assert client.lines() == ["AUTHENTICATE +", *FAILED]
    log_in(client)
    assert client.lines() == ["AUTHENTICATE +", *LOGGED_IN]


@pytest.mark.parametrize("response", ["=", "x", "!!!!", "é", encoded(b"\0\xff\0x")])
def test_what_is_not_base64_or_not_utf8_fails(network: Network, response: str):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {response}")
    assert client.lines() == ["AUTHENTICATE +", *FAILED]


@pytest.mark.parametrize("length", [200, 284, 300, 600, 1000])
def test_a_long_password_comes_in_chunks(network: Network, accounts: Accounts, length: int):
    """284 characters make exactly 400 of base64, which an empty chunk has to follow."""
    accounts.add("longwinded", "x" * length)
    client = asking(network)
    client.send("AUTHENTICATE PLAIN")
    data = f"\0longwinded\0{'x' * length}"
    sent = list(chunks(data.encode()))
    assert (sent[-1] == "+") is (len(encoded(data)) % 400 == 0)
    client.send(*(f"AUTHENTICATE {chunk}" for chunk in sent))
    assert client.numerics()[1:] == ["900", "903"]


def test_a_chunk_that_is_too_long_is_told_from_a_wrong_one(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {'A' * 401}")
    assert client.lines()[1:] == [":spark 905 * :SASL message too long"]


def test_aborting(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN", "AUTHENTICATE *")
    assert client.lines()[1:] == [":spark 906 * :SASL authentication aborted"]
    log_in(client)
    assert client.lines() == ["AUTHENTICATE +", *LOGGED_IN]


def test_an_unknown_mechanism_is_answered_by_those_that_there_are(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE FOO")
    assert client.lines() == [
        ":spark 908 * PLAIN,EXTERNAL,SCRAM-SHA-256 :are available SASL mechanisms",
        ":spark 904 * :SASL authentication failed: unknown mechanism",
    ]


def test_without_the_capability_nobody_logs_in(network: Network):
    client = network.connect()
    client.send("AUTHENTICATE PLAIN")
    assert client.numerics() == ["904"]


def test_aborting_drops_the_chunks_that_came_before(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE *", "AUTHENTICATE PLAIN", f"AUTHENTICATE {'A' * 400}", "AUTHENTICATE *")
    aborted = ":spark 906 * :SASL authentication aborted"
    assert client.lines() == [aborted, "AUTHENTICATE +", aborted]
    log_in(client)
    assert client.lines() == ["AUTHENTICATE +", *LOGGED_IN]


def test_after_400_bytes_the_response_goes_on_until_a_shorter_chunk(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {'A' * 400}", f"AUTHENTICATE {'A' * 400}")
    assert client.lines() == ["AUTHENTICATE +"]
    client.send("AUTHENTICATE +")
    assert client.lines() == FAILED


def test_giving_up_the_capability_ends_the_exchange(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN", "CAP REQ -sasl", f"AUTHENTICATE {plain()}", "CAP REQ sasl")
    assert client.numerics()[2] == "904"
    client.lines()
    log_in(client)
    assert client.lines() == ["AUTHENTICATE +", *LOGGED_IN]


def test_who_fails_to_log_in_again_stays_who_they_are(network: Network):
    client = network.client("j", caps="sasl")
    log_in(client)
    log_in(client, password="wrong")
    log_in(client)
    assert client.lines()[-5:] == [
        "AUTHENTICATE +",
        ":spark 904 j :SASL authentication failed",
        "AUTHENTICATE +",
        ":spark 900 j j!j@spark Jilles :You are now logged in as Jilles",
        ":spark 903 j :SASL authentication successful",
    ]
    assert client.session.user.account == "Jilles"


def test_whoever_logs_in_says_so_as_who_they_were_before(network: Network, accounts: Accounts):
    accounts.add("bo", "x")
    other = network.client("other", "#a", caps="account-notify account-tag")
    client = network.client("j", "#a", caps="sasl")
    other.lines()
    for response in (plain(), plain("bo", "x")):
        client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {response}")
    client.send("PRIVMSG #a :hi")
    assert other.lines() == [
        ":j!j@spark ACCOUNT Jilles",
        "@account=Jilles :j!j@spark ACCOUNT bo",
        "@account=bo :j!j@spark PRIVMSG #a :hi",
    ]


def test_registering_in_the_middle_aborts(network: Network):
    client = asking(network)
    client.send("NICK j", "USER j 0 * :j", "AUTHENTICATE PLAIN", "CAP END")
    assert client.numerics()[1:3] == ["906", "001"]


def test_what_is_said_while_a_password_is_checked_waits_in_order(network: Network):
    client = asking(network)
    lines = [
        "AUTHENTICATE PLAIN",
        f"AUTHENTICATE {plain()}",
        "NICK j",
        "USER j 0 * :j",
        "CAP END",
    ]
    client.send_bytes("".join(f"{line}\r\n" for line in [*lines, "PING x"]).encode())
    lines = client.lines()
    assert lines[:3] == ["AUTHENTICATE +", *LOGGED_IN]
    assert " 001 j " in lines[3]
    assert lines[-1] == ":spark PONG spark :x"


def test_who_left_meanwhile_is_not_let_in(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN")
    network.ircd.received(client.session, f"AUTHENTICATE {plain()}".encode())
    client.drop()
    network.answer()
    assert client.session.user.account is None
    assert not network.ircd.sessions


def test_who_talks_on_and_on_while_a_password_is_checked_is_let_go(network: Network):
    client = asking(network)
    client.send("AUTHENTICATE PLAIN")
    client.send_bytes(f"AUTHENTICATE {plain()}\r\n".encode() + b"PING xxxxxxxx\r\n" * 6000)
    assert client.lines()[-1] == "ERROR :Closing Link: spark (Excess flood)"


def test_logging_in_again_after_registration_is_told_to_those_who_asked(network: Network, accounts: Accounts):
    accounts.add("bo", "x")
    other = network.client("other", "#a", caps="account-notify")
    client = network.client("j", "#a", caps="sasl account-notify")
    other.lines()
    log_in(client)
    assert client.lines() == [
        "AUTHENTICATE +",
        ":spark 900 j j!j@spark Jilles :You are now logged in as Jilles",
        ":j!j@spark ACCOUNT Jilles",
        ":spark 903 j :SASL authentication successful",
    ]
    log_in(client, name="bo", password="x")
    assert other.lines() == [":j!j@spark ACCOUNT Jilles", ":j!j@spark ACCOUNT bo"]


def test_guessing_has_an_end(accounts: Accounts):
    network = Network(authenticator=StoredAccounts(accounts), limits=Limits(login_failures=3))
    client = asking(network)
    for _ in range(3):
        log_in(client, password="wrong")
    assert client.lines()[-2:] == [*FAILED, "ERROR :Closing Link: spark (Too many failed logins)"]


def test_when_there_is_nobody_to_ask_logging_in_fails():
    client = asking(Network())
    log_in(client)
    assert client.lines() == ["AUTHENTICATE +", *FAILED]


def test_an_answer_that_came_later_carries_the_label_too(network: Network):
    client = network.client("j", caps="sasl labeled-response batch")
    client.send("@label=a AUTHENTICATE PLAIN", f"@label=b AUTHENTICATE {plain(password='wrong')}")
    assert client.lines() == ["@label=a AUTHENTICATE +", "@label=b :spark 904 j :SASL authentication failed"]


def test_external_takes_the_certificate_of_the_connection(network: Network, accounts: Accounts):
    accounts.add_certificate("jilles", "ab" * 32)
    client, stranger, bare = asking(network), asking(network), asking(network)
    client.session.fingerprint = "ab" * 32
    stranger.session.fingerprint = "cd" * 32
    for each in (client, stranger, bare):
        each.send("AUTHENTICATE EXTERNAL", "AUTHENTICATE +")
    assert client.lines() == ["AUTHENTICATE +", *LOGGED_IN]
    assert stranger.lines() == bare.lines() == ["AUTHENTICATE +", *FAILED]
    client.send("AUTHENTICATE EXTERNAL", f"AUTHENTICATE {encoded('bo')}")
    assert client.lines() == ["AUTHENTICATE +", *FAILED]


def test_a_server_for_accounts_lets_nobody_else_in(accounts: Accounts):
    network = Network(authenticator=StoredAccounts(accounts), accounts=AccountsConfig(required=True))
    stranger, friend = network.connect(), asking(network)
    stranger.send("NICK spark-bo", "USER b 0 * :b")
    assert stranger.lines()[-1] == "ERROR :Closing Link: spark (Log in first (SASL))"
    log_in(friend)
    friend.send("NICK spark-j", "USER j 0 * :j", "CAP END")
    assert "001" in friend.numerics()


def scram_said(client: Client) -> bytes:
    (line,) = client.lines()
    return base64.b64decode(line.removeprefix("AUTHENTICATE "))


@pytest.mark.parametrize("gs2", ["n,,", "y,,", "n,a=jilles,"])
def test_scram_proves_both_sides_to_each_other(network: Network, gs2: str):
    client, scram = asking(network), ScramClient("jilles", "sesame")
    client.send("AUTHENTICATE SCRAM-SHA-256")
    assert client.lines() == ["AUTHENTICATE +"]
    client.send(f"AUTHENTICATE {encoded(scram.first(gs2))}")
    client.send(f"AUTHENTICATE {encoded(scram.final(scram_said(client), gs2))}")
    assert scram.is_server(scram_said(client))
    client.send("AUTHENTICATE +")
    assert client.lines() == LOGGED_IN


@pytest.mark.parametrize(("name", "password"), [("jilles", "wrong"), ("nobody", "sesame")])
def test_scram_tells_nobody_from_a_wrong_password_by_nothing(network: Network, name: str, password: str):
    client, scram = asking(network), ScramClient(name, password)
    client.send("AUTHENTICATE SCRAM-SHA-256")
    client.lines()
    client.send(f"AUTHENTICATE {encoded(scram.first())}")
    client.send(f"AUTHENTICATE {encoded(scram.final(scram_said(client)))}")
    assert client.lines() == FAILED


def test_scram_with_the_example_of_rfc_7677_section_3():
    secret = scram_secret("pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    keys = ScramKeys(
        "user",
        secret.salt,
        secret.iterations,
        secret.stored_key,
        secret.server_key,
        "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    )
    scram = ScramSha256()
    step = scram.respond(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert isinstance(step, Ask)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert step.then(keys) == Challenge(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    final = f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert scram.respond(final.encode()) == Challenge(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert scram.respond(b"") == LoggedIn("user")


@pytest.mark.parametrize(
    "first",
    [
        "",
        "n,,",
        "p=tls-unique,,n=user,r=abc",
        "n,,n=user",
        "n,,n=user,r=",
        "n,a=bo,n=user,r=abc",
        "n,,m=x,n=user,r=abc",
        "n,,n=us=er,r=abc",
    ],
)
def test_scram_refuses_what_is_no_first_message(first: str):
    with pytest.raises(SaslFailure):
        ScramSha256().respond(first.encode())


@pytest.mark.parametrize(
    "final",
    ["", "c=biws", "c=biws,r=other,p=AAAA", "c=eSws,r=abcs,p=AAAA", "c=biws,r=abcs,p=AAAA", "c=!,r=abcs,p=!"],
)
def test_scram_refuses_what_is_no_final_message_of_this_exchange(final: str):
    scram = ScramSha256()
    step = scram.respond(b"n,,n=user,r=abc")
    assert isinstance(step, Ask)
    step.then(ScramKeys("user", b"salt", 4096, b"x" * 32, b"y" * 32, "s"))
    with pytest.raises(SaslFailure):
        scram.respond(final.encode())


def test_from_where_all_are_trusted_nobody_has_to_log_in():
    network = Network(accounts=AccountsConfig(required=True))
    client = network.connect()
    client.session.is_trusted = True
    client.send("NICK spark-bo", "USER b 0 * :b")
    assert client.numerics()[0] == "001"


PIECES = b"\0 jilles sesame n,, n,a=jilles, n=jilles r=abc , c= biws p= \xff \xc3\xa9= =2C \x01 auth=Bearer x"
pieces = st.sampled_from(PIECES.split(b" "))
responses = st.one_of(st.binary(max_size=40), st.lists(pieces, max_size=8).map(b"".join))


@given(
    st.lists(st.tuples(st.sampled_from([*MECHANISMS, "*", "+"]), st.lists(responses, max_size=3)), max_size=4)
)
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_client_sends_nothing_escapes_and_nobody_is_let_in(
    accounts: Accounts, exchanges: list[tuple[str, list[bytes]]]
):
    client = asking(Network(authenticator=StoredAccounts(accounts), limits=Limits(login_failures=0)))
    for mechanism, said in exchanges:
        client.send(f"AUTHENTICATE {mechanism}", *(f"AUTHENTICATE {encoded(each) or '+'}" for each in said))
    knew_it = any(each.endswith(b"jilles\0sesame") for _, said in exchanges for each in said)
    assert client.session.user.account is None or knew_it
    client.send("PING x")
    assert client.lines()[-1] == ":spark PONG spark :x"


def test_an_endless_response_fails(network: Network):
    """IRCv3 sasl-3.1, ERR_SASLFAIL (904): 905 is for a single line that is too long."""
    client = asking(network)
    client.send("AUTHENTICATE PLAIN")
    client.lines()
    for _ in range(1000):
        client.send(f"AUTHENTICATE {'A' * 400}")
        if answer := client.lines():
            break
    assert answer == [":spark 904 * :SASL authentication failed"]
    assert client.session.exchange is None


@pytest.mark.parametrize("length", [401, 480, 600, 5000])
def test_a_single_line_that_is_too_long_is_said_to_be(network: Network, length: int):
    """IRCv3 sasl-3.1, ERR_SASLTOOLONG (905), also where the line is longer than any line may be."""
    client = asking(network)
    client.send("AUTHENTICATE PLAIN")
    client.lines()
    client.send(f"AUTHENTICATE {'A' * length}")
    assert client.lines() == [":spark 905 * :SASL message too long"]
    assert client.session.exchange is None


def test_an_over_long_line_outside_of_an_exchange_is_one_like_others(network: Network):
    client = asking(network)
    client.send(f"AUTHENTICATE {'A' * 600}")
    assert client.numerics() == ["417"]


def test_who_logs_in_reads_that_before_their_own_account_message(network: Network):
    """IRCv3 sasl-3.1 and account-notify: the reply to the command comes before what it brought about."""
    client = network.client("ori", "#a", caps="sasl account-notify")
    client.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {plain()}")
    assert client.lines() == [
        "AUTHENTICATE +",
        ":spark 900 ori ori!ori@spark Jilles :You are now logged in as Jilles",
        ":ori!ori@spark ACCOUNT Jilles",
        ":spark 903 ori :SASL authentication successful",
    ]
