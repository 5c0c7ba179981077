"""Register a connection by CAP, SASL, PASS, NICK and USER, and explain every refusal."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from culture.errors import CultureError, NotAllowedError, TemporaryError
from culture.names import nick_prefix
from culture.protocol import numerics
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line

# Without them everything works. With them mentions are flagged, lines carry their time and who is logged in,
# what we say comes back with its id, may have several lines, and what was missed can be read again. Metadata
# is requested, too.
WANTED = (
    Cap.MESSAGE_TAGS,
    Cap.SERVER_TIME,
    Cap.ACCOUNT_TAG,
    Cap.BATCH,
    Cap.CHATHISTORY,
    Cap.ECHO_MESSAGE,
    Cap.MULTILINE,
    Cap.MULTI_PREFIX,
)

# Not in the server's own table: only a network with bans sends it (RFC 2812 section 5.2).
_ERR_YOUREBANNED = "465"
_PIECE_BYTES = 400
_ACCOUNT_HINT = "set account and account_credential of the agent in agents.yaml"


@dataclass(frozen=True, slots=True)
class Identity:
    """The nick, names and passwords of a client."""

    nick: str
    user: str
    real_name: str
    password: str = ""
    is_bot: bool = False
    # Empty: it does not log in.
    account: str = ""
    account_password: str = ""
    # What only this client asks for, where the server has it.
    capabilities: tuple[str, ...] = ()


class Phase(Enum):
    """How far a registration has come."""

    NEGOTIATING = auto()
    REGISTERING = auto()
    REGISTERED = auto()


class Registration:
    """Replies to the server until it welcomes the client. Raises CultureError for a refusal."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        # With what each says of itself: `draft/multiline=max-bytes=4096`.
        self.offered: dict[str, str] = {}
        self.phase = Phase.NEGOTIATING
        self.capabilities: frozenset[str] = frozenset()
        # The server knows who we are by our Unix user, before we say a word.
        self._is_known = False

    def begin(self) -> list[str]:
        """Return the first lines. CAP comes first, so that the server delays its welcome (IRCv3 CAP 302)."""
        me = self._identity
        lines = [format_line("CAP", "LS", "302")]
        if me.password:
            lines.append(format_line("PASS", me.password, trailing=True))
        lines.append(format_line("NICK", me.nick))
        lines.append(format_line("USER", me.user, "0", "*", me.real_name, trailing=True))
        return lines

    def received(self, line: Line) -> list[str]:
        """Return the lines to send in reply to a line."""
        match line.command:
            case "CAP":
                return self._capabilities(line)
            case "AUTHENTICATE":
                return self._authenticate()
            case numerics.RPL_LOGGEDIN if not self.offered:
                self._is_known = line.param(2).lower() == self._identity.nick.lower()
            case numerics.RPL_SASLSUCCESS:
                return self._end()
            case numerics.RPL_WELCOME:
                self.phase = Phase.REGISTERED
            case "ERROR":
                raise TemporaryError(f"the server closed the connection: {line.param(0)}")
            case refused if refused in _REFUSALS:
                raise _refusal(line, self._identity.nick)
        return []

    def _capabilities(self, line: Line) -> list[str]:
        listed = line.params[-1].split()
        match line.param(1).upper():
            case "LS" if self.phase is Phase.NEGOTIATING:
                self.offered |= {name: value for name, _, value in (word.partition("=") for word in listed)}
                if line.param(2) == "*" and len(line.params) > 3:
                    return []
                return self._ask(word for word in self._wanted() if word in self.offered)
            case "ACK":
                self.capabilities |= {word for word in listed if not word.startswith("-")}
                return self._log_in() if Cap.SASL in self.capabilities else self._end()
            case "NAK":
                return self._end()
        return []

    def _wanted(self) -> tuple[str, ...]:
        # A client may not request both names of the capability.
        metadata = Cap.METADATA if Cap.METADATA in self.offered else Cap.METADATA_2
        wanted = tuple(dict.fromkeys((*WANTED, metadata, *self._identity.capabilities)))
        if not self._identity.account or self._is_known:
            return wanted
        if Cap.SASL not in self.offered:
            raise NotAllowedError("the server lets nobody log in (sasl)", hint=_ACCOUNT_HINT)
        return (*wanted, Cap.SASL)

    def _log_in(self) -> list[str]:
        return [format_line("AUTHENTICATE", "PLAIN")]

    def _authenticate(self) -> list[str]:
        """PLAIN (RFC 4616), in pieces of 400 bytes; a last one that is full is followed by an empty one."""
        me = self._identity
        secret = base64.b64encode(f"\0{me.account}\0{me.account_password}".encode()).decode()
        pieces = [secret[at : at + _PIECE_BYTES] for at in range(0, len(secret), _PIECE_BYTES)]
        if len(pieces[-1]) == _PIECE_BYTES:
            pieces.append("+")
        return [format_line("AUTHENTICATE", piece) for piece in pieces]

    def _ask(self, wanted: Iterable[str]) -> list[str]:
        words = " ".join(wanted)
        return [format_line("CAP", "REQ", words, trailing=True)] if words else self._end()

    def _end(self) -> list[str]:
        if self.phase is not Phase.NEGOTIATING:
            return []
        self.phase = Phase.REGISTERING
        return [format_line("CAP", "END")]


@dataclass(frozen=True, slots=True)
class _Refusal:
    error: type[CultureError]
    what: str
    hint: str | None = None


_REFUSALS = {
    numerics.ERR_ERRONEUSNICKNAME: _Refusal(NotAllowedError, "does not take the nick '{nick}'"),
    # The nick may be that of our own last connection, which the server has not given up yet.
    numerics.ERR_NICKNAMEINUSE: _Refusal(TemporaryError, "says that '{nick}' is in use"),
    numerics.ERR_PASSWDMISMATCH: _Refusal(
        NotAllowedError, "does not take the password", "set server.password_credential in agents.yaml"
    ),
    _ERR_YOUREBANNED: _Refusal(NotAllowedError, "has banned us"),
    numerics.ERR_SASLFAIL: _Refusal(
        NotAllowedError, "does not take the account or its password", _ACCOUNT_HINT
    ),
    numerics.ERR_SASLTOOLONG: _Refusal(NotAllowedError, "does not take the account", _ACCOUNT_HINT),
    # The server is busy, or was asked for something else meanwhile.
    numerics.ERR_SASLABORTED: _Refusal(TemporaryError, "did not finish logging us in"),
}


def _refusal(line: Line, nick: str) -> CultureError:
    refusal = _REFUSALS[line.command]
    words = line.params[-1] if line.params else ""
    hint = refusal.hint
    # Only a server that wants its own name in front of nicks speaks of that prefix.
    if line.command == numerics.ERR_ERRONEUSNICKNAME and nick_prefix(line.source) in words:
        hint = _rename_hint(nick, line.source)
    return refusal.error(f"the server {refusal.what.format(nick=nick)}: {words}", hint=hint)


def _rename_hint(nick: str, host: str) -> str:
    """Say what to do about a nick that begins with the name of another host than the server's."""
    was, _, name = nick.partition("-")
    return (
        f"was host '{was}' renamed to '{host}'? Set 'name: {was}' in ircd.yaml to keep the old name, "
        f"or call the agent '{nick_prefix(host)}{name}' in agents.yaml"
    )
