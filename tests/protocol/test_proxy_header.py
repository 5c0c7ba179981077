"""The PROXY protocol's headers (proxy-protocol.txt, sections 2.1 and 2.2), whole, cut and malformed."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.net.listen.proxy_header import V1_BYTES, V2_BYTES, V2_SIGNATURE, BadHeader, parse_proxy_header


def v1(source: str, port: int, family: int) -> bytes:
    to = "192.0.2.9" if family == 4 else "2001:db8::9"
    return f"PROXY TCP{family} {source} {to} {port} 6667\r\n".encode()


def v2(source: str, port: int, family: int, vectors: bytes = b"", command: int = 0x21) -> bytes:
    to = ip_address("192.0.2.9" if family == 4 else "2001:db8::9").packed
    block = ip_address(source).packed + to + port.to_bytes(2, "big") + (6667).to_bytes(2, "big") + vectors
    kind = 0x11 if family == 4 else 0x21
    return V2_SIGNATURE + bytes([command, kind]) + len(block).to_bytes(2, "big") + block


def vector(kind: int, value: bytes) -> bytes:
    return bytes([kind]) + len(value).to_bytes(2, "big") + value


addresses = st.one_of(
    st.ip_addresses(v=4).map(lambda ip: (str(ip), 4)), st.ip_addresses(v=6).map(lambda ip: (str(ip), 6))
)
makers = st.sampled_from([v1, v2])


@given(makers, addresses, st.integers(0, 65535), st.binary(max_size=50))
def test_what_is_written_is_read_and_the_rest_is_the_clients(make, address, port: int, rest: bytes):
    text, family = address
    header = make(text, port, family)
    found = parse_proxy_header(header + rest)
    assert found is not None
    assert (found.address, found.port, found.is_secure) == (ip_address(text), port, False)
    assert (header + rest)[found.size :] == rest


@given(makers, addresses, st.integers(0, 65535), st.data())
def test_a_header_that_is_not_all_there_is_waited_for(make, address, port: int, data):
    header = make(address[0], port, address[1])
    cut = data.draw(st.integers(0, len(header) - 1))
    assert parse_proxy_header(header[:cut]) is None


@given(
    st.one_of(st.binary(), st.binary().map(lambda b: b"PROXY " + b), st.binary().map(V2_SIGNATURE.__add__))
)
def test_nothing_but_bad_header_is_ever_raised(data: bytes):
    try:
        found = parse_proxy_header(data)
    except BadHeader:
        return
    assert found is None or found.size <= len(data)
    # Waiting has an end.
    assert found is not None or len(data) < V2_BYTES


@pytest.mark.parametrize(
    "line",
    [
        b"NICK ori\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.9 1 6667\n\r\n",
        b"PROXY TCP4 192.0.2.01 192.0.2.9 1 6667\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.9 01 6667\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.9 65536 6667\r\n",
        b"PROXY TCP4 2001:db8::1 2001:db8::9 1 6667\r\n",
        b"PROXY TCP6 192.0.2.1 192.0.2.9 1 6667\r\n",
        b"PROXY TCP4  192.0.2.1 192.0.2.9 1 6667\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.9 1\r\n",
        b"PROXY UNKNOWNS\r\n",
        b"PROXY UNKNOWN " + b"x" * V1_BYTES,
        V2_SIGNATURE + b"\x31\x11\0\0",
        V2_SIGNATURE + b"\x22\x11\0\0",
        V2_SIGNATURE + b"\x21\x41\0\0",
        V2_SIGNATURE + b"\x21\x13\0\0",
        V2_SIGNATURE + b"\x21\x11\0\x0b" + b"x" * 11,
        V2_SIGNATURE + b"\x21\x11\xff\xff",
    ],
)
def test_what_is_wrong_is_refused(line: bytes):
    with pytest.raises(BadHeader):
        parse_proxy_header(line)


@pytest.mark.parametrize(
    ("header", "is_own"),
    [
        (b"PROXY UNKNOWN\r\n", False),
        (b"PROXY UNKNOWN whatever stands here\r\n", False),
        (V2_SIGNATURE + b"\x20\x00\0\0", True),
        (v2("192.0.2.1", 1, 4, command=0x20), True),
        (V2_SIGNATURE + b"\x21\x00\0\x03abc", False),
        (V2_SIGNATURE + b"\x21\x31\0\xd8" + b"/" * 216, False),
    ],
)
def test_a_proxy_may_speak_for_itself_or_not_say_for_whom(header: bytes, is_own: bool):
    found = parse_proxy_header(header + b"NICK ori\r\n")
    assert found is not None
    assert (found.address, found.is_own, found.size) == (None, is_own, len(header))


def test_tls_between_client_and_proxy_is_known():
    ssl = vector(0x20, b"\x01\0\0\0\0" + vector(0x21, b"TLSv1.3"))
    for vectors, is_secure in [
        (vector(0x04, b"xxx") + ssl, True),
        (vector(0x20, b"\0\0\0\0\0"), False),
        (b"\x20\xff", False),
    ]:
        found = parse_proxy_header(v2("2001:db8::1", 7, 6, vectors))
        assert found is not None
        assert found.is_secure is is_secure
