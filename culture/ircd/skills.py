"""Skills: extensions inside the server that receive events and answer commands.

A skill sees plain values and knows neither the server nor other skills. It commits events before they are
delivered and observes them afterwards. Its commands run in a thread, so only the client that asked waits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from culture.errors import CultureError
from culture.ircd.model.ban_lists import Guard
from culture.names import Folded
from culture.protocol.capabilities import Cap
from culture.protocol.event_record import EventRecord as EventRecord
from culture.protocol.line import NO_TAGS
from culture.protocol.multiline import Fragment
from culture.protocol.parties import Party


class Membership(NamedTuple):
    """What a skill knows of a user's membership in a channel."""

    # What was said under its name before was said in another channel.
    channel_since: float
    # Of `@%+` those who they are written to as: `@#ops` reaches its operators.
    signs: str


class Named(NamedTuple):
    """A nick and the party behind it."""

    nick: str
    party: Party


@dataclass(frozen=True, slots=True)
class Asker:
    """The user who sent a command, as of the moment of sending."""

    nick: str
    account: str | None
    # Whom they can be shown to be: what these said and were told is theirs. A nick proves nothing.
    parties: tuple[Party, ...]
    caps: frozenset[str] = frozenset()
    # Those that they are in.
    channels: Mapping[Folded, Membership] = field(default_factory=dict)
    # All channels of the network that are secret, keyed or for invited people only.
    closed: frozenset[Folded] = frozenset()
    # Those of the network whom the command names.
    named: Mapping[Folded, Named] = field(default_factory=dict)
    # `nick!user@host`.
    mask: str = ""
    # All channels of the network that keep somebody out by what they are.
    guarded: Mapping[Folded, Guard] = field(default_factory=dict)

    # Whether channels can be read by their members alone, also those that anybody may join.
    is_for_members: bool = False
    # The other hosts that are believed about who is a person.
    believed_hosts: frozenset[str] = frozenset()

    def is_kept_from(self, key: Folded) -> bool:
        """Return whether the user may not read the history of a channel. Members always may."""
        if key in self.channels:
            return False
        if self.is_for_members:
            return True
        guard = self.guarded.get(key)
        return key in self.closed or (guard is not None and guard.excludes(self.mask, self.account))


class Reply(NamedTuple):
    """A line of an answer. Time, msgid, account and tags go to readers that negotiated them."""

    command: str
    params: tuple[str, ...] = ()
    # Empty: the server.
    source: str = ""
    # Without it, the time of the answer.
    at: float | None = None
    id: str = ""
    account: str | None = None
    tags: Mapping[str, str] = NO_TAGS
    # Whether the last parameter is text, and not one more word.
    trailing: bool = True
    # The text, where it has several lines; it is no parameter then.
    fragments: tuple[Fragment, ...] = ()


class ReplyBatch(NamedTuple):
    """Replies that belong together (IRCv3 batch). Without that capability they come one by one."""

    type: str
    params: tuple[str, ...]
    replies: Sequence[Reply]
    # On the line that opens it.
    tag: str = ""


Replies = Sequence[Reply | ReplyBatch]


class Found(NamedTuple):
    """A message that a skill found."""

    by: Party
    at: float
    # Of a direct message: who it is between.
    ends: tuple[Party, Party] | None = None


class Remembered(NamedTuple):
    """Data of accounts from before the server started, by folded account name."""

    # How far they read: timestamps by folded channel or nick.
    markers: Mapping[Folded, Mapping[str, str]] = {}
    # What they publish of themselves, by key.
    metadata: Mapping[Folded, Mapping[str, str]] = {}


class NotRecordedError(CultureError):
    """Events could not be committed, so they must not be delivered."""


@dataclass(frozen=True, slots=True)
class SkillCommand:
    """A command that a skill adds to the server."""

    # Runs in a thread, several at a time. May take long, and may raise `culture.ircd.failures.Failure`.
    answer: Callable[[Asker, Sequence[str]], Replies]
    # How many it needs at least.
    params: int = 0
    # What HELP tells of it, a line each; nothing where only programs send it.
    help: Sequence[str] = ()


