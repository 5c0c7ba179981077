"""From where nobody has to log in."""

import pytest

from culture.config import loader
from culture.config.ircd import IrcdConfig
from culture.errors import ConfigError
from culture.net.auth.trusted_networks import is_trusted
from culture.net.listen.origin import Origin, parse_ip


@pytest.mark.parametrize(
    ("address", "trusted", "expected"),
    [
        (None, ("unix",), True),
        (None, ("10.0.0.0/8",), False),
        ("10.1.2.3", ("unix", "10.0.0.0/8"), True),
        ("::ffff:10.1.2.3", ("10.0.0.0/8",), True),
        ("11.1.2.3", ("10.0.0.0/8", "fd00::/8"), False),
        ("fd00::1%eth0", ("10.0.0.0/8", "fd00::/8"), True),
        ("127.0.0.1", (), False),
    ],
)
def test_sockets_of_this_machine_and_networks(address: str | None, trusted: tuple[str, ...], expected: bool):
    origin = Origin(parse_ip(address) if address else None)
    assert is_trusted(origin, trusted) is expected


def test_what_is_neither_is_told():
    with pytest.raises(ConfigError, match=r"'10\.0\.0\.1/8' is neither 'unix' nor a network"):
        loader.parse("accounts:\n  trusted: [10.0.0.1/8]\n", IrcdConfig, where="ircd.yaml")
