"""What an agent needs of the ledger of its host."""

from typing import Protocol

from culture.store.ledger.records import Answer, BudgetState, Hold, Limit, News, Quota, Spent, Use


class Ledger(Protocol):
    """The operations of LedgerFile that an agent uses. Each raises UnavailableError if the ledger is away."""

    def reserve(self, hold: Hold) -> Answer:
        """Reserve money in all budgets of the agent, or in none."""

    def check(self, agent: str, login: str, amount: int) -> Answer:
        """Return what `reserve` would answer now, without an effect."""

    def extend(self, hold_id: str, amount: int) -> Answer:
        """Add to a reservation."""

    def progress(self, hold_id: str, use: Use) -> None:
        """Record what a running turn used so far."""

    def settle(self, hold_id: str, use: Use, *, turn: str = "", model: str = "") -> tuple[News, ...]:
        """Replace a reservation by what was used."""

    def book(
        self, hold: Hold, use: Use, *, turn: str = "", turns: int = 1, day: str = ""
    ) -> tuple[News, ...]:
        """Record use that was not reserved."""

    def void(self, hold_id: str) -> None:
        """Release a reservation of which nothing was used."""

    def settle_foreign(self, agent: str, owner: str) -> int:
        """Count the reservations of an agent's former processes as spent."""

    def raise_budget(self, raise_id: str, limit: Limit, by: str) -> None:
        """Add an amount to a budget for today."""

    def open_quota(self, quota: Quota, agent: str) -> bool:
        """Refuse a login's reservations until a time; return whether that was not known yet."""

    def budgets(self, agent: str) -> list[BudgetState]:
        """Return the budgets of an agent as they are today."""

    def spent_today(self, agent: str) -> Spent:
        """Return what an agent used today."""

    def spent_in_total(self, agent: str) -> Spent:
        """Return what an agent used on all days."""

    def close(self) -> None:
        """Release the file or the connection."""
