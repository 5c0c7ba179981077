"""How the daemon's answers read, for people at a terminal and for models alike.

No line begins with words of somebody else: a model that knows the lines of its supervisor by how they begin
could be told anything by a topic.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from culture.commandline import columns

Json = dict[str, Any]


class Shown(NamedTuple):
    # Data, a line each.
    lines: Sequence[str]
    # What else there is to say.
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join((*self.notes, *self.lines))


def _sent(data: Json) -> Shown:
    lines = data["lines"]
    return Shown(["sent" if lines == 1 else f"sent as {lines} lines"])


def _read(data: Json) -> Shown:
    missed = [f"{data['missed']} older lines are no longer there"] if data["missed"] else []
    left = [f"{data['left']} more unread; read again"] if data["left"] else []
    nothing = [] if data["lines"] or missed else ["nothing new"]
    # The time of day; who wants to know the day has the server's history.
    lines = [f"{line['time'][11:19]} {_said(line)}" for line in data["lines"]]
    return Shown(lines, [*missed, *left, *nothing])


def _answer(data: Json) -> Shown:
    choice = data.get("choice")
    return Shown([_said(data)], [f"decision: {choice} ({data['authority']})"] if choice else [])


def _said(line: Json) -> str:
    text = line["text"].replace("\n", "\n    ")
    return f"<{line['nick']}> {text}"


def _joined(data: Json) -> Shown:
    return Shown([f"in {data['channel']}, with {_count(data['members'] - 1, 'other', 'others')}"])


def _parted(data: Json) -> Shown:
    return Shown([f"left {data['channel']}"])


def _channels(data: Json) -> Shown:
    rows = [(each["channel"], str(each["members"])) for each in data["channels"]]
    return Shown(columns(rows), [] if rows else ["in no channel"])


def _who(data: Json) -> Shown:
    members = data["members"]
    return Shown(columns((each["modes"] + each["nick"], _marks(each), each["name"]) for each in members))


def _marks(member: Json) -> str:
    marks = [word for word in ("away", "operator") if member[word]]
    return ", ".join(marks) or "-"


def _topic(data: Json) -> Shown:
    if not data["topic"]:
        return Shown([], [f"{data['channel']} has no topic"])
    set_by = [f"set by {data['set_by']}"] if data["set_by"] else []
    return Shown([f"{data['channel']}: {data['topic']}"], set_by)


def _history(data: Json) -> Shown:
    lines = [f"{line['time'][:19].replace('T', ' ')} {_said(line)}" for line in data["lines"]]
    places = [line["target"] for line in data["lines"]]
    if len(set(places)) > 1:
        lines = [f"{place} {line}" for place, line in zip(places, lines, strict=True)]
    return Shown(lines, [] if lines else ["nothing found"])


def _self(data: Json) -> Shown:
    channels = ", ".join(data["channels"]) or "no channel"
    state = "connected to" if data["connected"] else "not connected to"
    return Shown([f"{data['nick']}, {state} {data['server']}, in {channels}, working in {data['directory']}"])


def _status(data: Json) -> Shown:
    return Shown([data["status"]])


def _context(data: Json) -> Shown:
    # A person is told the outcome, the agent later.
    return Shown([data["was"] if "was" in data else f"{data['will_be']} when this turn is over"])


def _directory(data: Json) -> Shown:
    found = [f"instructions of {each['file']}:\n\n{each['text']}" for each in data["instructions"]]
    return Shown([f"working in {data['directory']}; cd there", *(found or ["it has no instructions"])])


SHOW: dict[str, Callable[[Json], Shown]] = {
    "irc_send": _sent,
    "irc_read": _read,
    "irc_ask": _answer,
    "irc_join": _joined,
    "irc_part": _parted,
    "irc_channels": _channels,
    "irc_who": _who,
    "irc_topic": _topic,
    "irc_history": _history,
    "whoami": _self,
    "status": _status,
    "compact": _context,
    "clear": _context,
    "set_directory": _directory,
}


def _count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number} {many}"
