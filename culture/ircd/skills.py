"""Skills: services inside the server, without a nick, that learn what happens and answer commands.

A skill sees plain values and knows neither the server nor another skill. What it records it gets before
anybody is told; what it watches it gets afterwards. Its commands run in a thread, so that whoever asks waits
alone.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from culture.errors import CultureError
from culture.ircd.bans import Guard
from culture.ircd.user import User
from culture.names import Folded, fold
from culture.protocol.capabilities import Cap
from culture.protocol.happening import Happening as Happening
from culture.protocol.line import NO_TAGS
from culture.protocol.multiline import Fragment


def end_of(user: User) -> str:
    """By what one end of a direct message is known: the account, or the nick of who is not logged in.

    An account is one of its host: somebody else may have one of the same name elsewhere.
    """
    return _end(user.nick, user.account, user.server)


@functools.lru_cache(maxsize=4096)
def _end(nick: str, account: str | None, server: str) -> str:
    """Remembered: every direct message asks it of both."""
    if account is None:
        return f"nick:{fold(nick)}"
    return f"account:{fold(account)}" + (f"@{server}" if server else "")


class Membership(NamedTuple):
    channel_since: float
    """What was said under its name before was said in another channel."""
    signs: str
    """Of `@%+` those who they are written to as: `@#ops` reaches its operators."""


class Named(NamedTuple):
    nick: str
    end: str
    """What `end_of` says."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who sent a command, as things were when it was sent."""

    nick: str
    account: str | None
    ends: tuple[str, ...]
    """All that `end_of` says, or would say without the account."""
    named_at: float
    """Since when this nick is theirs."""
    caps: frozenset[str] = frozenset()
    channels: Mapping[Folded, Membership] = field(default_factory=dict)
    """Those that they are in."""
    closed: frozenset[Folded] = frozenset()
    """All channels of the network that are secret, keyed or for invited people only."""
    nicks_are_owned: bool = True
    """Whether nobody else can take their nick when they are gone."""
    named: Mapping[Folded, Named] = field(default_factory=dict)
    """Those of the network whom the command names."""
    mask: str = ""
    """`nick!user@host`."""
    guarded: Mapping[Folded, Guard] = field(default_factory=dict)
    """All channels of the network that keep somebody out by what they are."""

    def is_kept_from(self, key: Folded) -> bool:
        """Whether what was said in a channel is only for others. Its members always may read it."""
        if key in self.channels:
            return False
        guard = self.guarded.get(key)
        return key in self.closed or (guard is not None and guard.keeps_out(self.mask, self.account))


class Reply(NamedTuple):
    """A line of an answer. Time, msgid, account and tags go to readers that negotiated them."""

    command: str
    params: tuple[str, ...] = ()
    source: str = ""
    """Empty: the server."""
    at: float | None = None
    """Without it, the time of the answer."""
    id: str = ""
    account: str | None = None
    tags: Mapping[str, str] = NO_TAGS
    trailing: bool = True
    """Whether the last parameter is text, and not one more word."""
    fragments: tuple[Fragment, ...] = ()
    """The text, where it has several lines; it is no parameter then."""


class ReplyBatch(NamedTuple):
    """Replies that belong together (IRCv3 batch). Without that capability they come one by one."""

    type: str
    params: tuple[str, ...]
    replies: Sequence[Reply]
    tag: str = ""
    """On the line that opens it."""


Replies = Sequence[Reply | ReplyBatch]


class Found(NamedTuple):
    """A message that somebody remembers."""

    by: str
    """`end_of` who said it."""
    at: float
    ends: tuple[str, str] | None = None
    """Of a direct message."""


class Remembered(NamedTuple):
    """What a skill knows of accounts from before the server started, by their folded names."""

    markers: Mapping[Folded, Mapping[str, str]] = {}
    """How far they read: timestamps by folded channel or nick."""
    metadata: Mapping[Folded, Mapping[str, str]] = {}
    """What they publish of themselves, by key."""


class NotRecordedError(CultureError):
    """What happened could not be written down, so nobody may be told of it."""


@dataclass(frozen=True, slots=True)
class SkillCommand:
    answer: Callable[[Asker, Sequence[str]], Replies]
    """Runs in a thread, several at a time. May take long, and may raise `culture.ircd.failures.Failure`."""
    params: int = 0
    """How many it needs at least."""


