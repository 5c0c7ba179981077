"""The history skill: records before anybody is told, and answers HISTORY and CHATHISTORY."""

from collections.abc import Sequence
from typing import Final

from culture.errors import CultureError
from culture.ircd.skills import Asker, Found, Happening, NotRecordedError, Skill, SkillCommand
from culture.names import fold, has_prefix
from culture.protocol.capabilities import Cap
from culture.protocol.ctcp import is_request
from culture.skills.history.chathistory import MOST, REFERENCES, ChatHistory
from culture.skills.history.command import HistoryCommand
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
_PASSING: Final = {"+typing", "+draft/typing"}
"""That somebody is typing is news for a moment, and then for nobody."""


class History(Skill):
    name = "history"
    records = RECORDED
    caps = frozenset({Cap.CHATHISTORY, Cap.EVENT_PLAYBACK, Cap.MESSAGE_REDACTION})
    tokens = (f"CHATHISTORY={MOST}", f"MSGREFTYPES={','.join(REFERENCES)}")

    def __init__(self, archive: Archive, server: str, semantic: Semantic | None = None) -> None:
        self.archive = archive
        self.semantic = semantic
        self._server = server
        self.commands = {
            "CHATHISTORY": SkillCommand(ChatHistory(archive).answer),
            "HISTORY": SkillCommand(HistoryCommand(archive, server, semantic).answer),
        }

    def start(self) -> None:
        self.archive.start()
        if self.semantic is not None:
            self.semantic.start()

    def begin_generation(self, least: int) -> int:
        return self.archive.begin_generation(least)

    def commit(self, happened: Sequence[Happening]) -> None:
        commands = {each[2] for each in happened}
        if "TAGMSG" in commands or "\x01" in {each[6][:1] for each in happened}:
            happened = [each for each in happened if not _is_passing(each)]
        try:
            self.archive.append(happened)
        except CultureError:
            # Which file it is concerns the operator, who was told.
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
        # Somebody else may have an account of that name on another host.
        is_here = not asker.nicks_are_owned or has_prefix(row.nick, self._server)
        by = f"account:{fold(row.account)}" if row.account and is_here else f"nick:{fold(row.nick)}"
        return Found(by, row.at_ms / 1000, ends)

    def is_alive(self) -> bool:
        return self.archive.is_alive

    def close(self) -> None:
        if self.semantic is not None:
            self.semantic.close()
        self.archive.close()


def _is_passing(happening: Happening) -> bool:
    match happening.command:
        case "TAGMSG":
            return {tag for tag in happening.tags if tag.startswith("+")} <= _PASSING
        case "PRIVMSG" | "NOTICE":
            # Whoever reads it later would answer it once more.
            return is_request(happening.text)
    return False
