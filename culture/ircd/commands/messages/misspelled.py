"""Suggest the right nick to a sender who misspelled the mention of an agent."""

from typing import Final

from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User, UserMode
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.protocol.line import format_line
from culture.protocol.mentions import find_unknown, may_call
from culture.protocol.misspelling import meant_by, similar

# A client gets at most MOST_HINTS hints and exact comparisons in HINTS_WITHIN_S seconds.
MOST_HINTS: Final = 5
HINTS_WITHIN_S: Final = 60.0


def hint_at_misspelled(ircd: Ircd, session: Session, channel: Channel, text: str) -> None:
    """Send the sender one NOTICE if a mention is nobody's nick but close to that of an agent."""
    bots = ircd.state.by_mode[UserMode.BOT]
    if not bots or not may_call(text):
        return
    agents: list[str] | None = None
    for unknown in find_unknown(text, ircd.state.users.get):
        if agents is None:
            agents = [bot.nick for bot in bots if _is_known_to(session.user, bot, channel)]
        candidates = similar(unknown, agents)
        if not candidates or not _may_hint(session, ircd.timer()):
            continue
        meant = meant_by(unknown, candidates)
        if meant is not None:
            hint = f"Nobody is called {unknown.name}. Did you mean {meant}?"
            line = format_line("NOTICE", session.user.nick, hint, source=ircd.name, trailing=True)
            ircd.send(session, line)
            return


def _may_hint(session: Session, now: float) -> bool:
    recent = tuple(at for at in session.hinted_at if now - at < HINTS_WITHIN_S)
    if len(recent) >= MOST_HINTS:
        return False
    session.hinted_at = (*recent, now)
    return True


def _is_known_to(sender: User, bot: User, channel: Channel) -> bool:
    """Return whether the sender may know of the bot: an invisible one (`i`) only in a shared channel."""
    if bot is sender:
        return False
    shares_channel = bot in channel.members or not sender.channels.keys().isdisjoint(bot.channels)
    return shares_channel or not bot.is_invisible
