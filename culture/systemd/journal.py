"""Log to the journal with structured fields, or to a terminal as plain lines.

FIELDS lists all fields, and MESSAGE_IDS has one id for each kind of entry that people search for. `fields()`
builds both for the `extra=` argument of a logging call.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

JOURNAL = "/run/systemd/journal/socket"
_INFO = 6
_ERROR = 3

FIELDS: dict[str, str] = {
    "CULTURE_NICK": "the agent or client that the entry is about",
    "CULTURE_CHANNEL": "the channel where it happened",
    "CULTURE_PEER": "who is at the other end: a nick or a host, or an address before there is one",
    "CULTURE_ACCOUNT": "the account that somebody logged in to, or tried to",
    "CULTURE_MECHANISM": "how they showed who they are: by SASL, REGISTER, user, agent or authenticator",
    "CULTURE_UNIX_USER": "the user of this machine at the other end, or its number where it has no name",
    "CULTURE_OPERATOR": "the operator, by the name in ircd.yaml",
    "CULTURE_QUESTION": "the id of a question that an agent asked",
    "CULTURE_AUTHORITY": "by what right an answer counts: person, vote, first, consensus, anyone",
    "CULTURE_AUDIT": "the hash of the row in the audit log",
    "CULTURE_TURN": "the turn, the same in every entry about it",
    "CULTURE_BACKEND": "what runs the agent: claude",
    "CULTURE_MSGID": "the message that it is about",
    "CULTURE_COST_USD": "what the turn cost, as its backend reports it",
    "CULTURE_INPUT_TOKENS": "how many tokens the model read, as its backend reports it",
    "CULTURE_CACHED_TOKENS": "how many of these it had read before",
    "CULTURE_OUTPUT_TOKENS": "how many tokens the model wrote",
    "CULTURE_OUTCOME": "how it ended: answered, silent, failed, interrupted, stopped",
    "CULTURE_VERDICT": "what a supervisor told its agent: CORRECTION, THINK_DEEPER or ESCALATION",
    "CULTURE_DURATION_MS": "how long it took",
}

MESSAGE_IDS: dict[str, str] = {
    "listening": "248a4d90102043c0b230cc5a86db3919",
    "client-registered": "9bb7bf2258624ff0b44bcc2f85b5730e",
    "client-gone": "a5ab1bfe92654698b7f965b8612e2c6a",
    "login-succeeded": "df8e7f2570a245a1bac1524c230cf822",
    "login-failed": "ead28a69ccad44199efdab8047a30f50",
    "account-made": "660d21c996334213ac394e44e33f8b94",
    "account-removed": "be6289461cfe4b8db5686e4facf051f1",
    "impersonation-refused": "4696a1d03b34437999de2a697b176e7c",
    "operator-made": "6089544d2f524a3e9900b3e2767a3441",
    "operator-refused": "f129542f5f664ac0b58af5fc2286f119",
    "client-killed": "8c7668dcb4694c8e82efa61c06f1296b",
    "host-changed": "8d1d5b3da5454d37b7008bcddf6e95cf",
    "reload-asked": "b362142eded34e218b7ea051975a0860",
    "halted": "2f0e3c55d2b14f0f9d0a5f5e3f2f7c11",
    "unhalted": "6a4b0f7e8c5d4d1ba1f3c2a97a0e5b34",
    "reloaded": "ca2f2417b01e47279aac0a788b0a1c36",
    "restored": "9b2c9812936b457388553ed500a0feb6",
    "who-may-come-in": "97c40058f54f4fd39a221b7cc35f10db",
    "link-asked": "d05ba97cb14b42a090ed27dce1b9dcdd",
    "linked": "3680f6e0067440ee8e6a6aace7927f90",
    "unlinked": "5f6f4d70329c4644948daa7a1039ec11",
    "link-refused": "4ee7493caf6948fa9fd6a943a14c1e64",
    "link-broken": "5003b6d8703144bd9ed90b1a26b36829",
    "link-skewed": "ae499742c75d41b39ff1580aa4d42975",
    "split": "5533ed3af18740a4a595e400a1b8c564",
    "connected": "f73afffa6ab44058bbeab1321237a66f",
    "connection-lost": "f052232fcdc649109e509c71a8b8a397",
    "session-started": "fe9ce9ec9ff64616b2b9e31a9a6768e1",
    "turn-began": "1068e1c8733544dc9bcf3221cfd0b2f7",
    "webhook-failed": "72e9e28db35346c7a1668838c0bdc4d5",
    "turn-ended": "44e9216141834e88bba4b37721100b2c",
    "turn-stopped": "71a6bde1e5d94d28bb1e9e551d77099b",
    "context-changed": "38e90408736246c699a8ce392b911a0d",
    "caught-up": "d1506785ded14aea8665d70323798f79",
    "backend-crashed": "26c44875dbf54b0db361fbd2b307f523",
    "paused": "27156623a34c46b09c0e7ce9dae9b823",
    "resumed": "9eacee2f61944ce18eb2021de7f0913b",
    "supervisor-whispered": "162d23a47fad4eb6b95387e182a68326",
    "judge-failed": "ef224ea538514aff9cc60a5602cda942",
    "escalated": "a8eaf85496df4c16ba542bcc966902f6",
    "restarted": "0493e92612a14c5aa31038a6d52253ed",
    "given-up": "b513bd78a3d84b76afcf178b9820996f",
    "budget": "2663c70f5d2e4c81b722a1715e3a6a28",
    "quota-exhausted": "4088ccda5d0e4739bad37a6b5ed8e742",
    "reservations-assumed": "91ec366476454770993e13db075d7e6c",
    "question-asked": "1cd67a1e01104ea7ace9f5434bd2af0a",
    "question-answered": "6c9515f8534247e8b978d2ed5bcc5460",
}


def fields(kind: str | None = None, **values: object) -> dict[str, Any]:
    """Return the `extra=` of an entry from its kind and fields by short name (`nick`, `turn`, …)."""
    named = {f"CULTURE_{name.upper()}": str(value) for name, value in values.items() if value is not None}
    unknown = named.keys() - FIELDS.keys()
    if unknown:
        raise KeyError(f"not a documented field: {', '.join(sorted(unknown))}")
    return named if kind is None else {"MESSAGE_ID": MESSAGE_IDS[kind], **named}


def log_to_journal_or_terminal(program: str, env: Mapping[str, str], *, verbose: bool = False) -> None:
    """Set up logging once, at the start of a program."""
    handler = _journal_handler(program) if _stderr_is_journal(env) else _terminal_handler()
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    # Libraries log their own internals below WARNING.
    for name in ("asyncio", "aiohttp", "mcp", "uvicorn", "claude_agent_sdk"):
        logging.getLogger(name).setLevel(logging.WARNING)


def tell_journal(program: str, kind: str, text: str, **values: object) -> None:
    """Write one entry from a program that is not a service; do nothing without a journal."""
    send = _sender()
    if send is not None:
        send(text, SYSLOG_IDENTIFIER=program, PRIORITY=_INFO, **fields(kind, **values))


def _sender() -> Callable[..., None] | None:
    if not os.path.exists(JOURNAL):
        return None
    try:
        # Compiled against libsystemd, so it is needed only where there is a journal.
        from systemd import journal
    except ModuleNotFoundError:
        return None
    send: Callable[..., None] = journal.send
    return send


def tell_about_unit(program: str, unit: str, text: str) -> None:
    """Write an entry that `systemctl status` shows for another unit; do nothing without a journal.

    systemd shows such entries if root wrote them (OBJECT_SYSTEMD_UNIT= in systemd.journal-fields(7)).
    """
    send = _sender()
    if send is not None:
        for line in text.splitlines():
            send(line, SYSLOG_IDENTIFIER=program, PRIORITY=_ERROR, OBJECT_SYSTEMD_UNIT=unit)


def _stderr_is_journal(env: Mapping[str, str]) -> bool:
    """Return whether stderr is the journal's socket that $JOURNAL_STREAM names, and was not redirected."""
    device, _, inode = env.get("JOURNAL_STREAM", "").partition(":")
    try:
        stderr = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(stderr.st_dev), str(stderr.st_ino))


def _journal_handler(program: str) -> logging.Handler:
    try:
        # Compiled against libsystemd, so it is needed only where there is a journal.
        from systemd.journal import JournalHandler
    except ModuleNotFoundError:
        return _terminal_handler()
    handler: logging.Handler = JournalHandler(SYSLOG_IDENTIFIER=program)
    # The journal has level and logger as fields.
    handler.setFormatter(logging.Formatter("%(message)s"))
    return handler


def _terminal_handler() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_TerminalFormatter("%(message)s"))
    return handler


class _TerminalFormatter(logging.Formatter):
    """Prefixes the message with its level, except for INFO."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if record.levelno == logging.INFO else f"{record.levelname.lower()}: {text}"
