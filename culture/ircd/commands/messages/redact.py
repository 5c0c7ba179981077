"""REDACT: delete a message (IRCv3 draft/message-redaction)."""

from functools import partial

from culture.ircd.commands.server.skills import asker_of, tell_failure
from culture.ircd.events import Redacted
from culture.ircd.failures import Failure
from culture.ircd.model.channel import Channel, status_of
from culture.ircd.model.user import User
from culture.ircd.replication.hosts import home_of
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.skills import Asker, Found
from culture.names import SIGNS
from culture.protocol.line import Line
from culture.protocol.parties import Party


def redact(ircd: Ircd, session: Session, line: Line) -> None:
    """Redact a message, given `target msgid [reason]`. History tells who wrote it and when."""
    name, msgid, reason = line.param(0), line.param(1), line.param(2)
    target = _target(ircd, name)
    if _is_channel(name) and (not isinstance(target, Channel) or session.user not in target.members):
        raise _invalid(name)
    asker = asker_of(ircd, session, [name])
    ircd.ask_skill(
        session,
        partial(ircd.skills.find, asker, name, msgid),
        lambda found: _decide(ircd, session, asker, name, msgid, reason, found),
        unavailable=lambda: _fail(ircd, session, _unknown(name, msgid)),
    )


def _decide(
    ircd: Ircd, session: Session, asker: Asker, name: str, msgid: str, reason: str, found: Found | None
) -> None:
    target = _target(ircd, name)
    # Somebody else may have redacted it while history was searched.
    is_gone = ircd.state.redactions.has(name, msgid)
    if found is None or is_gone or (_is_channel(name) and target is None):
        _fail(ircd, session, _invalid(name) if target is None else _unknown(name, msgid))
        return
    if isinstance(target, User) and not target.is_party_to(found.ends):
        # The nick has passed to somebody else since the message was written.
        target = None
    window_s = ircd.config.history.redact_within_s
    # Operators of a new channel do not moderate the messages of an earlier channel of that name.
    is_moderator = (
        isinstance(target, Channel) and found.at >= target.name_since and target.may_moderate(session.user)
    )
    if not is_moderator and found.by not in asker.parties:
        text = "You are not authorised to delete this message"
        _fail(ircd, session, Failure("REDACT_FORBIDDEN", name, msgid, text=text))
    elif not is_moderator and 0 < window_s < ircd.clock() - found.at:
        text = "You can no longer delete this message"
        _fail(ircd, session, Failure("REDACT_WINDOW_EXPIRED", name, msgid, str(window_s), text=text))
    else:
        ends = None if found.ends is None else _author_first(found.ends, found.by)
        host = "" if isinstance(target, Channel) else (ends and ends[1].host) or home_of(ircd, target, name)
        ircd.publish(Redacted(session.user, target, _spelled(target, name), msgid, reason, ends, host))


def _author_first(ends: tuple[Party, Party], author: Party) -> tuple[Party, Party]:
    return ends if ends[0] == author else (ends[1], ends[0])


def _is_channel(name: str) -> bool:
    return name.lstrip(SIGNS).startswith("#")


def _target(ircd: Ircd, name: str) -> Channel | User | None:
    if _is_channel(name):
        return ircd.state.find_channel(name.lstrip(SIGNS))
    return ircd.state.find_user(name)


def _spelled(target: Channel | User | None, name: str) -> str:
    match target:
        case Channel():
            return target.addressed(status_of(name))
        case User():
            return target.nick
        case None:
            return name


def _invalid(name: str) -> Failure:
    return Failure("INVALID_TARGET", name, text="You cannot delete messages from there")


def _unknown(name: str, msgid: str) -> Failure:
    return Failure("UNKNOWN_MSGID", name, msgid, text="This message does not exist or is too old")


def _fail(ircd: Ircd, session: Session, failure: Failure) -> None:
    tell_failure(ircd, session, "REDACT", failure)