class Skill:
    """Base class of skills. A skill overrides the attributes and hooks that it needs."""

    name: str = ""
    # The commands whose happenings `commit` gets, before anybody is told.
    records: frozenset[str] = frozenset()
    # The commands whose happenings `observe` gets, after everybody was told.
    wants: frozenset[str] = frozenset()
    commands: Mapping[str, SkillCommand] = {}
    # The capabilities that are offered because this skill is there.
    caps: frozenset[Cap] = frozenset()
    # What RPL_ISUPPORT says because of it.
    tokens: Sequence[str] = ()

    def start(self) -> None:
        """Start the threads of the skill. Called when the server starts."""

    def remembered(self) -> Remembered:
        """Return stored account data. Called once, when the server starts."""
        return Remembered()

    def begin_generation(self, least: int) -> int:
        """The generation of the numbers from now on: no less than this, and later than any that was used."""
        return least

    def commit(self, happened: Sequence[EventRecord]) -> None:
        """Store the events since the last call. If this raises, they are not delivered."""

    def observe(self, happened: Sequence[EventRecord]) -> None:
        """Receive delivered events. The server waits, so slow work belongs in a thread of the skill."""

    def find(self, asker: Asker, target: str, msgid: str) -> Found | None:
        """Return a message of a target if the asker may read it. Runs in a thread, as commands do."""
        return None

    def is_alive(self) -> bool:
        """Return whether the threads of the skill work. If not, the watchdog restarts the server."""
        return True

    def close(self) -> None:
        """Release all resources. Called when the server stops."""


class Skills:
    """All skills of a server. A skill that raises is reported and skipped."""

    def __init__(
        self,
        skills: Iterable[Skill] = (),
        report: Callable[[str, Exception], None] = lambda name, error: None,
    ) -> None:
        self._skills = tuple(skills)
        self._report = report
        self._recorders = [skill for skill in self._skills if skill.records]
        self._watchers = [skill for skill in self._skills if skill.wants]
        # The commands of which somebody wants to know; of others no happening need be made.
        self.wanted = frozenset().union(*(skill.records | skill.wants for skill in self._skills))
        self.commands: dict[str, SkillCommand] = {}
        self.caps: frozenset[Cap] = frozenset().union(*(skill.caps for skill in self._skills))
        self.tokens = tuple(token for skill in self._skills for token in skill.tokens)
        for skill in self._skills:
            self.commands.update(skill.commands)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills)

    def wants(self, command: str) -> bool:
        return command in self.wanted

    def wanted_of(self, happened: Sequence[EventRecord]) -> Sequence[EventRecord]:
        """Return the events that skills want, without those for links only."""
        return _only(happened, _commands(happened), self.wanted)

    def remembered(self) -> Iterable[Remembered]:
        return [skill.remembered() for skill in self._skills]

    def begin_generation(self, least: int) -> int:
        """Return a generation that is later than any that a skill has stored."""
        for skill in self._skills:
            least = skill.begin_generation(least)
        return least

    def commit(self, happened: Sequence[EventRecord]) -> None:
        """Commit events to all skills that record them. Raises NotRecordedError if one fails."""
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

    def observe(self, happened: Sequence[EventRecord]) -> None:
        present = _commands(happened)
        for skill in self._watchers:
            try:
                if wanted := _only(happened, present, skill.wants):
                    skill.observe(wanted)
            except Exception as error:
                self._report(skill.name, error)

    def find(self, asker: Asker, target: str, msgid: str) -> Found | None:
        """Return a message from the first skill that has it."""
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


def _commands(happened: Sequence[EventRecord]) -> set[str]:
    """Mostly that is PRIVMSG and nothing else. By its place a field is found in half the time."""
    return {each[2] for each in happened}


def _only(
    happened: Sequence[EventRecord], present: set[str], commands: frozenset[str]
) -> Sequence[EventRecord]:
    if present <= commands:
        return happened
    return [each for each in happened if each.command in commands] if present & commands else ()
