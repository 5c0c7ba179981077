"""The server's core in memory: clients type lines and read what they get. No sockets, no waiting."""

from culture.config.ircd import IrcdConfig, Limits
from culture.ircd.auth import Authenticator
from culture.ircd.commands.table import COMMANDS
from culture.ircd.core import Ircd
from culture.ircd.ids import new_ids
from culture.ircd.session import Phase
from culture.protocol.framing import LineBuffer


class Clock:
    """The time of day and the timer of a test; they stand still until told otherwise."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Network:
    def __init__(
        self,
        *,
        password: str = "",
        limits: Limits | None = None,
        authenticator: Authenticator | None = None,
        **config: object,
    ) -> None:
        self.clock = Clock()
        self._authenticator = authenticator
        self.ircd = Ircd(
            IrcdConfig(**{"name": "spark", "limits": limits or Limits(), **config}),
            COMMANDS,
            clock=self.clock,
            timer=self.clock,
            new_id=new_ids("m"),
            version="1.0",
            password=password,
        )

    def answer(self) -> None:
        """What the server asks of the outside is answered, as soon as all that was sent has arrived."""
        while questions := self.ircd.take_questions():
            for question in questions:
                if self._authenticator is None:
                    self.ircd.unanswered(question)
                else:
                    self.ircd.answered(question, question.ask(self._authenticator))

    def connect(self, host: str = "spark") -> "Client":
        """A connection that has said nothing yet."""
        return Client(self, host)

    def client(self, nick: str, *channels: str, caps: str = "") -> "Client":
        """A client that is registered and in its channels, with nothing left to read."""
        client = self.connect()
        if caps:
            client.send(f"CAP REQ :{caps}")
        client.send(f"NICK {nick}", f"USER {nick.rpartition('-')[2]} 0 * :{nick}")
        if caps:
            client.send("CAP END")
        assert client.session.phase is Phase.REGISTERED, client.lines()
        for channel in channels:
            client.send(f"JOIN {channel}")
        client.lines()
        return client


class Client:
    def __init__(self, network: Network, host: str) -> None:
        self._network = network
        self._ircd = network.ircd
        self._framing = LineBuffer()
        self.session = network.ircd.connect(host, "test")

    def send(self, *lines: str) -> None:
        for line in lines:
            self.send_bytes(line.encode() + b"\r\n")

    def send_bytes(self, data: bytes) -> None:
        for line in self._framing.feed(data):
            self._ircd.received(self.session, line)
        self._network.answer()

    def drop(self, reason: str = "Connection closed") -> None:
        self._ircd.disconnected(self.session, reason)

    def lines(self) -> list[str]:
        """What arrived since the last look."""
        self._ircd.drain()
        return self.session.take_output().decode().split("\r\n")[:-1]

    def numerics(self) -> list[str]:
        return [line.split(" ")[1] for line in self.lines()]

    @property
    def is_closed(self) -> bool:
        return self.session.phase is Phase.CLOSED
