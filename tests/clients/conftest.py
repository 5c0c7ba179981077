"""The server for other people's clients: plain, and with TLS under a certificate that they can check."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.certificates import make_pair
from support.network import Network

from culture.config.address import CARRIERS
from culture.config.ircd import Tls
from culture.ircd.skills import Skills
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.listen.tls import Certificate
from culture.skills.history.skill import History
from culture.store.history.archive import Archive


class Server(NamedTuple):
    """`localhost` at two ports. The certificate is its own authority."""

    port: int
    tls_port: int
    certificate: Path
    driver: Driver

    def is_secure(self, nick: str) -> bool:
        user = self.driver.ircd.state.find_user(nick)
        return user is not None and user.session is not None and user.session.is_secure


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    pair = make_pair(tmp_path, "localhost")
    with listening(("127.0.0.1:0", "127.0.0.1:0"), []) as listeners:
        history = History(Archive(tmp_path / "history"), "spark")
        driver = Driver(Network(motd="welcome", skills=Skills([history])).ircd)
        driver.serve(listeners[:1])
        certificate = Certificate(Tls(str(pair.certificate), str(pair.key)))
        driver.serve(listeners[1:], CARRIERS["tls"], certificate)
        port, tls_port = (address_of(each).port for each in listeners)
        yield Server(port, tls_port, pair.certificate, driver)
        await driver.stop()
        driver.ircd.skills.close()
