"""REDACT: taking a message back (IRCv3 draft/message-redaction)."""

from collections.abc import Sequence
from functools import partial

from culture.ircd.channel import Channel, status_of
from culture.ircd.commands.skills import asker_of, tell_failure
from culture.ircd.core import Ircd
from culture.ircd.events import Redacted
from culture.ircd.failures import Failure
from culture.ircd.session import Session
from culture.ircd.skills import Asker, Found, end_of
from culture.ircd.user import User
from culture.ircd.whereabouts import home_of
from culture.names import SIGNS
from culture.protocol.line import Line


def redact(ircd: Ircd, session: Session, line: Line) -> None:
    """`target msgid [reason]`. What is remembered says who said it, and when."""
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
    # Somebody else may have taken it back since it was looked for.
    is_gone = msgid in ircd.state.redacted
    if found is None or is_gone or (_is_channel(name) and target is None):
        _fail(ircd, session, _invalid(name) if target is None else _unknown(name, msgid))
        return
    if isinstance(target, User) and not _is_end(target, found.ends):
        # Who was written to had that nick before.
        target = None
    window_s = ircd.config.history.redact_within_s
    # Who makes a channel anew does not look after what was said in the one that had its name before.
    is_moderator = (
        isinstance(target, Channel) and found.at >= target.own_since and target.may_moderate(session.user)
    )
    if not is_moderator and not _is_own(asker, found):
        text = "You are not authorised to delete this message"
        _fail(ircd, session, Failure("REDACT_FORBIDDEN", name, msgid, text=text))
    elif not is_moderator and 0 < window_s < ircd.clock() - found.at:
        text = "You can no longer delete this message"
        _fail(ircd, session, Failure("REDACT_WINDOW_EXPIRED", name, msgid, str(window_s), text=text))
    else:
        host = "" if isinstance(target, Channel) else home_of(ircd, target, name)
        ircd.publish(Redacted(session.user, target, _spelled(target, name), msgid, reason, found.ends, host))


def _is_own(asker: Asker, found: Found) -> bool:
    is_proved = asker.nicks_are_owned or found.by.startswith("account:") or found.at >= asker.named_at
    return is_proved and found.by in asker.ends


def _is_end(user: User, ends: Sequence[str] | None) -> bool:
    """Whether a conversation is one with them, as they are or as they were before they logged in."""
    return ends is not None and not {end_of(user), f"nick:{user.key}"}.isdisjoint(ends)


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
