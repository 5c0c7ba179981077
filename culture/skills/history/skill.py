"""The history skill: record events before delivery, and answer HISTORY and CHATHISTORY."""

from collections.abc import Sequence
from typing import Final

from culture.errors import CultureError
from culture.ircd.skills import Asker, EventRecord, Found, NotRecordedError, Skill, SkillCommand
from culture.protocol.capabilities import Cap
from culture.protocol.ctcp import is_request
from culture.skills.history.chathistory import CHATHISTORY_HELP, MOST, REFERENCES, ChatHistory
from culture.skills.history.command import HELP, HistoryCommand
from culture.skills.history.rights import readable
from culture.skills.history.semantic import Semantic
from culture.store.history.archive import Archive
from culture.store.history.reading import ends_of, find_message

RECORDED: Final = frozenset(
    {
        *("PRIVMSG", "NOTICE", "TAGMSG", "REDACT"),
        *("JOIN", "PART", "KICK", "QUIT", "NICK", "TOPIC", "MODE", "RENAME"),
    }
)
# Typing notifications are not recorded.
_PASSING: Final = {"+typing", "+draft/typing"}


class History(Skill):
    """Records events in the archive and answers queries."""

    name = "history"
    records = RECORDED
    caps = frozenset({Cap.CHATHISTORY, Cap.EVENT_PLAYBACK, Cap.MESSAGE_REDACTION})
    tokens = (f"CHATHISTORY={MOST}", f"MSGREFTYPES={','.join(REFERENCES)}")

    def __init__(self, archive: Archive, server: str, semantic: Semantic | None = None) -> None:
        self.archive = archive
        self.semantic = semantic
        self.commands = {
            "CHATHISTORY": SkillCommand(ChatHistory(archive).answer, help=CHATHISTORY_HELP),
            "HISTORY": SkillCommand(HistoryCommand(archive, server, semantic).answer, help=HELP),
        }

    def start(self) -> None:
        self.archive.start()
        if self.semantic is not None:
            self.semantic.start()

    def begin_generation(self, least: int) -> int:
        return self.archive.begin_generation(least)

    def commit(self, happened: Sequence[EventRecord]) -> None:
        commands = {each[2] for each in happened}
        if "TAGMSG" in commands or "\x01" in {each[6][:1] for each in happened}:
            happened = [each for each in happened if not _is_passing(each)]
        try:
            self.archive.append(happened)
        except CultureError:
            # The client is not told the file name; the archive reports it to the operator.
            raise NotRecordedError("it cannot be written down right now") from None
        if "REDACT" in commands:
            self.archive.forget()

    def find(self, asker: Asker, target: str, msgid: str) -> Found | None:
        with self.archive.reading() as connection:
            what = readable(connection, asker, target)
            row = find_message(connection, what.views if what else (), msgid)
            if row is None:
                return None
            ends = ends_of(connection, row.place)
        return Found(row.author, row.at_ms / 1000, ends)

    def is_alive(self) -> bool:
        return self.archive.is_alive

    def close(self) -> None:
        if self.semantic is not None:
            self.semantic.close()
        self.archive.close()


def _is_passing(happening: EventRecord) -> bool:
    match happening.command:
        case "TAGMSG":
            return {tag for tag in happening.tags if tag.startswith("+")} <= _PASSING
        case "PRIVMSG" | "NOTICE":
            # A client that replays a CTCP request would answer it again.
            return is_request(happening.text)
    return False
