"""Run the commands of skills: describe the asker by plain values and render the replies."""

from collections.abc import Sequence
from functools import partial

from culture.ircd.commands.row import Command
from culture.ircd.delivery.batch_lines import add_tag, wrap_in_batch
from culture.ircd.delivery.text import LINE_BYTES, cut
from culture.ircd.failures import Failure
from culture.ircd.model.channel import PREFIXES, RANKS, Channel
from culture.ircd.model.user import User
from culture.ircd.server import Ircd
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
)
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line
from culture.protocol.multiline import RenderedLines
from culture.protocol.render import MULTILINE, Rendered

_UNAVAILABLE = Failure("TEMPORARILY_UNAVAILABLE", text="This cannot be answered right now")


def skill_commands(skills: Skills) -> dict[str, Command]:
    """Return the rows of the command table for the commands of skills."""
    return {name: Command(partial(_run, name, row), row.params) for name, row in skills.commands.items()}


def asker_of(ircd: Ircd, session: Session, words: Sequence[str]) -> Asker:
    """Describe the client to a skill. Users whose nicks are among the words are described as well."""
    user, state = session.user, ircd.state
    named = (found for word in words if (found := state.find_user(word)))
    return Asker(
        user.nick,
        user.account,
        user.parties,
        frozenset(session.caps),
        {key: _membership(channel, user) for key, channel in user.channels.items()},
        frozenset(state.closed),
        {each.key: Named(each.nick, each.party) for each in named},
        user.mask,
        {key: state.channels[key].guard for key in state.guarded},
        ircd.config.history.readable == "members",
        frozenset(link.name for link in ircd.config.links if link.is_believed),
    )


def _membership(channel: Channel, user: User) -> Membership:
    rank = channel.rank(user)
    signs = "".join(sign for status, sign in PREFIXES.items() if RANKS[status] <= rank)
    return Membership(channel.name_since, signs)


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
        # A batch is queued in one piece, so that a label goes on its first line.
        if isinstance(each, Reply):
            ircd.delivery.queue(session, b"".join(_lines(ircd, session, each)))
        else:
            ircd.delivery.queue(session, _batch(ircd, session, each))


def tell_failure(ircd: Ircd, session: Session, command: str, failure: Failure) -> None:
    """Send a FAIL reply for the command."""
    ircd.send(session, failure.line(command, ircd.name))


def _batch(ircd: Ircd, session: Session, batch: ReplyBatch) -> bytes:
    lines = [line for reply in batch.replies for line in _lines(ircd, session, reply)]
    if Cap.BATCH not in session.caps:
        return b"".join(lines)
    whole = wrap_in_batch(lines, ircd.new_id(), " ".join([batch.type, *batch.params]), ircd.name)
    return add_tag(whole, batch.tag) if batch.tag else whole


def _lines(ircd: Ircd, session: Session, reply: Reply) -> list[bytes]:
    """Return the lines of a reply; a multi-line message is one batch if the client has draft/multiline."""
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
