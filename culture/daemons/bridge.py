"""The entry point of culture-bridge, which serves channels and the wiki to MCP clients."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from culture import errors
from culture.bridge.access import Access
from culture.bridge.tokens import hash_token, new_token
from culture.client.connection import tls_of
from culture.client.registration import Identity
from culture.client.transport.irc import IrcTransport
from culture.client.transport.network import Network
from culture.commandline import Parser, daemon_parser
from culture.config import loader, paths
from culture.config.address import parse_address
from culture.config.bridge import BridgeConfig, check_exposure
from culture.errors import CultureError, UnavailableError
from culture.names import fold
from culture.net.auth.oidc_tokens import TokenVerifier
from culture.net.limits.token_bucket import Rate, TokenBucket
from culture.net.listen.listeners import address_of, listening
from culture.store.channel_log import ChannelLog
from culture.systemd.credentials import bridge_directory, read_credential
from culture.systemd.journal import fields, log_to_journal_or_terminal
from culture.systemd.notify import Notifier, keep_alive, tell_refusal, watchdog_interval_s
from culture.systemd.sockets import passed_sockets
from culture.wiki.wiki import Wiki

if TYPE_CHECKING:
    from culture.bridge.server import BridgeServer

PROGRAM = "culture-bridge"
log = logging.getLogger(__name__)


def main() -> None:
    """Run culture-bridge and exit with its status."""
    sys.exit(errors.run(PROGRAM, lambda: tell_refusal(_main, os.environ)))


def _main() -> int:
    options = _parser().parse_args()
    if options.new_token:
        return _print_token()
    path = options.config or paths.config_file("bridge.yaml", os.environ)
    config = loader.load(path, BridgeConfig)
    if options.check:
        check_exposure(config, [parse_address(each) for each in config.listen], str(path))
        return 0
    log_to_journal_or_terminal(PROGRAM, os.environ, verbose=options.verbose)
    passed = [each.socket for each in passed_sockets(os.environ)]
    with listening([] if passed else config.listen, passed) as listeners:
        check_exposure(config, [address_of(each) for each in listeners], str(path))
        state_dir = paths.make_state_dir(config.state_dir, os.environ)
        with contextlib.closing(ChannelLog(state_dir / "channels.db")) as channel_log:
            asyncio.run(_serve(path, config, state_dir, channel_log, listeners))
    return 0


async def _serve(
    path: Path, config: BridgeConfig, state_dir: Path, channel_log: ChannelLog, listeners: list[socket.socket]
) -> None:
    loop, notifier = asyncio.get_running_loop(), Notifier(os.environ)
    bridge = _Bridge(path, config, channel_log)
    wiki = await Wiki.open(Path(config.wiki) if config.wiki else state_dir / "wiki.git")
    server = _make_server(config, bridge, wiki)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    loop.add_signal_handler(signal.SIGHUP, bridge.reload, notifier)
    try:
        async with asyncio.TaskGroup() as tasks:
            irc = tasks.create_task(bridge.transport.run())
            serving = tasks.create_task(server.run(listeners))
            packing = tasks.create_task(_pack(wiki))
            interval_s = watchdog_interval_s(os.environ, os.getpid())
            watchdog = tasks.create_task(
                keep_alive(notifier, interval_s, lambda: bridge.transport.is_healthy)
            )
            for listener in listeners:
                log.info("listening on %s", address_of(listener), extra=fields("listening"))
            notifier.ready(bridge.status())
            await serving
            notifier.stopping("closing connections")
            for task in (watchdog, packing):
                task.cancel()
            bridge.transport.quit("the bridge stops")
            await irc
    except BaseExceptionGroup as group:
        # A refused nick ends the bridge with an error message, not with a traceback.
        if (expected := group.subgroup(CultureError)) is not None:
            raise expected.exceptions[0] from None
        raise


async def _pack(wiki: Wiki) -> None:
    try:
        await wiki.pack()
    except CultureError as error:
        log.warning("the wiki was not packed: %s", error)


class _Bridge:
    """The clients of the bridge and its place on IRC."""

    def __init__(self, path: Path, config: BridgeConfig, channel_log: ChannelLog) -> None:
        self._path = path
        self._config = config
        rate = Rate(config.limits.requests_per_s, config.limits.request_burst)
        self.access = Access(config.clients, lambda: TokenBucket(rate, time.monotonic()), time.monotonic)
        password = _secret(config.server.password_credential)
        own = self._identity(config.own_nick, config.account, config.account_credential, password)
        self.transport = IrcTransport(
            Network(config.server.address, tls_of(config.server)),
            own,
            config.channels,
            channel_log,
            identity_of=lambda nick: self._sender_identity(nick, password),
            wall_clock=time.time,
            on_down=_log_down,
        )

    def status(self) -> str:
        """Return what `systemctl status` shows."""
        return f"serving {self._config.public_url} for {len(self._config.clients)} clients"

    def reload(self, notifier: Notifier) -> None:
        """Read the clients again. The rest of the file takes effect at the next start."""
        notifier.reloading()
        try:
            self._config = loader.load(self._path, BridgeConfig)
            self.access.replace(self._config.clients)
            log.info("reloaded '%s'", self._path, extra=fields("reloaded"))
        except CultureError as error:
            log.warning("keeping the old clients: %s", error)
        notifier.ready(self.status())

    def _sender_identity(self, nick: str, password: str) -> Identity:
        """Return who a sender is on IRC; only a client's own nick has an account."""
        for client in self._config.clients:
            if fold(client.nick) == fold(nick):
                return self._identity(client.nick, client.account, client.account_credential, password)
        return Identity(nick, "mcp", f"{nick} by the bridge", password)

    def _identity(self, nick: str, account: str, credential: str, password: str) -> Identity:
        secret = _secret(credential)
        return Identity(
            nick,
            "mcp",
            "MCP bridge" if nick == self._config.own_nick else f"{nick} by the bridge",
            password,
            is_bot=nick == self._config.own_nick,
            account=(account or nick) if secret else "",
            account_password=secret,
        )


