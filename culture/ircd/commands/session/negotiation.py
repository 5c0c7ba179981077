"""CAP: negotiate capabilities (IRCv3 capability negotiation)."""

from collections.abc import Sequence

from culture.config.ircd import IrcdConfig
from culture.ircd.capabilities.offered import offered, sts_policy
from culture.ircd.commands.session.extended_isupport import announce_isupport
from culture.ircd.commands.session.registration import finish_registration
from culture.ircd.delivery.metadata_push import send_published
from culture.ircd.delivery.text import is_number, pack, room_behind
from culture.ircd.refusal import Refusal
from culture.ircd.server import Ircd
from culture.ircd.session import METADATA, Phase, Session
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line
from culture.protocol.numerics import ERR_INVALIDCAPCMD

MORE = "*"
_DRAFT = "draft/"
# Clients of this version of CAP are told of changes without asking (cap-notify).
MODERN = 302


def cap(ircd: Ircd, session: Session, line: Line) -> None:
    """Run the subcommand."""
    subcommand = line.param(0).upper()
    answer = _SUBCOMMANDS.get(subcommand)
    if answer is None:
        raise Refusal(ERR_INVALIDCAPCMD, line.param(0) or "*", "Invalid CAP command")
    answer(ircd, session, line)


def announce_offers(ircd: Ircd, before: IrcdConfig) -> None:
    """Announce the capabilities that a reload added or removed (cap-notify), and changed ISUPPORT tokens."""
    old, new = offered(before, ircd.skills.caps), offered(ircd.config, ircd.skills.caps)
    gone = [cap for cap in old if cap not in new]
    changed = [_with_value(cap, value) for cap, value in new.items() if old.get(cap) != value]
    for session in ircd.sessions:
        come = changed if session.cap_version >= MODERN else [cap for cap in new if cap not in old]
        is_listening = Cap.CAP_NOTIFY in session.caps
        session.set_caps(session.caps.difference(gone))
        if gone and is_listening:
            _send(ircd, session, "DEL", " ".join(gone))
        if come and is_listening:
            _send(ircd, session, "NEW", " ".join(come))
    announce_isupport(ircd, before)


def _with_value(cap: Cap, value: str) -> str:
    return f"{cap}={value}" if value else cap


def _ls(ircd: Ircd, session: Session, line: Line) -> None:
    _suspend_registration(session)
    version = int(line.param(1)) if is_number(line.param(1)) else 0
    # A client may raise its version but not lower it; this reply is for the version that it sent now.
    session.cap_version = max(session.cap_version, version)
    if session.cap_version >= MODERN:
        session.set_caps(session.caps | {Cap.CAP_NOTIFY})
    offers = offered(ircd.config, ircd.skills.caps)
    if version >= MODERN:
        sts = "" if session.is_local else sts_policy(ircd.config, is_secure=session.is_secure)
        shown = {**offers, Cap.STS: sts} if sts else offers
        _send_lines(ircd, session, "LS", [_with_value(*offer) for offer in shown.items()])
    else:
        # A client without version 302 needs no draft name of a capability with a final name.
        _send_one_line(ircd, session, "LS", [cap for cap in offers if _without_draft(cap) not in offers])


def _list(ircd: Ircd, session: Session, line: Line) -> None:
    send = _send_lines if session.cap_version >= MODERN else _send_one_line
    send(ircd, session, "LIST", sorted(session.caps))


def _req(ircd: Ircd, session: Session, line: Line) -> None:
    _suspend_registration(session)
    # People type it without the colon.
    asked = " ".join(line.params[1:])
    wanted = [word for word in asked.split(" ") if word]
    caps, offers = set(session.caps), offered(ircd.config, ircd.skills.caps)
    for word in wanted:
        name = word.removeprefix("-")
        cannot_drop = name == Cap.CAP_NOTIFY and word != name and session.cap_version >= MODERN
        if name not in offers or cannot_drop:
            _send(ircd, session, "NAK", asked)
            return
        if word == name:
            caps.add(Cap(name))
        else:
            caps.discard(Cap(name))
    if caps >= METADATA:
        # A client uses one of the two names (IRCv3 draft/metadata-3, relation with other specifications).
        _send(ircd, session, "NAK", asked)
        return
    # The ACK is sent before the capabilities take effect. It may take several lines.
    room = room_behind(ircd.name, "CAP", session.user.nick, "ACK")
    for some in list(pack(wanted, room)) or [""]:
        _send(ircd, session, "ACK", some)
    was_aware = session.is_metadata_aware
    session.set_caps(caps)
    if was_aware and not session.is_metadata_aware:
        session.subscriptions = frozenset()
    elif session.is_metadata_aware and not was_aware and session.phase is Phase.REGISTERED:
        send_published(ircd, session)


def _end(ircd: Ircd, session: Session, line: Line) -> None:
    if session.phase is Phase.REGISTERING:
        session.is_negotiating = False
        finish_registration(ircd, session)


def _suspend_registration(session: Session) -> None:
    if session.phase is Phase.REGISTERING:
        session.is_negotiating = True


def _send_one_line(ircd: Ircd, session: Session, subcommand: str, caps: Sequence[str]) -> None:
    """Send one line, as before version 302. Draft capabilities come last and may be cut off."""
    room = room_behind(ircd.name, "CAP", session.user.nick, subcommand)
    line = next(pack(sorted(caps, key=_is_draft), room), "")
    _send(ircd, session, subcommand, line)


def _is_draft(cap: str) -> bool:
    return cap.startswith(_DRAFT)


def _without_draft(cap: str) -> str:
    return cap.removeprefix(_DRAFT) if _is_draft(cap) else ""


def _send_lines(ircd: Ircd, session: Session, subcommand: str, caps: Sequence[str]) -> None:
    """Send as many lines as needed; all but the last have a `*` (version 302)."""
    room = room_behind(ircd.name, "CAP", session.user.nick, subcommand, MORE)
    *others, last = list(pack(caps, room)) or [""]
    for line in others:
        _send(ircd, session, subcommand, MORE, line)
    _send(ircd, session, subcommand, last)


def _send(ircd: Ircd, session: Session, *params: str) -> None:
    ircd.send(session, format_line("CAP", session.user.nick, *params, source=ircd.name, trailing=True))


_SUBCOMMANDS = {"LS": _ls, "LIST": _list, "REQ": _req, "END": _end}
