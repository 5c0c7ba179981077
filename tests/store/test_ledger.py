"""The ledger of a host: money is reserved before it is spent, and the rows add up."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from culture.errors import UnavailableError
from culture.store.ledger.file import FILE, LedgerFile, local_day
from culture.store.ledger.records import Hold, Limit, Quota, Spender, Told, Use, micro_usd, usd

NOON = 1_795_003_200.0
DAY_S = 86400.0
CLAUDE = Spender("spark-claude", "spark", "claude", "opus", "claude:ori")
CODEX = Spender("spark-codex", "spark", "codex", "gpt", "codex:ori")


class Clock:
    """A wall clock that tests set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Open = Callable[..., LedgerFile]


@pytest.fixture
def open_ledger(tmp_path: Path, clock: Clock) -> Iterator[Open]:
    """Open the same file again and again, as processes do; amounts are in US dollars."""
    opened: list[LedgerFile] = []

    def open_it(*, agent: float | None = None, host: float | None = None) -> LedgerFile:
        opened.append(make_ledger(tmp_path, clock, agent=agent, host=host))
        return opened[-1]

    yield open_it
    for each in opened:
        each.close()


def make_ledger(
    directory: Path, clock: Callable[[], float], *, agent: float | None = None, host: float | None = None
) -> LedgerFile:
    def limits_of(nick: str) -> list[Limit]:
        own = [] if agent is None else [Limit("agent", nick, micro_usd(agent))]
        return own + ([] if host is None else [Limit("host", "spark", micro_usd(host))])

    return LedgerFile(directory / FILE, limits_of, wall_clock=clock)


def hold(id: str, amount: float = 1.0, spender: Spender = CLAUDE, owner: str = "p1", task: str = "") -> Hold:
    return Hold(id, "turn", spender, owner, micro_usd(amount), task)


def used(cost: float | None, input_tokens: int = 0) -> Use:
    return Use(input_tokens, 0, 0, None if cost is None else micro_usd(cost))


def test_a_turn_is_reserved_and_then_settled(open_ledger: Open):
    ledger = open_ledger(agent=10)

    assert ledger.reserve(hold("a")).is_granted
    [running] = ledger.budgets("spark-claude")
    ledger.settle("a", Use(100, 80, 10, 250_000), turn="3f2a", model="opus-5")

    assert (usd(running.held), usd(running.spent)) == (1, 0)
    [settled] = ledger.budgets("spark-claude")
    assert (usd(settled.held), usd(settled.spent)) == (0, 0.25)
    assert ledger.spent_today("spark-claude") == (1, 100, 80, 10, 0.25)


def test_a_reservation_that_the_rest_does_not_cover_is_refused(open_ledger: Open):
    ledger = open_ledger(agent=2)
    assert ledger.reserve(hold("a", 1.5)).is_granted

    refused = ledger.reserve(hold("b", 1))

    assert refused.shortage is not None
    assert usd(refused.shortage.held) == 1.5
    # Nobody is told: the running turn may leave enough.
    assert refused.news == ()


def test_all_agents_of_a_host_share_its_budget(open_ledger: Open):
    ledger = open_ledger(agent=10, host=2)
    assert ledger.reserve(hold("a", 1.5)).is_granted

    refused = ledger.reserve(hold("b", 1, CODEX))

    assert refused.shortage is not None
    assert refused.shortage.scope == "host"
    assert ledger.budgets("spark-codex")[0].held == 0


def test_a_budget_of_zero_allows_no_model_call(open_ledger: Open):
    ledger = open_ledger(agent=0)

    refused = ledger.reserve(hold("a", 0))

    assert not refused.is_granted
    assert [news.what for news in refused.news] == [Told.EXHAUSTED]


def test_without_a_budget_every_turn_is_recorded_and_none_is_refused(open_ledger: Open):
    ledger = open_ledger()

    assert ledger.reserve(hold("a", 0)).is_granted
    ledger.settle("a", used(1000))

    assert ledger.spent_in_total("spark-claude").cost_usd == 1000


def test_the_same_entry_counts_once(open_ledger: Open):
    ledger = open_ledger(agent=10)
    for _ in range(2):
        ledger.reserve(hold("a"))
        ledger.settle("a", used(0.5))
        ledger.book(hold("b"), used(0.25))

    assert ledger.spent_today("spark-claude").cost_usd == 0.75


