"""The types of the ledger: reservations, use, limits, and the answers to a reservation."""

from enum import StrEnum
from typing import Final, Literal, NamedTuple

# Money is counted in whole millionths of a US dollar: sums of whole numbers are exact.
MICRO: Final = 1_000_000

Kind = Literal["turn", "supervisor", "aside"]
Scope = Literal["agent", "host"]


def micro_usd(usd: float) -> int:
    """Return an amount in micro-dollars."""
    return round(usd * MICRO)


def usd(micro: int) -> float:
    """Return an amount in US dollars."""
    return micro / MICRO


class Spender(NamedTuple):
    """Who spends: an agent, and what its backend runs with."""

    agent: str
    host: str
    backend: str
    model: str = ""
    # The login whose quota it uses; agents with the same key or account have the same one.
    login: str = ""


class Hold(NamedTuple):
    """A reservation that is asked for."""

    id: str
    kind: Kind
    spender: Spender
    # The process that asks; when an agent starts, holds of its former processes count as spent.
    owner: str
    amount: int
    task: str = ""


class Use(NamedTuple):
    """Tokens and cost of one turn or side session."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    # In micro-dollars; None if nobody knows.
    cost: int | None = None

    @property
    def cost_usd(self) -> float | None:
        """Return the cost in US dollars, or None if nobody knows it."""
        return None if self.cost is None else usd(self.cost)


class Limit(NamedTuple):
    """A budget for one day; 0 forbids every model call."""

    scope: Scope
    name: str
    amount: int


class BudgetState(NamedTuple):
    """A budget and how much of it is used today, in micro-dollars."""

    scope: Scope
    name: str
    # Including what people added today.
    limit: int
    spent: int
    held: int

    @property
    def text(self) -> str:
        """Return the state for people: `9.20 of 10.00 USD of spark-claude`."""
        whose = self.name if self.scope == "agent" else f"all agents of {self.name}"
        return f"{usd(self.spent):.2f} of {usd(self.limit):.2f} USD of {whose}"


class Told(StrEnum):
    """What people are told once a day about a budget."""

    WARNED = "warned"
    EXHAUSTED = "exhausted"


class News(NamedTuple):
    """A budget that has just passed a mark, to be told to people by whoever receives this."""

    what: Told
    budget: BudgetState


class Quota(NamedTuple):
    """A login that its provider refuses until a time."""

    login: str
    window: str
    until_ms: int


class Answer(NamedTuple):
    """The answer to a reservation, which is refused if it has a shortage or a quota."""

    shortage: BudgetState | None = None
    quota: Quota | None = None
    news: tuple[News, ...] = ()

    @property
    def is_granted(self) -> bool:
        """Return whether the reservation was made."""
        return self.shortage is None and self.quota is None


class Spent(NamedTuple):
    """Total tokens and cost of several entries."""

    turns: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float


class Share(NamedTuple):
    """One row of a report: what one agent, task, day, host or model used."""

    name: str
    turns: int
    # Supervisor checks and questions aside.
    others: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: int
    # Reservations of what is running now; not part of the cost.
    held: int


By = Literal["agent", "task", "day", "host", "model"]
