"""An example of a skill: `SEEN nick` answers when somebody last spoke in a public channel.

In ircd.yaml: `skills: [history, profiles, urlindex, "seen:Seen"]`. The server's Python must be able to import
this file.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from culture.ircd.failures import Failure
from culture.ircd.skills import Asker, EventRecord, Replies, Reply, Skill, SkillCommand
from culture.names import fold
from culture.skills.table import Place

FILE = "seen.tsv"


class Seen(Skill):
    """Remembers the last message of each nick, also over restarts."""

    name = "seen"
    wants = frozenset({"PRIVMSG"})

    def __init__(self, place: Place) -> None:
        self._file = place.directory / FILE
        self._last: dict[str, tuple[float, str]] = {}
        if self._file.exists():
            for line in self._file.read_text().splitlines():
                nick, at, channel = line.split("\t")
                self._last[nick] = (float(at), channel)
        self.commands = {"SEEN": SkillCommand(self._answer, params=1)}

    def observe(self, happened: Sequence[EventRecord]) -> None:
        for each in happened:
            if each.is_public:
                self._last[fold(each.source.partition("!")[0])] = (each.at, each.target)

    def close(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text("".join(f"{nick}\t{at}\t{where}\n" for nick, (at, where) in self._last.items()))

    def _answer(self, asker: Asker, params: Sequence[str]) -> Replies:
        if fold(params[0]) not in self._last:
            raise Failure("NEVER_SEEN", params[0], text="Nobody of that nick spoke in a public channel")
        at, channel = self._last[fold(params[0])]
        return [Reply("SEEN", (params[0], channel, f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"))]