def _make_server(config: BridgeConfig, bridge: _Bridge, wiki: Wiki) -> "BridgeServer":
    if paths.VENDOR.is_dir():
        sys.path.insert(0, str(paths.VENDOR))
    try:
        # Optional and slow to import.
        from culture.bridge.server import BridgeServer, make_app
        from culture.bridge.verifier import BearerVerifier
    except ImportError as error:
        hint = "apt install culture-claude, or in a checkout: pip install '.[bridge]'"
        raise UnavailableError(f"the bridge needs the Python package mcp: {error}", hint=hint) from None
    subject_of = TokenVerifier(config.oauth).account_of if config.oauth.is_used else None
    verifier = BearerVerifier(bridge.access, config.public_url, subject_of, _log_refused)
    return BridgeServer(make_app(config, bridge.transport, wiki, bridge.access, verifier), config)


def _log_down(error: CultureError, wait_s: float) -> None:
    what = "not connected to the IRC server: %s; next attempt in %.0f s"
    log.warning(what, error, wait_s, extra=fields("connection-lost"))


def _log_refused(mechanism: str) -> None:
    log.warning(
        "a client with an unknown token was refused", extra=fields("login-failed", mechanism=mechanism)
    )


def _secret(credential: str) -> str:
    return read_credential(credential, os.environ, bridge_directory()) if credential else ""


def _print_token() -> int:
    token = new_token()
    print(f"token: {token}")
    print(f"token_sha256: {hash_token(token)}")
    return 0


def _parser() -> Parser:
    parser = daemon_parser(PROGRAM, "Serve channels and the wiki to MCP clients.")
    where = "Configuration (default: ~/.culture/bridge.yaml if it exists, else /etc/culture/bridge.yaml)"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    parser.add_argument("--check", action="store_true", help="Check the configuration and exit")
    parser.add_argument("--new-token", action="store_true", help="Print a new token and its hash, and exit")
    return parser


if __name__ == "__main__":
    main()
