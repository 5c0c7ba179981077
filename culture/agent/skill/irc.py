"""irc: speak and read on IRC as an agent does, through its daemon's socket.

An agent runs it for every word it says, so it starts fast: the standard library's smaller half, and
no parser of options where five lines do.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from culture.config.paths import agent_socket
from culture.errors import CultureError, TemporaryError, UnavailableError, UsageError, run

WAIT_S: Final = 10.0
"""How long to wait for a daemon that is being restarted."""
ANSWER_TIMEOUT_S: Final = 60.0
_RETRY_S: Final = 0.05

Json = dict[str, Any]

USAGE: Final = """\
usage: irc [--nick NICK] VERB …

  send TARGET TEXT…      say TEXT in a channel, or to a nick; TEXT '-' is read from standard input
  read CHANNEL [LIMIT]   what was said since the last read, the oldest first; LIMIT lines, else 50
  whoami                 the agent's nick, server and channels
  status                 what the agent is doing

  --nick NICK            the agent to speak as; else $CULTURE_NICK, which an agent has in its environment

Quote a channel: irc send '#general' 'hello'. A bare # begins a comment in a shell.
"""


class Verb(NamedTuple):
    request: Callable[[Sequence[str]], Json]
    show: Callable[[Json], None]


def main() -> None:
    sys.exit(run("irc", lambda: _main(sys.argv[1:])))


def _main(words: Sequence[str]) -> int:
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    path, words = _find_agent(words)
    verb = VERBS.get(words[0]) if words else None
    if verb is None:
        told = f"unknown verb '{words[0]}'" if words else "a verb is missing"
        raise UsageError(told, hint=f"known verbs: {', '.join(VERBS)}; see irc --help")
    verb.show(ask(path, verb.request(words[1:])))
    return 0


def _find_agent(words: Sequence[str]) -> tuple[Path, Sequence[str]]:
    if words and words[0] == "--nick":
        if len(words) < 2:
            raise UsageError("--nick needs a nick")
        # The socket in the environment is that of another agent.
        env = {name: value for name, value in os.environ.items() if name != "CULTURE_SOCKET"}
        return agent_socket(words[1], env), words[2:]
    nick = os.environ.get("CULTURE_NICK", "")
    if not nick and not os.environ.get("CULTURE_SOCKET"):
        raise UsageError("which agent? there is no $CULTURE_NICK", hint="irc --nick spark-claude whoami")
    return agent_socket(nick, os.environ), words


def ask(path: Path, request: Json) -> Json:
    """The daemon's answer. Whispers that come before it are for whoever asks: they go to stderr."""
    with _connect(path, time.monotonic() + WAIT_S) as connection, connection.makefile("rb") as answers:
        connection.settimeout(ANSWER_TIMEOUT_S)
        try:
            connection.sendall(json.dumps({**request, "id": "1"}).encode() + b"\n")
            for line in answers:
                answer = json.loads(line)
                if answer["type"] == "response":
                    return _data_of(answer)
                if answer["type"] == "whisper":
                    sys.stderr.write(f"[SUPERVISOR/{answer['whisper_type']}] {answer['message']}\n")
        except TimeoutError:
            raise TemporaryError(f"no answer within {ANSWER_TIMEOUT_S:.0f} s") from None
        except ConnectionError:
            pass
    raise TemporaryError("the agent stopped before it answered; it may or may not have been done")


def _connect(path: Path, deadline: float) -> socket.socket:
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            if not isinstance(error, FileNotFoundError | ConnectionRefusedError):
                raise UnavailableError(f"cannot reach the agent at '{path}': {error.strerror}") from None
            if time.monotonic() > deadline:
                hint = "is it running? systemctl status 'culture-agent@*'"
                raise UnavailableError(f"no agent answers at '{path}'", hint=hint) from None
            time.sleep(_RETRY_S)
        else:
            return connection


def _data_of(answer: Json) -> Json:
    if answer["ok"]:
        return dict(answer["data"])
    kinds = {kind.exit_status: kind for kind in CultureError.__subclasses__() if kind.__init__ is _INIT}
    raise kinds.get(answer["exit_status"], CultureError)(answer["error"], hint=answer["hint"])


_INIT: Final = CultureError.__init__


def _send(words: Sequence[str]) -> Json:
    if len(words) < 2:
        raise UsageError(
            "send needs a target and a text", hint="irc send '#general' 'hello', with the quotes"
        )
    target, *text = words
    message = sys.stdin.buffer.read().decode(errors="replace") if text == ["-"] else " ".join(text)
    return {"type": "irc_send", "channel": target, "message": message}


def _read(words: Sequence[str]) -> Json:
    if not 1 <= len(words) <= 2 or not all(word.isdecimal() for word in words[1:]):
        raise UsageError(
            "read needs a channel and may have a number", hint="irc read '#general' 20, with the quotes"
        )
    limit = {"limit": int(words[1])} if len(words) == 2 else {}
    return {"type": "irc_read", "channel": words[0], **limit}


def _plain(kind: str) -> Callable[[Sequence[str]], Json]:
    def request(words: Sequence[str]) -> Json:
        if words:
            raise UsageError(f"{kind} takes no arguments")
        return {"type": kind}

    return request


def _show_sent(data: Json) -> None:
    lines = data["lines"]
    print("sent" if lines == 1 else f"sent as {lines} lines")


def _show_lines(data: Json) -> None:
    if data["missed"]:
        sys.stderr.write(f"{data['missed']} older lines are no longer there\n")
    for line in data["lines"]:
        # The time of day; who wants to know the day has the server's history.
        print(f"{line['time'][11:19]} <{line['nick']}> {line['text']}")
    if data["left"]:
        sys.stderr.write(f"{data['left']} more unread; read again\n")


def _show_self(data: Json) -> None:
    channels = ", ".join(data["channels"]) or "no channel"
    state = "connected to" if data["connected"] else "not connected to"
    print(f"{data['nick']}, {state} {data['server']}, in {channels}")


def _show_status(data: Json) -> None:
    print(data["status"])


VERBS: dict[str, Verb] = {
    "send": Verb(_send, _show_sent),
    "read": Verb(_read, _show_lines),
    "whoami": Verb(_plain("whoami"), _show_self),
    "status": Verb(_plain("status"), _show_status),
}

if __name__ == "__main__":
    main()
