"""The server's core in memory: clients type lines and read what they get. No sockets, no waiting."""

from collections.abc import Callable, Mapping

from culture.config.ircd import NO_PASSWORDS, IrcdConfig, Limits
from culture.ircd.auth.agents import NO_AGENTS, AgentNicks
from culture.ircd.auth.questions import NO_ACCOUNTS, AccountNames, Authenticator
from culture.ircd.commands.server.skills import skill_commands
from culture.ircd.commands.table import COMMANDS
from culture.ircd.delivery.fast_path import deliver_plain_messages
from culture.ircd.delivery.queue import join_output
from culture.ircd.recording.ids import new_ids
from culture.ircd.server import Ircd
from culture.ircd.session import UNLIMITED, Phase, Session
from culture.ircd.skills import NO_SKILLS, Skills
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
        oper_passwords: Mapping[str, str] = NO_PASSWORDS,
        on_rehash: Callable[[Session], object] = lambda operator: None,
        skills: Skills = NO_SKILLS,
        agents: AgentNicks = NO_AGENTS,
        account_names: AccountNames | None = NO_ACCOUNTS,
        **config: object,
    ) -> None:
        self.clock = Clock()
        self._authenticator = authenticator
        self.ircd = Ircd(
            IrcdConfig(**{"name": "spark", "limits": limits or Limits(), **config}),
            {**COMMANDS, **skill_commands(skills)},
            clock=self.clock,
            timer=self.clock,
            new_id=new_ids("m"),
            version="1.0",
            password=password,
            oper_passwords=oper_passwords,
            on_rehash=on_rehash,
            skills=skills,
            agents=agents,
            # With an authenticator it is the one that is asked.
            account_names=account_names if authenticator is None else None,
        )

    def flush(self) -> None:
        """As the driver does it: what the server has for its clients is written."""
        while pending := self.ircd.drain():
            for session, output in pending.items():
                if session.write is not None:
                    session.write(join_output(output))
        self.ircd.delivered()

    def answer(self) -> None:
        """What the server asks of the outside is answered, as soon as all that was sent has arrived."""
        while questions := [*self.ircd.take_questions(), *self.ircd.slices.take()]:
            # An answer knows what was written down.
            self.flush()
            for question in questions:
                if question.of in ("skills", "slices"):
                    self.ircd.answered(question, question.ask(None))
                elif self._authenticator is None:
                    self.ircd.unanswered(question)
                else:
                    self.ircd.answered(question, question.ask(self._authenticator))

    def connect(self, host: str = "spark") -> "Client":
        """A connection that has said nothing yet."""
        return Client(self, host)

    def adopt(self, session: Session) -> "Client":
        """A connection to a session that is there already."""
        client = self.connect()
        client.session.write = None
        client.drop()
        client.session = session
        session.write, session.credit = client.write, UNLIMITED
        return client

    def client(self, nick: str, *channels: str, caps: str = "", account: str | None = None) -> "Client":
        """A client that is registered and in its channels, with nothing left to read.

        With an account it is logged in before it registers.
        """
        client = self.connect()
        client.session.user.account = account
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
        # What was written to it, and not read yet.
        self._unread = bytearray()
        self.write = self._unread.extend
        self.session.write, self.session.credit = self.write, UNLIMITED

    def send(self, *lines: str) -> None:
        for line in lines:
            self.send_bytes(line.encode() + b"\r\n")

    def send_bytes(self, data: bytes) -> None:
        """By the short way what can take it, as the driver does it."""
        if not self._framing.is_inside_line:
            left = deliver_plain_messages(self._ircd, [(None, self.session, data)])
            data = b"" if left is None else left[1] or b""
        for line in self._framing.feed(data):
            self._ircd.received(self.session, line)
        self._network.answer()

    def drop(self, reason: str = "Connection closed") -> None:
        self._ircd.disconnected(self.session, reason)

    def lines(self) -> list[str]:
        """What arrived since the last look."""
        self._network.flush()
        lines = self._unread.decode().split("\r\n")[:-1]
        self._unread.clear()
        return lines

    @property
    def unread_bytes(self) -> int:
        return len(self._unread)

    def numerics(self) -> list[str]:
        return [line.split(" ")[1] for line in self.lines()]

    @property
    def is_closed(self) -> bool:
        return self.session.phase is Phase.CLOSED
