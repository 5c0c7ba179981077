"""A snapshot of another host becomes what is known of it; clients are told the difference.

Who comes with a host comes in one batch (IRCv3 netjoin), and who is gone with it leaves in one (netsplit).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from culture.ircd.batched import batched
from culture.ircd.channel import Channel
from culture.ircd.delivery import Delivery, pieces_of
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Change,
    HostChanged,
    Joined,
    Kicked,
    MetadataChanged,
    Parted,
    RealnameChanged,
)
from culture.ircd.mesh.guests import (
    add_guest,
    remove_guest,
    revive,
    set_modes,
    show_statuses,
    tell_kicked,
    tell_known,
    user_of,
)
from culture.ircd.mesh.lines import (
    Known,
    KnownChannel,
    KnownPlace,
    KnownStanding,
    KnownUser,
    Set,
    channel_line,
    standing_line,
)
from culture.ircd.mesh.merging import Given, Merge
from culture.ircd.stamps import NEVER, Stamp
from culture.ircd.user import User
from culture.names import Folded, fold, has_prefix
from culture.protocol.capabilities import Cap
from culture.protocol.line import MalformedLine

if TYPE_CHECKING:
    from culture.ircd.core import Ircd

GONE_MEANWHILE = "Left while their host was out of reach"
KICKED_MEANWHILE = "Kicked while their host was out of reach"


def send_all(ircd: "Ircd", told: Delivery, batch: str = "") -> None:
    """Line by line, or as one batch of this type to each client that knows batches."""
    for session, output in told.drain().items():
        pieces = pieces_of(output)
        if batch and Cap.BATCH in session.caps:
            pieces = [batched(pieces, ircd.new_id(), batch, ircd.name)]
        for piece in pieces:
            ircd.delivery.queue(session, piece)


class Arriving:
    """One snapshot of one host."""

    def __init__(self, ircd: "Ircd", origin: str, known: Known, told: Delivery) -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._origin = origin
        self._known = known
        self._told = told
        # The host tells it, not one of its users.
        self._speaker = user_of(origin)
        self._is_snapshot = True

    def run(self) -> None:
        for known in self._known.users.values():
            if not has_prefix(known.nick, self._origin):
                raise MalformedLine(f"'{known.nick}' is not of the host '{self._origin}'")
        self._state.mend(self._origin)
        for user in [*self._state.guests.get(self._origin, ())]:
            if not self._is_here(user):
                remove_guest(self._ircd, user, GONE_MEANWHILE, self._told)
        users = {key: self._user(known) for key, known in self._known.users.items()}
        for key, user in users.items():
            self._leave(user, self._known.users[key])
        self._note_kicks()
        for key, user in users.items():
            for place in self._known.users[key].places.values():
                self._come(user, place)
        self._merge_all()

    def merge_news(self) -> None:
        """Of what channels are like, and not of who is there. All hosts hear of it."""
        self._is_snapshot = False
        self._note_kicks()
        self._merge_all()

    def place(self, name: str, places: Mapping[Folded, KnownPlace], first: str, until: str) -> None:
        """Who of the host is in a channel, of those whose nicks are from the first to before another."""
        self._is_snapshot = False
        self._note_kicks()
        for user in [*self._state.guests.get(self._origin, ())]:
            if user.key < first or (until and user.key >= until):
                continue
            if (place := places.get(user.key)) is not None:
                self._come(user, place)
            elif (channel := user.channels.get(fold(name))) is not None:
                self._bring_about(Parted(user, channel, ""))
        self._merge_all()
        if (channel := self._state.find_shared(name)) is not None:
            # They may have come later than was thought here, and so be less.
            self._merge(channel, (), NEVER)

    def _is_here(self, user: User) -> bool:
        """Not under another nick, and not somebody else under theirs."""
        known = self._known.users.get(user.key)
        return known is not None and known.signed_on_at == user.signed_on_at

    def _note_kicks(self) -> None:
        for standing in self._known.standings:
            self._note_kick(standing)

    def _user(self, known: KnownUser) -> User:
        user = self._state.find_user(known.nick)
        if user is not None:
            self._update(user, known)
            return user
        user = add_guest(self._ircd, self._origin, known)
        who = self._state.sign_on_of(user)
        for name, standing in user.standings.items():
            # They were given it while their host was out of reach.
            self._pass_on(name, [standing_line(name, who, standing)])
        return user

    def _update(self, user: User, known: KnownUser) -> None:
        set_modes(self._state, user, known.modes)
        if (user.username, user.host) != (known.username, known.host):
            self._bring_about(HostChanged(user, known.username, known.host))
        if user.account != known.account:
            self._bring_about(AccountChanged(user, known.account))
        if user.realname != known.realname:
            self._bring_about(RealnameChanged(user, known.realname))
        if user.away != known.away:
            self._bring_about(AwayChanged(user, known.away))
        for key in {**user.metadata, **known.metadata}:
            if user.metadata.get(key) != known.metadata.get(key):
                self._bring_about(MetadataChanged(user, user, key, known.metadata.get(key)))

    def _leave(self, user: User, known: KnownUser) -> None:
        for key, channel in [*user.channels.items()]:
            if key not in known.places:
                self._bring_about(Parted(user, channel, ""))

    def _come(self, user: User, place: KnownPlace) -> None:
        channel = self._channel(place)
        standing = user.standing_in(channel)
        if not standing.join(place.joined):
            # They were put out, and their host has not heard of it.
            who = self._state.sign_on_of(user)
            self._pass_on(place.name, [standing_line(place.name, who, standing)])
        elif user not in channel.members:
            standing.made_at = place.made_at
            self._bring_about(Joined(user, channel))
            show_statuses(self._ircd, user, channel, self._told)
            if user.away is not None:
                self._bring_about(AwayChanged(user, user.away, newcomer_to=channel))

    def _channel(self, place: KnownPlace) -> Channel:
        """There is one, or everybody has left it here and not there, or it is new."""
        found = self._state.find_shared(place.name) or revive(self._ircd, place.name)
        return found or Channel(place.name, place.made_at)

    def _note_kick(self, known: KnownStanding) -> None:
        """Somebody may have been put out of a channel that, as far as is known here, they are in."""
        user, channel = self._state.signed_on.get(known.who), self._state.find_shared(known.name)
        standing = self._state.standing_of(known.who, known.name)
        is_news = known.kicked > standing.kicked
        is_out = standing.kick(known.kicked)
        is_member = channel is not None and user in channel.members
        if not is_member:
            # Who comes comes as what they are.
            for status, (stamp, present) in known.statuses.items():
                is_news = standing.give(status, stamp, present=present) or is_news
        if user is not None and channel is not None and is_member and is_out:
            self._bring_about(Kicked(self._speaker, channel, user, KICKED_MEANWHILE))
            tell_kicked(self._ircd, user, channel, self._speaker.mask, KICKED_MEANWHILE)
        if is_news:
            self._pass_on(known.name, [standing_line(known.name, known.who, standing)])

    def _merge_all(self) -> None:
        changes: dict[Folded, list[Given | Set]] = {}
        for standing in self._known.standings:
            of_channel = changes.setdefault(fold(standing.name), [])
            of_channel += (Given(standing.who, status, *value) for status, value in standing.statuses.items())
        for key in changes.keys() | self._known.channels.keys():
            known = self._known.channels.get(key, KnownChannel(key))
            channel = self._state.find_shared(key) or self._state.find_left(known.name)
            self._merge(channel, [*changes.get(key, ()), *known.settings], known.made_anew)

    def _merge(self, channel: Channel, changes: Iterable[Given | Set], made_anew: Stamp) -> None:
        ircd = self._ircd
        merge = Merge(ircd, channel, self._speaker, ircd.new_id(), ircd.clock(), self._told)
        merge.merge(changes, made_anew)
        if made_anew < channel.made_anew:
            # Here everybody had left it. Their host has not heard of it.
            self._pass_on(channel.name, [channel_line(channel)])
        self._pass_on(channel.name, merge.news)

    def _pass_on(self, name: str, news: Iterable[str]) -> None:
        """What came with a snapshot came to this host alone."""
        if self._is_snapshot:
            tell_known(self._ircd, name, news)

    def _bring_about(self, event: Change) -> None:
        self._ircd.bring_about(event, self._ircd.new_id(), self._ircd.clock(), self._told)