def test_people_are_told_once_when_most_of_a_budget_is_spent(open_ledger: Open):
    ledger = open_ledger(agent=10)
    told = []
    for number in range(10):
        ledger.reserve(hold(str(number)))
        told.append([news.what for news in ledger.settle(str(number), used(1))])

    assert told == [[]] * 7 + [[Told.WARNED]] + [[]] * 2


def test_people_are_told_once_a_day_that_a_budget_is_spent(open_ledger: Open, clock: Clock):
    ledger = open_ledger(agent=1)
    ledger.book(hold("a"), used(1))

    first, second = ledger.reserve(hold("b")), ledger.reserve(hold("b"))
    clock.now += DAY_S
    ledger.book(hold("c"), used(1))
    next_day = ledger.reserve(hold("d"))

    assert [news.what for news in first.news] == [Told.EXHAUSTED]
    assert second.news == ()
    assert [news.what for news in next_day.news] == [Told.EXHAUSTED]


def test_the_next_day_begins_with_the_whole_budget(open_ledger: Open, clock: Clock):
    ledger = open_ledger(agent=1)
    ledger.book(hold("a"), used(1))
    assert not ledger.reserve(hold("b")).is_granted

    clock.now += DAY_S

    assert ledger.reserve(hold("b")).is_granted


def test_a_clock_that_jumps_back_finds_what_was_spent_on_that_day(open_ledger: Open, clock: Clock):
    ledger = open_ledger(agent=1)
    ledger.book(hold("a"), used(1))
    clock.now += 30 * DAY_S
    ledger.book(hold("b"), used(1))

    clock.now -= 30 * DAY_S
    assert not ledger.reserve(hold("c")).is_granted
    clock.now += 30 * DAY_S
    assert not ledger.reserve(hold("c")).is_granted


def test_a_turn_that_runs_over_midnight_belongs_to_the_day_of_its_reservation(
    open_ledger: Open, clock: Clock
):
    ledger = open_ledger(agent=1)
    ledger.reserve(hold("a"))
    clock.now += DAY_S

    ledger.settle("a", used(0.75))

    assert ledger.spent_today("spark-claude").cost_usd == 0
    assert [row.name for row in ledger.report("day")] == [local_day(NOON)]


def test_a_turn_that_runs_over_midnight_grows_only_within_the_budget_of_its_own_day(
    open_ledger: Open, clock: Clock
):
    ledger = open_ledger(agent=3)
    ledger.reserve(hold("a", 1))
    clock.now += DAY_S

    assert ledger.extend("a", micro_usd(2)).is_granted
    refused = ledger.extend("a", 1)

    assert refused.shortage is not None
    # People are asked to raise budgets of today only.
    assert not refused.news
    assert ledger.reserve(hold("b", 3)).is_granted


def test_people_may_raise_a_budget_for_the_day(open_ledger: Open, clock: Clock):
    ledger = open_ledger(agent=1)
    ledger.book(hold("a"), used(1))
    for _ in range(2):
        ledger.raise_budget("q1", Limit("agent", "spark-claude", micro_usd(5)), "spark-ori")

    assert ledger.reserve(hold("b", 5)).is_granted
    assert not ledger.reserve(hold("c", 0.5)).is_granted
    clock.now += DAY_S
    assert not ledger.reserve(hold("d", 2)).is_granted


def test_reservations_of_a_former_process_count_as_spent(open_ledger: Open):
    former = open_ledger(agent=2)
    former.reserve(hold("a", 1, owner="p1"))
    former.progress("a", used(0.25, 900))
    former.reserve(hold("b", 1, CODEX, owner="p2"))

    ledger = open_ledger(agent=2)
    assert ledger.settle_foreign("spark-claude", "p3") == 1

    assert ledger.spent_today("spark-claude") == (1, 900, 0, 0, 1)
    # Those of other agents are running.
    assert ledger.spent_today("spark-codex").cost_usd == 0
    # Its late settlement changes nothing.
    former.settle("a", used(0.5))
    assert ledger.spent_today("spark-claude").cost_usd == 1


