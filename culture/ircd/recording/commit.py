"""Commit the events of one tick, before anything of it is delivered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from culture.ircd.skills import EventRecord, NotRecordedError

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


def commit_events(ircd: "Ircd") -> Sequence[EventRecord]:
    """Commit the recorded events and relay them to links; return those that skills may observe.

    If the commit fails, the queued messages are discarded and their senders are told.
    """
    events, senders = ircd.record.take()
    events = events if ircd.links is None else ircd.links.proved(events)
    wanted = events if ircd.links is None else ircd.skills.wanted_of(events)
    try:
        ircd.skills.commit(wanted)
    except NotRecordedError as error:
        ircd.delivery.discard_messages()
        ircd.state.redactions.clear()
        for session, command, target in senders:
            ircd.fail(session, command, "NOT_RECORDED", f"Not sent to {target}: {error}")
        if ircd.links is not None:
            ircd.links.failed()
        return ()
    if ircd.links is not None:
        ircd.links.committed([event for event in events if not event.is_local])
    return wanted
