"""One call of an agent's daemon, over its socket."""

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.tools.whispers import PROOF_VARIABLE, Whisper
from culture.config.paths import agent_socket
from culture.errors import (
    CultureError,
    NoInputError,
    NotAllowedError,
    TemporaryError,
    UnavailableError,
    UsageError,
)

# How long to wait for a daemon that is being restarted.
WAIT_S: Final = 10.0
# Longer than a daemon takes for anything but a question; on a slow server a long text takes minutes.
ANSWER_TIMEOUT_S: Final = 600.0
_RETRY_S: Final = 0.05
# What a daemon may answer with, by its exit status; anything else is a bug.
_ERRORS: Final = {
    kind.exit_status: kind
    for kind in (UsageError, NoInputError, UnavailableError, TemporaryError, NotAllowedError)
}

Json = dict[str, Any]
OnWhisper = Callable[[str], None]


class NobodyAnswersError(UnavailableError):
    """There is no socket, or nobody at it."""


def socket_of(nick: str | None, env: Mapping[str, str]) -> Path:
    """Of the agent that is named, else of the one whose environment this is."""
    if nick is not None:
        # The socket in the environment is that of another agent.
        return agent_socket(nick, {name: value for name, value in env.items() if name != "CULTURE_SOCKET"})
    if not env.get("CULTURE_NICK") and not env.get("CULTURE_SOCKET"):
        raise UsageError("which agent? there is no $CULTURE_NICK", hint="irc --nick spark-claude whoami")
    return agent_socket(env.get("CULTURE_NICK", ""), env)


def own_proof(env: Mapping[str, str]) -> Json:
    """What a request carries if it is the agent's own: only the agent is told what a supervisor whispers."""
    return {"proof": env[PROOF_VARIABLE]} if env.get(PROOF_VARIABLE) else {}


def call(
    path: Path,
    request: Json,
    on_whisper: OnWhisper = lambda text: None,
    on_connected: Callable[[socket.socket], None] = lambda connection: None,
    wait_s: float = WAIT_S,
    answer_timeout_s: float = ANSWER_TIMEOUT_S,
) -> Json:
    """The daemon's answer. Whoever shuts the connection down before it is there gives up the call."""
    answer_s = answer_timeout_s + (request.get("timeout") or 0)
    with _connect(path, time.monotonic() + wait_s) as connection:
        connection.settimeout(answer_s)
        on_connected(connection)
        try:
            connection.sendall(json.dumps({**request, "id": "1"}).encode() + b"\n")
            with connection.makefile("rb") as answers:
                for line in answers:
                    answer = json.loads(line)
                    if answer["type"] == "response":
                        return _data_of(answer)
                    if answer["type"] == "whisper":
                        on_whisper(str(Whisper(answer["whisper_type"], answer["message"])))
        except TimeoutError:
            raise TemporaryError(f"no answer within {answer_s:.0f} s") from None
        except OSError:
            pass
    raise TemporaryError("the agent stopped before it answered; it may or may not have been done")


def _connect(path: Path, deadline: float) -> socket.socket:
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(os.fspath(path))
        except OSError as error:
            connection.close()
            if isinstance(error, PermissionError):
                hint = "be the agent's user or root: sudo"
                raise NotAllowedError(f"the socket '{path}' is not yours", hint=hint) from None
            if not isinstance(error, FileNotFoundError | ConnectionRefusedError):
                raise UnavailableError(f"cannot reach the agent at '{path}': {error.strerror}") from None
            if time.monotonic() > deadline:
                hint = "is it running? systemctl status 'culture-agent@*'"
                raise NobodyAnswersError(f"no agent answers at '{path}'", hint=hint) from None
            time.sleep(_RETRY_S)
        else:
            return connection


def _data_of(answer: Json) -> Json:
    if answer["ok"]:
        return dict(answer["data"])
    kind = _ERRORS.get(answer["exit_status"], CultureError)
    raise kind(answer["error"], hint=answer["hint"])