def test_a_turn_of_unknown_cost_counts_as_what_it_reserved(open_ledger: Open):
    ledger = open_ledger(agent=10)
    ledger.reserve(hold("a", 2))

    ledger.settle("a", used(None, 50))

    assert ledger.spent_today("spark-claude") == (1, 50, 0, 0, 2)


def test_a_turn_that_costs_more_than_it_reserved_is_recorded_as_it_was(open_ledger: Open):
    ledger = open_ledger(agent=10)
    ledger.reserve(hold("a", 1))
    ledger.progress("a", used(3))
    [running] = ledger.budgets("spark-claude")
    ledger.settle("a", used(4))

    assert usd(running.held) == 3
    assert ledger.spent_today("spark-claude").cost_usd == 4


def test_a_reservation_grows_only_within_the_budget(open_ledger: Open):
    ledger = open_ledger(agent=3)
    ledger.reserve(hold("a", 1))

    assert ledger.extend("a", micro_usd(2)).is_granted
    assert ledger.extend("a", 1).shortage is not None
    assert usd(ledger.budgets("spark-claude")[0].held) == 3


def test_a_released_reservation_costs_nothing(open_ledger: Open):
    ledger = open_ledger(agent=1)
    ledger.reserve(hold("a", 1))

    ledger.void("a")

    assert ledger.reserve(hold("b", 1)).is_granted
    assert ledger.report("agent")[0].cost == 0


def test_a_used_up_quota_stops_every_agent_with_that_login(open_ledger: Open, clock: Clock):
    ledger = open_ledger()
    until_ms = int((NOON + 3600) * 1000)
    sharing = CLAUDE._replace(agent="spark-second")

    assert ledger.open_quota(Quota("claude:ori", "five_hour", until_ms), "spark-claude")
    assert not ledger.open_quota(Quota("claude:ori", "five_hour", until_ms), "spark-second")

    assert ledger.reserve(hold("a", 0, sharing)).quota == Quota("claude:ori", "five_hour", until_ms)
    assert ledger.reserve(hold("b", 0, CODEX)).is_granted
    clock.now += 3600
    assert ledger.reserve(hold("a", 0, sharing)).is_granted


def test_a_check_reserves_nothing(open_ledger: Open):
    ledger = open_ledger(agent=1)

    assert ledger.check("spark-claude", "", micro_usd(1)).is_granted
    assert not ledger.check("spark-claude", "", micro_usd(2)).is_granted
    assert ledger.report("agent") == []


@pytest.mark.parametrize("by", ["agent", "task", "day", "host", "model"])
def test_the_rows_of_every_report_add_up_to_the_same_total(open_ledger: Open, clock: Clock, by):
    ledger = open_ledger()
    for number in range(12):
        spender = (CLAUDE, CODEX)[number % 2]
        ledger.reserve(hold(str(number), 0.1, spender, task=f"task {number % 3}"))
        ledger.settle(str(number), Use(number, 1, 2, number * 1001))
        clock.now += DAY_S / 4
    ledger.book(Hold("s", "supervisor", CLAUDE, "p1", 0), used(0.5))
    ledger.reserve(hold("running", 3))

    rows = ledger.report(by)

    assert sum(row.cost for row in rows) == sum(range(12)) * 1001 + 500_000
    assert sum(row.turns for row in rows) == 12
    assert sum(row.others for row in rows) == 1
    assert sum(row.input_tokens for row in rows) == sum(range(12))
    assert sum(row.held for row in rows) == micro_usd(3)


def test_a_settled_entry_cannot_be_changed(open_ledger: Open, tmp_path: Path):
    ledger = open_ledger()
    ledger.book(hold("a"), used(1))

    with pytest.raises(UnavailableError, match="a settled entry does not change"), ledger._at_once():
        ledger._connection.execute("UPDATE entries SET cost = 0")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "unknown", "crash", "void", "midnight", "back", "progress"]),
        st.integers(0, 3),
        st.integers(0, 1_200_000),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, agent=st.integers(0, 4_000_000), host=st.integers(0, 6_000_000))
