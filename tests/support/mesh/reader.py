"""What a client makes of the lines that it reads: who is in its channels, and which messages it saw."""

from culture.protocol.authority.senders import SENDER_TAG, SenderKind
from culture.protocol.line import Line, parse_line


class Reader:
    def __init__(self) -> None:
        self.nick = "*"
        self.members: dict[str, set[str]] = {}
        # The channels and msgids of what was said in channels.
        self.messages: list[tuple[str, str]] = []
        # Who said what, in channels or to this client alone.
        self.heard: list[tuple[str, str]] = []
        # Who is a person, as the server said on their messages.
        self.people: set[str] = set()

    def read(self, text: str) -> None:
        line = parse_line(text)
        if line.command in ("PRIVMSG", "NOTICE", "TOPIC"):
            self.heard.append((line.nick, line.params[-1]))
            if line.tags.get(SENDER_TAG) == SenderKind.PERSON:
                self.people.add(line.nick)
        match line.command:
            case "001":
                self.nick = line.params[0]
            case "353":
                self.members.setdefault(line.params[2].lower(), set()).update(
                    each.lstrip("@%+").partition("!")[0] for each in line.params[3].split()
                )
            case "JOIN":
                self._join(line)
            case "PART":
                self._leave(line.nick, line.params[0])
            case "KICK":
                self._leave(line.params[1], line.params[0])
            case "QUIT":
                self._quit(line)
            case "NICK":
                self._rename(line)
            case "RENAME":
                self.members[line.params[1].lower()] = self.members.pop(line.params[0].lower())
            case "PRIVMSG" if line.params[0].startswith("#"):
                self.messages.append((line.params[0].lower(), line.tags["msgid"]))

    def _join(self, line: Line) -> None:
        channel = line.params[0].lower()
        if line.nick == self.nick:
            self.members[channel] = set()
        assert line.nick not in self.members[channel], f"{self.nick} reads that {line.nick} joins twice"
        self.members[channel].add(line.nick)

    def _leave(self, nick: str, name: str) -> None:
        members = self.members[name.lower()]
        assert nick in members, f"{self.nick} reads that {nick} leaves {name}, who is not there"
        members.discard(nick)
        if nick == self.nick:
            del self.members[name.lower()]

    def _quit(self, line: Line) -> None:
        seen = [members for members in self.members.values() if line.nick in members]
        assert seen, f"{self.nick} reads that {line.nick} quits, who is nowhere"
        for members in seen:
            members.discard(line.nick)

    def _rename(self, line: Line) -> None:
        old, new = line.nick, line.params[0]
        if old == self.nick:
            self.nick = new
        for members in self.members.values():
            if old in members:
                members.discard(old)
                members.add(new)
