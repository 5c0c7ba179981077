"""Events of other hosts: what each of them changes here, and who is told.

They come in the order in which their host numbered them; between hosts there is no order. By the time that a
host is heard, a user may have another nick, a channel another name, and a message may be taken back.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from culture.ircd.bans import MASK_LISTS
from culture.ircd.channel import STATUSES, Channel, Status, status_of
from culture.ircd.commands.host import show_host
from culture.ircd.commands.operators import call_out, put_out
from culture.ircd.commands.speech import call_absent
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Change,
    HostChanged,
    Invited,
    Joined,
    Kicked,
    MetadataChanged,
    ModesChanged,
    Parted,
    Quit,
    RealnameChanged,
    Redacted,
    Renamed,
    Said,
    SpeechCommand,
)
from culture.ircd.mesh.arriving import Arriving
from culture.ircd.mesh.claims import check_event
from culture.ircd.mesh.guests import (
    add_guest,
    drop_if_unseen,
    remove_guest,
    revive,
    set_modes,
    show_statuses,
    tell_kicked,
    tell_known,
    user_of,
)
from culture.ircd.mesh.lines import METADATA, KnownUser, Set, read_lines, read_members, standing_line
from culture.ircd.mesh.merging import Given, Merge
from culture.ircd.mesh.renaming import TakenRename
from culture.ircd.monitoring import tell_offline, tell_online
from culture.ircd.publishing import tell_newcomer, tell_watchers
from culture.ircd.spoken import hearers, spoken
from culture.ircd.stamping import split_changes
from culture.ircd.stamps import TOPIC, Stamp, parse_stamp
from culture.ircd.text import LINE_BYTES, fragments_of, size
from culture.ircd.user import NOBODY, SignOn, User, parse_sign_on
from culture.names import SIGNS, Folded, fold
from culture.protocol.happening import LINES_TAG, NAMED_TAG, STAMP_TAG, Happening
from culture.protocol.line import MalformedLine
from culture.protocol.mentions import TAG as MENTIONS_TAG

if TYPE_CHECKING:
    from culture.ircd.core import Ircd

_SPEECH: Final[dict[str, SpeechCommand]] = {"PRIVMSG": "PRIVMSG", "NOTICE": "NOTICE", "TAGMSG": "TAGMSG"}


class Entering(NamedTuple):
    """Which channel somebody is about to join."""

    key: Folded
    made_at: float
    is_maker: bool
    """Nobody else was in it."""
    made_anew: Stamp


class Taking:
    def __init__(self, ircd: "Ircd") -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._is_replayed = False
        self._entering: dict[str, Entering] = {}
        """By host."""

    def carry_out(self, it: Happening, *, is_replayed: bool = False) -> None:
        """Raises MalformedLine for what no host of this version tells."""
        self._is_replayed = is_replayed
        try:
            check_event(it)
            self._carry_out(it)
        except (IndexError, KeyError, ValueError) as error:
            raise MalformedLine(f"no such {it.command}: {error}") from None

    def _carry_out(self, it: Happening) -> None:
        if (speech := _SPEECH.get(it.command)) is not None:
            self._said(it, speech)
        elif (carry_out := _TABLE.get(it.command)) is not None:
            carry_out(self, it)

    # What is said.

    def _said(self, it: Happening, command: SpeechCommand) -> None:
        if (target := self._addressed(it)) is None or it.id in self._state.redacted:
            return
        sender = self._source(it)
        room = LINE_BYTES - size(f":{sender.mask} {command} {it.target} :")
        tags = {**it.tags}
        lines = tags.pop(LINES_TAG, "")
        is_whole = "\n" not in it.text and size(it.text) <= room and not lines
        fragments = () if is_whole else fragments_of(it.text, room, lines)
        to = status_of(it.target)
        event = Said(sender, command, target, it.text, tags, (), to, fragments)
        sender.spoke_at = it.at if command == "PRIVMSG" else sender.spoke_at
        self._ircd.delivery.say(event, spoken(event, it.id, it.at), hearers(event))
        if isinstance(target, Channel) and to is None and MENTIONS_TAG in it.tags:
            called = map(self._here, it.tags[MENTIONS_TAG].split(","))
            call_absent(self._ircd, sender, target, tuple(user for user in called if user is not None))

    def _redact(self, it: Happening) -> None:
        if (target := self._addressed(it)) is not None:
            to = status_of(it.target)
            name = target.addressed(to) if isinstance(target, Channel) else target.nick
            self._bring_about(it, Redacted(self._source(it), target, name, it.params[0], it.text, it.ends))

    def _addressed(self, it: Happening) -> Channel | User | None:
        channel = it.target.lstrip(SIGNS)
        return self._state.find_addressed(channel) if channel.startswith("#") else self._here(it.target)

    # Who is there.

    def _user(self, it: Happening) -> None:
        signed_on, modes = it.params
        who, at = user_of(it.source), int(signed_on) / 1000
        if self._state.find_user(who.nick) is None:
            about = (who.nick, who.username, who.host, it.account, modes.removeprefix("+"), at, it.text)
            tell_watchers(self._ircd, add_guest(self._ircd, it.origin, KnownUser(*about)))

    def _quit(self, it: Happening) -> None:
        if (user := self._known(it)) is not None:
            self._bring_about(it, Quit(user, it.text))
            tell_offline(self._ircd, user.nick)

    def _rename_user(self, it: Happening) -> None:
        user = self._known(it)
        if user is None or self._state.find_user(it.text) not in (None, user):
            return
        old = user.nick
        self._bring_about(it, Renamed(user, it.text))
        if fold(old) != user.key:
            tell_offline(self._ircd, old)
            tell_online(self._ircd, user)
            tell_watchers(self._ircd, user)

    def _away(self, it: Happening) -> None:
        if (user := self._known(it)) is not None:
            self._bring_about(it, AwayChanged(user, it.text or None))

    def _account(self, it: Happening) -> None:
        if (user := self._known(it)) is not None:
            self._bring_about(it, AccountChanged(user, it.text or None))

    def _realname(self, it: Happening) -> None:
        if (user := self._known(it)) is not None:
            self._bring_about(it, RealnameChanged(user, it.text))

    def _host(self, it: Happening) -> None:
        if (user := self._known(it)) is not None:
            old, (username, host) = user.mask, it.params
            self._bring_about(it, HostChanged(user, username, host))
            show_host(self._ircd, user, old)

    def _modes_of_user(self, it: Happening) -> None:
        if (user := self._known(it)) is not None:
            set_modes(self._state, user, it.text)

    def _kill(self, it: Happening) -> None:
        """Of somebody who is here, by an operator of another host."""
        [who] = self._named(it, [it.target])
        victim = self._state.signed_on.get(who)
        if victim is not None and victim.session is not None:
            put_out(self._ircd, victim.session, self._source(it), it.text)

    def _wallops(self, it: Happening) -> None:
        call_out(self._ircd, self._source(it), it.text)

    # Who is where.

    def _enter(self, it: Happening) -> None:
        made, granted, anew = it.params
        about = (fold(it.target), int(made) / 1000, granted == Status.OPERATOR, parse_stamp(anew))
        self._entering[it.origin] = Entering(*about)

    def _join(self, it: Happening) -> None:
        entering = self._entering.pop(it.origin, None)
        if entering is None or entering.key != fold(it.target):
            entering = None
        [who] = self._named(it, [it.source.partition("!")[0]])
        if who.host not in (it.origin, NOBODY.host):
            raise ValueError("it is about a user of another host")
        # What is told again may be older than the nick that they have here.
        user = self._state.signed_on.get(who) or self._introduce(it, who)
        channel = self._channel_to_join(it, entering)
        standing, stamp = user.standing_in(channel), _stamp(it)
        if not standing.join(stamp) or user in channel.members:
            return
        standing.made_at = entering.made_at if entering is not None else channel.created_at
        if entering is not None and entering.is_maker:
            standing.give(Status.OPERATOR, stamp, present=True)
        self._bring_about(it, Joined(user, channel))
        show_statuses(self._ircd, user, channel)
        if user.away is not None:
            self._bring_about(it, AwayChanged(user, user.away, newcomer_to=channel))
        tell_newcomer(self._ircd, user, channel)

    def _channel_to_join(self, it: Happening, entering: Entering | None) -> Channel:
        """There is one, or everybody has left it here and not there, or it is new."""
        channel = self._state.find_shared(it.target) or revive(self._ircd, it.target)
        if channel is None:
            channel = Channel(it.target, it.at if entering is None else entering.made_at)
        if entering is not None:
            merge = Merge(self._ircd, channel, self._source(it), it.id, it.at)
            merge.merge(made_anew=entering.made_anew)
        return channel

    def _part(self, it: Happening) -> None:
        user, channel = self._known(it), self._state.find_shared(it.target)
        if user is None:
            return
        if channel is not None and user in channel.members:
            if it.command == "LEFT" and it.params:
                self._bring_about(it, Kicked(user_of(it.params[0]), channel, user, it.text))
            else:
                self._bring_about(it, Parted(user, channel, it.text))
        self._drop_if_unseen(it, user)

    def _kick(self, it: Happening) -> None:
        [who], channel = self._named(it, it.params[:1]), self._channel(it)
        kicked, standing = self._state.signed_on.get(who), self._state.standing_of(who, channel.name)
        is_out = standing.kick(_stamp(it))
        if self._is_replayed and standing.kicked == _stamp(it):
            tell_known(self._ircd, channel.name, [standing_line(channel.name, who, standing)])
        if kicked is not None and is_out and kicked in channel.members:
            self._bring_about(it, Kicked(self._source(it), channel, kicked, it.text))
            tell_kicked(self._ircd, kicked, channel, it.source, it.text)
            if kicked.server == it.origin:
                # Of others their own host says it: it may be known by a wider way.
                self._drop_if_unseen(it, kicked)

    def _invite(self, it: Happening) -> None:
        [who], channel = self._named(it, it.params[:1]), self._state.find_shared(it.target)
        invited = self._state.signed_on.get(who)
        if invited is not None and channel is not None:
            self._bring_about(it, Invited(self._source(it), channel, invited))

    # What channels are like.

    def _topic(self, it: Happening) -> None:
        self._set(it, Set(TOPIC, "", _stamp(it), bool(it.text), it.text, it.source, it.at))

    def _metadata(self, it: Happening) -> None:
        key, sign = it.params
        if it.target.startswith("#"):
            self._set(it, Set(METADATA, key, _stamp(it), sign == "+", it.text))
        elif (user := self._known(it)) is not None:
            value = it.text if sign == "+" else None
            self._bring_about(it, MetadataChanged(user, user, key, value))

    def _set(self, it: Happening, setting: Set) -> None:
        self._merge(it, self._channel(it), [setting])

    def _modes(self, it: Happening) -> None:
        channel = self._channel(it)
        stamp, source = _stamp(it), self._source(it)
        changes = split_changes(ModesChanged(source, channel, it.params[0], it.params[1:]))
        named = iter(self._named(it, [param for _, letter, param in changes if letter in STATUSES]))
        self._merge(
            it,
            channel,
            [
                Given(next(named), Status(letter), stamp, adding)
                if letter in STATUSES
                else _setting(adding, letter, param, stamp, it)
                for adding, letter, param in changes
            ],
        )

    def _merge(self, it: Happening, channel: Channel, changes: Sequence[Given | Set]) -> None:
        merge = Merge(self._ircd, channel, self._source(it), it.id, it.at)
        merge.merge(changes)
        if self._is_replayed:
            # To others, who did not see the host all the while, it may only be history.
            tell_known(self._ircd, channel.name, merge.news)

    def _known_elsewhere(self, it: Happening) -> None:
        """What a host learned of a channel from the snapshot of another."""
        known = read_lines([it.text])
        if known.names != {fold(it.target)}:
            raise ValueError("it is about another channel")
        Arriving(self._ircd, it.origin, known, self._ircd.delivery).merge_news()

    def _rename_channel(self, it: Happening) -> None:
        TakenRename(self._ircd, it, self._source(it), _stamp(it), is_replayed=self._is_replayed).carry_out()

    def _members(self, it: Happening) -> None:
        known, places = read_members(it.text)
        if not known.names | {fold(place.name) for place in places.values()} <= {fold(it.target)}:
            raise ValueError("it is about another channel")
        Arriving(self._ircd, it.origin, known, self._ircd.delivery).place(it.target, places, *it.params)

    # Inside.

    def _channel(self, it: Happening) -> Channel:
        """Where it was, or what is left of it: its members may have another name for it by now."""
        return self._state.find_shared(it.target) or self._state.find_left(it.target)

    def _bring_about(self, it: Happening, event: Change) -> None:
        self._ircd.bring_about(event, it.id, it.at)

    def _known(self, it: Happening) -> User | None:
        """Who it was, if that is somebody of the host that says so, which knows their nick."""
        user = self._state.find_user(it.source.partition("!")[0])
        return user if user is not None and user.server == it.origin else None

    def _named(self, it: Happening, nicks: Sequence[str]) -> list[SignOn]:
        """Whom it is about. What was written down before hosts said so has only nicks."""
        if NAMED_TAG in it.tags:
            named = [*map(parse_sign_on, it.tags[NAMED_TAG].split(","))]
            if len(named) != len(nicks):
                raise ValueError("it names more, or fewer")
            return named
        users = map(self._state.find_named, nicks)
        return [NOBODY if user is None else self._state.sign_on_of(user) for user in users]

    def _here(self, nick: str) -> User | None:
        """Somebody who is connected to this host."""
        user = self._state.find_named(nick)
        return user if user is not None and not user.server else None

    def _source(self, it: Happening) -> User:
        """Who it was; a bridge speaks for people who are on no host."""
        return self._known(it) or _stranger(it)

    def _introduce(self, it: Happening, sign_on: SignOn) -> User:
        """Somebody of whom only this is known: what a link is limited to does not tell who else is there."""
        who = user_of(it.source)
        if (other := self._known(it)) is not None:
            remove_guest(self._ircd, other, "")
        about = ("", sign_on.at_ms / 1000, who.nick)
        known = KnownUser(who.nick, who.username, who.host, it.account, *about)
        return add_guest(self._ircd, it.origin, known)

    def _drop_if_unseen(self, it: Happening, user: User) -> None:
        """Where a link is limited to channels, nobody tells what becomes of who is in none of them."""
        if it.scope != "*":
            drop_if_unseen(self._ircd, user)


def _stranger(it: Happening) -> User:
    user = user_of(it.source)
    user.account, user.server = it.account, it.origin
    return user


def _stamp(it: Happening) -> Stamp:
    """Of the change, where its time is not the one that counts."""
    return Stamp(int(it.tags.get(STAMP_TAG, 0)) or int(it.at * 1000), it.origin)


def _setting(adding: bool, letter: str, param: str, stamp: Stamp, it: Happening) -> Set:
    name, value = (param, "") if letter in MASK_LISTS else ("", param)
    return Set(letter, name, stamp, adding, value, it.source, it.at)


_TABLE: Final[dict[str, Callable[[Taking, Happening], None]]] = {
    "ACCOUNT": Taking._account,
    "AWAY": Taking._away,
    "CHGHOST": Taking._host,
    "ENTER": Taking._enter,
    "GONE": Taking._quit,
    "INVITE": Taking._invite,
    "JOIN": Taking._join,
    "KICK": Taking._kick,
    "KILL": Taking._kill,
    "KNOWN": Taking._known_elsewhere,
    "LEFT": Taking._part,
    "MEMBERS": Taking._members,
    "META": Taking._metadata,
    "MODE": Taking._modes,
    "NAMED": Taking._rename_user,
    "NICK": Taking._rename_user,
    "PART": Taking._part,
    "QUIT": Taking._quit,
    "REDACT": Taking._redact,
    "RENAME": Taking._rename_channel,
    "SETNAME": Taking._realname,
    "TOPIC": Taking._topic,
    "UMODE": Taking._modes_of_user,
    "USER": Taking._user,
    "WALLOPS": Taking._wallops,
}