class Skill:
    """What a skill is made of. One that needs only some of it leaves the rest as it is."""

    name: str = ""
    records: frozenset[str] = frozenset()
    """The commands whose happenings `commit` gets, before anybody is told."""
    wants: frozenset[str] = frozenset()
    """The commands whose happenings `observe` gets, after everybody was told."""
    commands: Mapping[str, SkillCommand] = {}
    caps: frozenset[Cap] = frozenset()
    """The capabilities that are offered because this skill is there."""
    tokens: Sequence[str] = ()
    """What RPL_ISUPPORT says because of it."""

    def start(self) -> None:
        """The server starts: for the threads of the skill."""

    def remembered(self) -> Remembered:
        """Asked once, when the server starts."""
        return Remembered()

    def begin_generation(self, least: int) -> int:
        """The generation of the numbers from now on: no less than this, and later than any that was used."""
        return least

    def commit(self, happened: Sequence[Happening]) -> None:
        """All that happened since the last time, mostly in one turn. If it raises, nothing is delivered."""

    def observe(self, happened: Sequence[Happening]) -> None:
        """Must be quick: the server waits. What takes long belongs in a thread of the skill."""

    def find(self, asker: Asker, target: str, msgid: str) -> Found | None:
        """A message that was said there, if the asker may read it. Runs in a thread, as commands do."""
        return None

    def is_alive(self) -> bool:
        """Whether its threads still work. Asked often; when one says no, the watchdog ends the server."""
        return True

    def close(self) -> None:
        """The server stops."""


class Skills:
    """All skills of a server. One that raises is reported and stepped over."""

    def __init__(
        self,
        skills: Iterable[Skill] = (),
        report: Callable[[str, Exception], None] = lambda name, error: None,
    ) -> None:
        self._skills = tuple(skills)
        self._report = report
        self._recorders = [skill for skill in self._skills if skill.records]
        self._watchers = [skill for skill in self._skills if skill.wants]
        self.wanted = frozenset().union(*(skill.records | skill.wants for skill in self._skills))
        """The commands of which somebody wants to know; of others no happening need be made."""
        self.commands: dict[str, SkillCommand] = {}
        self.caps: frozenset[Cap] = frozenset().union(*(skill.caps for skill in self._skills))
        self.tokens = tuple(token for skill in self._skills for token in skill.tokens)
        for skill in self._skills:
            self.commands.update(skill.commands)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills)

    def wants(self, command: str) -> bool:
        return command in self.wanted

    def wanted_of(self, happened: Sequence[Happening]) -> Sequence[Happening]:
        """Less what only other hosts want to know."""
        return _only(happened, _commands(happened), self.wanted)

    def remembered(self) -> Iterable[Remembered]:
        return [skill.remembered() for skill in self._skills]

    def begin_generation(self, least: int) -> int:
        """As every skill that remembers numbers agrees to."""
        for skill in self._skills:
            least = skill.begin_generation(least)
        return least

    def commit(self, happened: Sequence[Happening]) -> None:
        """Raises NotRecordedError if one of them could not: then nothing of it may be told."""
        present = _commands(happened)
        for skill in self._recorders:
            try:
                if recorded := _only(happened, present, skill.records):
                    skill.commit(recorded)
            except NotRecordedError:
                raise
            except Exception as error:
                self._report(skill.name, error)
                raise NotRecordedError(f"skill '{skill.name}' failed") from error

    def observe(self, happened: Sequence[Happening]) -> None:
        present = _commands(happened)
        for skill in self._watchers:
            try:
                if wanted := _only(happened, present, skill.wants):
                    skill.observe(wanted)
            except Exception as error:
                self._report(skill.name, error)

    def find(self, asker: Asker, target: str, msgid: str) -> Found | None:
        """As the first skill has it that remembers it."""
        found = (skill.find(asker, target, msgid) for skill in self._skills)
        return next((each for each in found if each is not None), None)

    def is_alive(self) -> bool:
        return all(self._is_alive(skill) for skill in self._skills)

    def close(self) -> None:
        for skill in self._skills:
            try:
                skill.close()
            except Exception as error:
                self._report(skill.name, error)

    def _is_alive(self, skill: Skill) -> bool:
        try:
            return skill.is_alive()
        except Exception as error:
            self._report(skill.name, error)
            return True


NO_SKILLS: Final = Skills()


def _commands(happened: Sequence[Happening]) -> set[str]:
    """Mostly that is PRIVMSG and nothing else. By its place a field is found in half the time."""
    return {each[2] for each in happened}


def _only(happened: Sequence[Happening], present: set[str], commands: frozenset[str]) -> Sequence[Happening]:
    if present <= commands:
        return happened
    return [each for each in happened if each.command in commands] if present & commands else ()
