"""What has to be true of every mesh once it is healed."""

from culture.federation.feeds.watermarks import Scope, visible_part
from culture.federation.numbers import format_number, generation_of
from culture.protocol.accounts import bare_account
from culture.protocol.event_record import PROOF_TAG, EventRecord
from culture.protocol.peers.scopes import BEYOND
from support.mesh.disk import places
from support.mesh.world import Process, Users, World


def check(world: World) -> None:
    check_reach(world)
    check_history(world)
    check_order(world)
    check_direct(world)
    check_limits(world)
    check_users(world)
    check_channels(world)
    check_readers(world)


def violations(world: World) -> str:
    """The first of them, or nothing."""
    try:
        check(world)
    except AssertionError as error:
        return str(error) or "?"
    return ""


def running(world: World, name: str) -> Process:
    process = world.machines[name].process
    assert process is not None
    return process


def routes(world: World, name: str) -> dict[str, Scope]:
    found = running(world, name).mesh.hosts.routes
    return {other: route.scope for other, route in found.items() if other in world.machines}


def rows(world: World, name: str, origin: str) -> dict[tuple[int, str], EventRecord]:
    """What a host wrote down of another, or of itself, that may cross links: by number and place."""
    stored = "" if origin == name else origin
    return {
        (each.seq, place): each
        for each in world.machines[name].disk.rows
        for place in places(each)
        if each.origin == stored and not each.is_local and not each.to and not each.is_between_local_users
    }


def check_reach(world: World) -> None:
    for name in world.machines:
        assert set(routes(world, name)) == set(world.machines) - {name}, (
            f"{name} reaches {routes(world, name)}"
        )


def check_history(world: World) -> None:
    """Whoever may have it has all of it, as it was."""
    for name in world.machines:
        for origin, scope in routes(world, name).items():
            theirs, ours = (
                {
                    key: each
                    for key, each in rows(world, host, origin).items()
                    if _may_cross(each, key[1], scope)
                }
                for host in (origin, name)
            )
            lacking, strange = theirs.keys() - ours.keys(), ours.keys() - theirs.keys()
            assert not lacking, f"{name} lacks of {origin}: {_some(theirs, lacking)}"
            assert not strange, f"{origin} lacks what {name} has of it: {_some(ours, strange)}"
            for key, each in theirs.items():
                assert _told(ours[key]) == _told(each), f"{name} has {ours[key]}, which was {each}"


def _may_cross(happening: EventRecord, place: str, scope: Scope) -> bool:
    """Not so what takes a channel out of those that a way is limited to."""
    return scope is None or (place in scope and visible_part(happening, scope) is not None)


def _told(happening: EventRecord) -> tuple[object, ...]:
    """Others keep the proof along with it, and say of which host an account is."""
    tags = {name: value for name, value in happening.tags.items() if name != PROOF_TAG}
    account = bare_account(happening.account) if happening.account else None
    told = happening._replace(tags=tags, account=account)
    return int(happening.at * 1000), happening.id, *told[2:8]


def _some(found: dict[tuple[int, str], EventRecord], keys: set[tuple[int, str]]) -> str:
    first = found[min(keys)]
    return f"{len(keys)}, first {format_number(first.seq)} {first}"


def check_order(world: World) -> None:
    """What one host said in a channel was written down in that order by all.

    But for what a limited link does not carry: it comes when there is another way.
    """
    for name, machine in world.machines.items():
        last: dict[tuple[str, int, str], int] = {}
        for each in machine.disk.rows:
            if each.origin and each.origin not in world.machines:
                continue
            for place in places(each) if each.command not in BEYOND else ():
                key = (each.origin, generation_of(each.seq), place)
                assert each.seq > last.get(key, 0), f"{name} got out of order: {each}"
                last[key] = each.seq


def check_direct(world: World) -> None:
    """On the two hosts concerned, once each, and on no other."""
    for name, machine in world.machines.items():
        for each in machine.disk.rows:
            assert not each.to or not each.origin or each.to == name, (
                f"{name} keeps what is not its own: {each}"
            )
        for origin, scope in routes(world, name).items():
            sent = {
                each.seq for each in world.machines[origin].disk.rows if not each.origin and each.to == name
            }
            got = {each.seq for each in machine.disk.rows if each.origin == origin and each.to}
            if scope is None:
                assert sent <= got, f"{name} lacks direct messages of {origin}: {sorted(sent - got)}"
                assert got <= sent, f"{origin} lacks direct messages that {name} has: {sorted(got - sent)}"


def check_limits(world: World) -> None:
    """Nothing is where no wire may carry it to."""
    for name, machine in world.machines.items():
        for each in machine.disk.rows:
            if each.origin not in world.machines:
                continue
            assert not each.is_local, f"{name} has what is local elsewhere: {each}"
            for place in places(each):
                if place.startswith("#"):
                    assert _can_come(world, each.origin, name, place), f"{name} may not have {each}"
                else:
                    assert _can_come(world, each.origin, name, None), f"{name} may not have {each}"


def _can_come(world: World, origin: str, name: str, channel: str | None) -> bool:
    reached = {origin}
    while True:
        further = {
            host
            for pair, wire in world.wires.items()
            if pair & reached and (wire.channels is None or channel in wire.channels)
            for host in pair
        } - reached
        if not further:
            return name in reached
        reached |= further


def check_users(world: World, *, with_status: bool = True) -> None:
    """Everybody sees the same users in the same channels, with the same status; nobody sees a ghost."""
    for name in world.machines:
        for origin, scope in routes(world, name).items():
            theirs = _seen(running(world, origin).users_of(origin), scope, with_status)
            ours = _seen(running(world, name).users_of(origin), scope, with_status)
            assert ours == theirs, f"{name} sees of {origin} {ours}, which are {theirs}"


def _seen(users: Users, scope: Scope, with_status: bool) -> Users:
    if not with_status:
        users = {nick: (dict.fromkeys(joined, ""), rest) for nick, (joined, rest) in users.items()}
    if scope is None:
        return users
    seen: Users = {}
    for nick, (joined, _) in users.items():
        if shown := {each: status for each, status in joined.items() if each in scope}:
            seen[nick] = (shown, None)
    return seen


def check_channels(world: World) -> None:
    """Topics, modes and lists are the same for all who see all of them.

    A channel may be local for some, and another of that name be shared by the others.
    """
    if any(wire.channels is not None for wire in world.wires.values()):
        return
    first, *others = world.machines
    for other in others:
        ours, theirs = _shared(world, first), _shared(world, other)
        assert ours == theirs, f"{first} has {ours}, and {other} has {theirs}"


def _shared(world: World, name: str) -> dict[str, object]:
    channels = running(world, name).channels()
    return {key: each for key, each in channels.items() if not key.startswith("#local")}


def check_readers(world: World) -> None:
    """What clients read adds up to what is: nobody is missing, and nothing was said twice or out of order."""
    for name, machine in world.machines.items():
        numbers = {each.id: (each.origin, each.seq) for each in machine.disk.rows}
        for reader, channels in running(world, name).readers():
            assert reader.members == channels, f"{reader.nick} has read {reader.members}; it is {channels}"
            last: dict[tuple[str, int, str], int] = {}
            for channel, msgid in reader.messages:
                origin, number = numbers[msgid]
                key = (origin, generation_of(number), channel)
                assert number > last.get(key, 0), f"{reader.nick} reads {msgid} twice, or too late"
                last[key] = number
