"""The commands that skills answer: who asks becomes plain values, and replies become what they negotiated."""

from collections.abc import Sequence
from functools import partial

from culture.ircd.batched import batched, tagged
from culture.ircd.channel import PREFIXES, RANKS, Channel
from culture.ircd.core import Command, Ircd
from culture.ircd.failures import Failure
from culture.ircd.session import Session
from culture.ircd.skills import (
    Asker,
    Membership,
    Named,
    Replies,
    Reply,
    ReplyBatch,
    SkillCommand,
    Skills,
    end_of,
)
from culture.ircd.text import LINE_BYTES, cut
from culture.ircd.user import User
from culture.names import fold
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line
from culture.protocol.multiline import RenderedLines
from culture.protocol.render import MULTILINE, Rendered

_UNAVAILABLE = Failure("TEMPORARILY_UNAVAILABLE", text="This cannot be answered right now")


def skill_commands(skills: Skills) -> dict[str, Command]:
    """Rows for the command table."""
    return {name: Command(partial(_run, name, row), row.params) for name, row in skills.commands.items()}


def asker_of(ircd: Ircd, session: Session, words: Sequence[str]) -> Asker:
    """The words are those of the command."""
    user, state = session.user, ircd.state
    named = (found for word in words if (found := state.find_user(word)))
    return Asker(
        user.nick,
        user.account,
        tuple(dict.fromkeys((end_of(user), f"nick:{fold(user.nick)}"))),
        max(user.named_at, user.signed_on_at),
        frozenset(session.caps),
        {key: _membership(channel, user) for key, channel in user.channels.items()},
        frozenset(state.closed),
        ircd.config.nick_policy == "prefixed",
        {each.key: Named(each.nick, end_of(each)) for each in named},
        user.mask,
        {key: state.channels[key].guard for key in state.guarded},
    )


def _membership(channel: Channel, user: User) -> Membership:
    rank = channel.rank(user)
    signs = "".join(sign for status, sign in PREFIXES.items() if RANKS[status] <= rank)
    return Membership(channel.own_since, signs)


def _run(name: str, row: SkillCommand, ircd: Ircd, session: Session, line: Line) -> None:
    ircd.ask_skill(
        session,
        partial(_answer, row, asker_of(ircd, session, line.params), line.params),
        partial(_tell, ircd, session, name),
        unavailable=partial(_tell, ircd, session, name, _UNAVAILABLE),
    )


def _answer(row: SkillCommand, asker: Asker, params: Sequence[str]) -> Replies | Failure:
    try:
        return row.answer(asker, params)
    except Failure as failure:
        return failure


def _tell(ircd: Ircd, session: Session, name: str, answer: Replies | Failure) -> None:
    if isinstance(answer, Failure):
        tell_failure(ircd, session, name, answer)
        return
    for each in answer:
        # A batch is one piece, so that a label stands on its first line.
        if isinstance(each, Reply):
            ircd.delivery.queue(session, b"".join(_lines(ircd, session, each)))
        else:
            ircd.delivery.queue(session, _batch(ircd, session, each))


def tell_failure(ircd: Ircd, session: Session, command: str, failure: Failure) -> None:
    ircd.send(session, failure.line(command, ircd.name))


def _batch(ircd: Ircd, session: Session, batch: ReplyBatch) -> bytes:
    lines = [line for reply in batch.replies for line in _lines(ircd, session, reply)]
    if Cap.BATCH not in session.caps:
        return b"".join(lines)
    whole = batched(lines, ircd.new_id(), " ".join([batch.type, *batch.params]), ircd.name)
    return tagged(whole, batch.tag) if batch.tag else whole


def _lines(ircd: Ircd, session: Session, reply: Reply) -> list[bytes]:
    """What is to be tagged on its own: a message of several lines is a batch for who can read it whole."""
    source, at = reply.source or ircd.name, ircd.clock() if reply.at is None else reply.at
    if reply.fragments:
        head = format_line(reply.command, *reply.params, "", source=source)
        several = RenderedLines(
            head, reply.fragments, at, reply.tags, msgid=reply.id, account=reply.account
        ).form(session.form)
        return [several] if session.form & MULTILINE else several.splitlines(keepends=True)
    line = cut(format_line(reply.command, *reply.params, source=source, trailing=reply.trailing), LINE_BYTES)
    rendered = Rendered(line, at, reply.tags, msgid=reply.id, account=reply.account)
    return [rendered.form(session.form)]
