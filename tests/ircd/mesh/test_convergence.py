"""Whatever happens where, and in whatever order hosts hear of it: in the end all have the same picture."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.hosts import Mesh

HOSTS = ("spark", "thor", "orin")
PAIRS = [(one, other) for one in HOSTS for other in HOSTS if one != other]
CHANNELS = ("#a", "#b")
PEOPLE = ("ori", "bo")
NICKS = [f"{host}-{name}" for host in HOSTS for name in (*PEOPLE, "x")]

CHANGES = (
    *("+s", "-s", "+m", "-t", "+t", "+l 7", "+l 9", "-l"),
    *("+k one", "+k two", "-k one", "+b x!*@*", "-b x!*@*"),
)

channels = st.sampled_from(CHANNELS)
nicks = st.sampled_from(NICKS)


def lines(template: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries(parts).map(lambda values: template.format(**values))


commands = st.one_of(
    lines("JOIN {to}", to=channels),
    lines("PART {to}", to=channels),
    lines("MODE {to} {sign}{letter} {nick}", to=channels, sign=st.sampled_from("+-"),
          letter=st.sampled_from("ohv"), nick=nicks),
    lines("MODE {to} {change}", to=channels, change=st.sampled_from(CHANGES)),
    lines("TOPIC {to} :{text}", to=channels, text=st.sampled_from(["tea", "coffee", ""])),
    lines("KICK {to} {nick}", to=channels, nick=nicks),
    lines("RENAME {to} {new}", to=channels, new=st.sampled_from([*CHANNELS, "#c"])),
    lines("METADATA {to} SET url :{text}", to=channels, text=st.sampled_from(["one", "two"])),
    st.sampled_from(["AWAY :tea", "AWAY", "SETNAME :Somebody", "METADATA * SET url :here", "MODE {me} +i",
                     "INVITE thor-ori #a", "PRIVMSG #a :hello"]),
)  # fmt: skip
renames = lines("NICK {nick}", nick=st.sampled_from(["ori", "bo", "x"]))
steps = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(HOSTS), st.sampled_from(PEOPLE), commands | renames),
    st.tuples(st.just("arrive"), st.sampled_from(PAIRS), st.integers(1, 3)),
    st.tuples(st.just("clock"), st.sampled_from(HOSTS), st.sampled_from([0.001, 1.0, -30.0])),
)
cuts = st.tuples(st.sampled_from(["cut", "heal"]), st.sampled_from(PAIRS))


def play(mesh: Mesh, played: Sequence[tuple[Any, ...]]) -> None:
    clients = {(host, name): mesh[host].client(name) for host in HOSTS for name in PEOPLE}
    for step in played:
        match step:
            case ("say", host, name, line):
                client = clients[host, name]
                line = line.replace("NICK ", f"NICK {host}-") if line.startswith("NICK ") else line
                client.send(line.replace("{me}", client.session.user.nick))
            case ("arrive", (one, other), most):
                mesh.arrive(one, other, most)
            case ("clock", host, seconds):
                mesh[host].network.clock.advance(seconds)
            case ("cut", (one, other)) if other in mesh[one].unsent:
                mesh.cut(one, other)
            case ("heal", (one, other)) if other not in mesh[one].unsent:
                mesh.heal(one, other)


def check(played: Sequence[tuple[Any, ...]]) -> None:
    mesh = Mesh(*HOSTS)
    play(mesh, played)
    mesh.heal_all()
    first, *others = (host.picture() for host in mesh.hosts.values())
    for other in others:
        assert other == first


@settings(max_examples=100, deadline=None)
@given(st.lists(steps, max_size=60))
def test_all_hosts_end_with_the_same_picture(played: list[tuple[Any, ...]]):
    check(played)


@settings(max_examples=100, deadline=None)
@given(st.lists(steps | cuts, max_size=60))
def test_all_hosts_end_with_the_same_picture_after_splits(played: list[tuple[Any, ...]]):
    check(played)
