"""Whatever clients type, in whatever order: no exception escapes, and the state agrees with itself."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from support.network import Client, Network

from culture.config.ircd import Limits
from culture.ircd.commands.table import COMMANDS
from culture.names import fold

nicks = st.sampled_from(["a", "b", "B", "c[]", "C{}", "9", "a b", ""])
channels = st.sampled_from(["#x", "#X", "#y", "#{z}", "#[Z]", "#x,#y", "#", "x", "0", "#x,,#y,#x"])
words = st.one_of(
    nicks,
    channels,
    st.sampled_from(["+o", "-o", "+v", "+mnt", "+ov-o", "LS", "REQ", "END", "*", "302"]),
    st.sampled_from(
        ["+", "-", "C", "L", "S", "a,B,c{}", "o%tcuihsnflar,42", "%n", ">1,!*y", "C<1,T>0", "+BRiow"]
    ),
    st.sampled_from(
        ["+b", "-b", "+eI", "+bb-b", "+kl", "-kl", "+is-i", "+CMR", "+h", "b", "5", "@#x", "~m:b", "~a:b"]
    ),
)
texts = st.one_of(
    st.just("é" * 230),
    words,
    st.text(max_size=20),
    st.sampled_from(["@a @b @C{}", "`@a`", "@a@b", "\x01ACTION x\x01"]),
)
typed = st.builds(
    lambda command, params, text: " ".join([command, *params, f":{text}"]),
    st.sampled_from([*sorted(COMMANDS.keys() - {"QUIT"}), "NOSUCH", "005"]),
    st.lists(words, max_size=3),
    texts,
)


class Clients(RuleBasedStateMachine):
    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.network = Network(nick_policy="open", limits=Limits(channels_per_client=3))

    @rule(target=clients)
    def connect(self) -> Client:
        return self.network.connect()

    @rule(target=clients, nick=nicks, caps=st.sampled_from(["", "message-tags server-time", "echo-message"]))
    def register(self, nick: str, caps: str) -> Client:
        client = self.network.connect()
        if caps:
            client.send(f"CAP REQ :{caps}")
        client.send(f"NICK {nick}", "USER u 0 * :u", "CAP END")
        return client

    @rule(client=clients, channel=channels)
    def join(self, client: Client, channel: str) -> None:
        client.send(f"JOIN {channel}")

    @rule(client=clients, line=typed)
    def type_something(self, client: Client, line: str) -> None:
        client.send_bytes(line.encode(errors="replace") + b"\r\n")

    @rule(client=clients, raw=st.binary(max_size=80))
    def send_anything(self, client: Client, raw: bytes) -> None:
        client.send_bytes(raw)

    @rule(client=consumes(clients))
    def quit(self, client: Client) -> None:
        client.send("", "QUIT :bye")
        client.drop()

    @rule(client=consumes(clients))
    def drop(self, client: Client) -> None:
        client.drop()

    @rule(seconds=st.sampled_from([1, 31, 91, 200]))
    def wait(self, seconds: int) -> None:
        self.network.clock.advance(seconds)
        self.network.ircd.tick()

    @rule(client=clients)
    def read(self, client: Client) -> None:
        for line in client.lines():
            body = line.partition(" ")[2] if line.startswith("@") else line
            assert len(body.encode()) <= 510
            assert "\r" not in line
            assert "\n" not in line

    @invariant()
    def members_and_channels_agree_on_both_sides(self) -> None:
        state = self.network.ircd.state
        for name, channel in state.channels.items():
            assert channel.members, f"{name} is empty"
            assert fold(channel.name) == name
            for user in channel.members:
                assert user.channels[name] is channel
                assert state.users[user.key] is user
        for key, user in state.users.items():
            assert fold(user.nick) == key
            assert user.session in self.network.ircd.sessions
            assert all(user in channel.members for channel in user.channels.values())

    @invariant()
    def modes_that_are_shown_can_be_read_back(self) -> None:
        for channel in self.network.ircd.state.channels.values():
            letters, *params = channel.modes_for(next(iter(channel.members)))
            assert len(params) == sum(letter in "kl" for letter in letters)
            assert all(param and " " not in param for param in params)
            assert len(channel.masks) <= self.network.ircd.limits.list_entries

    @invariant()
    def modes_are_counted(self) -> None:
        state = self.network.ircd.state
        for mode, having in state.by_mode.items():
            assert having == {user for user in state.users.values() if mode in user.modes}

    @invariant()
    def nothing_is_left_of_sessions_that_ended(self) -> None:
        ircd = self.network.ircd
        assert set(ircd.state.watchers.everyone) <= set(ircd.state.users.values())
        assert set(ircd.reserved.values()) <= ircd.sessions
        assert all(fold(session.user.nick) == nick for nick, session in ircd.reserved.items())


Clients.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestClients = Clients.TestCase
