"""From a fresh connection to a nick: CAP, PASS, NICK and USER, and every way a server can say no."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from culture.errors import CultureError, NotAllowedError, TemporaryError
from culture.protocol import numerics
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line

# Without them everything works; with them mentions are flagged and lines carry their time.
WANTED = (Cap.MESSAGE_TAGS, Cap.SERVER_TIME)

# Not in the server's own table: only a network with bans sends it (RFC 2812 section 5.2).
_ERR_YOUREBANNED = "465"


@dataclass(frozen=True, slots=True)
class Identity:
    nick: str
    user: str
    real_name: str
    password: str = ""


class Phase(Enum):
    NEGOTIATING = auto()
    REGISTERING = auto()
    REGISTERED = auto()


class Registration:
    """Answers what the server says until it welcomes us. Raises what a refusal means."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._offered: list[str] = []
        self.phase = Phase.NEGOTIATING
        self.capabilities: frozenset[str] = frozenset()

    def begin(self) -> list[str]:
        """What to send first. CAP comes first, so that the server waits with its welcome (IRCv3 CAP 302)."""
        me = self._identity
        lines = [format_line("CAP", "LS", "302")]
        if me.password:
            lines.append(format_line("PASS", me.password, trailing=True))
        lines.append(format_line("NICK", me.nick))
        lines.append(format_line("USER", me.user, "0", "*", me.real_name, trailing=True))
        return lines

    def received(self, line: Line) -> list[str]:
        """What to send in return."""
        match line.command:
            case "CAP":
                return self._capabilities(line)
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
                self._offered += (word.partition("=")[0] for word in listed)
                if line.param(2) == "*" and len(line.params) > 3:
                    return []
                return self._ask(word for word in WANTED if word in self._offered)
            case "ACK":
                self.capabilities |= {word for word in listed if not word.startswith("-")}
                return self._end()
            case "NAK":
                return self._end()
        return []

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
}


def _refusal(line: Line, nick: str) -> CultureError:
    refusal = _REFUSALS[line.command]
    words = line.params[-1] if line.params else ""
    return refusal.error(f"the server {refusal.what.format(nick=nick)}: {words}", hint=refusal.hint)