def test_no_order_of_turns_crashes_and_days_goes_beyond_a_budget(tmp_path_factory, steps, agent, host):
    """Four agents, each with a process of its own; costs never exceed the reservation."""
    directory = tmp_path_factory.mktemp("ledger")
    clock = Clock()
    agents = [CLAUDE._replace(agent=f"spark-{name}") for name in "abcd"]
    limits = lambda nick: [Limit("agent", nick, agent), Limit("host", "spark", host)]  # noqa: E731
    open_one = lambda: LedgerFile(directory / FILE, limits, wall_clock=clock)  # noqa: E731
    processes = [open_one() for _ in agents]
    running: list[tuple[str, int] | None] = [None] * 4
    owners = [0] * 4
    number = 0
    for step, who, amount in steps:
        ledger, spender, turn = processes[who], agents[who], running[who]
        if step == "reserve" and turn is None:
            number += 1
            id = str(number)
            if ledger.reserve(Hold(id, "turn", spender, f"{who}.{owners[who]}", amount)).is_granted:
                running[who] = id, amount
        elif step == "progress" and turn is not None:
            ledger.progress(turn[0], Use(cost=min(amount, turn[1])))
        elif step in ("settle", "unknown", "void") and turn is not None:
            if step == "void":
                ledger.void(turn[0])
            else:
                ledger.settle(turn[0], Use(cost=None if step == "unknown" else min(amount, turn[1])))
            running[who] = None
        elif step == "crash":
            ledger.close()
            owners[who] += 1
            running[who] = None
            processes[who] = open_one()
            processes[who].settle_foreign(spender.agent, f"{who}.{owners[who]}")
        elif step in ("midnight", "back"):
            clock.now += DAY_S if step == "midnight" else -DAY_S
        check_sums(processes[0], agent, host)
    for each in processes:
        each.close()


def check_sums(ledger: LedgerFile, agent: int, host: int) -> None:
    rows = list(
        ledger._connection.execute(
            """
            SELECT day, agent, sum(cost * (state = 'settled')), sum(max(held, cost) * (state = 'held'))
            FROM entries GROUP BY day, agent
            """
        )
    )
    by_day: dict[str, int] = {}
    for day, _, cost, held in rows:
        assert cost + held <= agent
        by_day[day] = by_day.get(day, 0) + cost + held
    assert all(used <= host for used in by_day.values())
    totals = ledger._connection.execute("SELECT day, agent, cost, held FROM totals")
    assert sorted(rows) == sorted(totals)
    assert sum(cost for _, _, cost, _ in rows) == sum(row.cost for row in ledger.report("day"))


def spend_until_refused(directory: Path, nick: str) -> None:
    ledger = make_ledger(directory, Clock(), host=10)
    spender = CLAUDE._replace(agent=nick)
    for number in range(200):
        id = f"{nick}.{number}"
        if ledger.reserve(hold(id, 0.3, spender)).is_granted:
            ledger.settle(id, used(0.2))


def hold_and_wait(directory: Path, ready: "multiprocessing.synchronize.Event") -> None:
    ledger = make_ledger(directory, Clock(), agent=10)
    ledger.reserve(hold("a", 2, owner="p1"))
    ready.set()
    signal.pause()


FORK = multiprocessing.get_context("spawn")


def test_processes_that_spend_at_once_stay_within_the_budget_of_the_host(tmp_path: Path):
    children = [FORK.Process(target=spend_until_refused, args=(tmp_path, f"spark-{name}")) for name in "abcd"]
    for child in children:
        child.start()
    for child in children:
        child.join(50)
        assert child.exitcode == 0

    ledger = make_ledger(tmp_path, Clock(), host=10)
    [host] = ledger.report("host")
    ledger.close()
    # The last reservation of 0.30 is refused when less than that is left.
    assert micro_usd(9.7) < host.cost <= micro_usd(10)


def test_a_process_killed_between_reserving_and_settling_has_spent_its_reservation(tmp_path: Path):
    ready = FORK.Event()
    child = FORK.Process(target=hold_and_wait, args=(tmp_path, ready))
    child.start()
    assert ready.wait(50)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join(50)

    ledger = make_ledger(tmp_path, Clock(), agent=10)
    ledger.settle_foreign("spark-claude", "p2")
    spent = ledger.spent_today("spark-claude")
    ledger.close()
    assert spent.cost_usd == 2
