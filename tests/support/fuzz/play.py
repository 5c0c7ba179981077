"""A game with the server's core, in the place of the driver."""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from culture.ircd.auth.questions import AccountQuestion
from culture.ircd.delivery.queue import join_output
from culture.ircd.server import Ircd
from culture.ircd.session import Phase
from culture.ircd.skills import Skills
from culture.net.auth.accounts import StoredAccounts
from culture.skills.history.skill import History
from culture.store.accounts import Accounts
from culture.store.history.archive import Archive
from culture.store.passwords import Cost
from support.fuzz.configs import ACCOUNT, CONFIGS, OPER, PASSWORD
from support.fuzz.holds import check, check_leftovers, check_nobody_is_left
from support.fuzz.player import Player
from support.fuzz.steps import Step
from support.network import Network


class Unanswered(Network):
    """Where questions stay open until the game has them answered."""

    def answer(self) -> None: ...


class Game:
    def __init__(self, accounts: Accounts, skills: Skills) -> None:
        self._network = Unanswered(skills=skills)
        self._ircd: Ircd = self._network.ircd
        self.step(Step("reload", 0))
        self._authenticator = StoredAccounts(accounts)
        # Those that nobody has answered yet, as they would be in a thread.
        self._questions: list[AccountQuestion[Any]] = []
        self._players: dict[int, Player] = {}

    def here(self) -> list[int]:
        """Clients that the server has not closed."""
        return [n for n, player in self._players.items() if player.session.phase is not Phase.CLOSED]

    def step(self, step: Step) -> None:
        """A step of a client that is not there is none: others may have been taken out before it."""
        match step.act:
            case "connect":
                if step.number not in self._players:
                    self._players[step.number] = Player(self._network.connect())
            case "wait":
                self._network.clock.advance(step.number)
                self._ircd.tick()
            case "answer":
                for question in self._take_questions():
                    asked = self._authenticator if question.of == "accounts" else None
                    self._ircd.answered(question, question.ask(asked))
            case "fail":
                for question in self._take_questions():
                    self._ircd.unanswered(question)
            case "reload":
                self._ircd.reconfigure(CONFIGS[step.number], {OPER: PASSWORD})
            case "turn":
                self._turn()
            case "search":
                self._turn()
                check_leftovers(self._ircd)
            case _:
                if (player := self._players.get(step.number)) is not None:
                    self._play(player, step)

    def _play(self, player: Player, step: Step) -> None:
        match step.act:
            case "say":
                player.say(step.data)
            case "stall":
                player.is_stalled = True
            case "read":
                player.is_stalled = False
                player.read()
            case "drop":
                player.client.drop()
                del self._players[step.number]

    def _take_questions(self) -> list[AccountQuestion[Any]]:
        taken, self._questions = [*self._questions, *self._ircd.take_questions()], []
        return taken

    def end(self) -> None:
        """Everyone leaves, and nothing is left of them."""
        for number in list(self._players):
            self.step(Step("drop", number))
        self.step(Step("answer"))
        self._ircd.drain()
        self._ircd.delivered()
        check_nobody_is_left(self._ircd)

    def _turn(self) -> None:
        """As the driver does it: everyone who has something to read gets it."""
        while pending := self._ircd.drain():
            for number, player in list(self._players.items()):
                if player.session in pending:
                    self._flush(number, player, join_output(pending[player.session]))
        self._ircd.delivered()
        self._ircd.notes.take()
        self._questions += self._ircd.take_questions()
        check(self._ircd, self._players.values())

    def _flush(self, number: int, player: Player, output: bytes) -> None:
        if player.pipe:
            self._ircd.held_back(player.session, len(player.pipe))
        player.pipe += output
        if not player.is_stalled:
            player.read()
        if player.session.phase is Phase.CLOSED:
            assert player.is_stalled or player.reader.is_over, "closed without a last word"
            player.client.drop()
            del self._players[number]


@contextlib.contextmanager
def new_game() -> Iterator[Game]:
    with tempfile.TemporaryDirectory(prefix="culture-fuzz-") as name:
        directory = Path(name)
        accounts = Accounts(directory / "accounts.db", cost=Cost(scrypt_n=16, scram_iterations=1))
        accounts.add(ACCOUNT, PASSWORD)
        skills = Skills([History(Archive(directory), "spark")])
        try:
            yield Game(accounts, skills)
        finally:
            skills.close()


def play(next_steps: Callable[[Game], Iterable[Step]]) -> tuple[list[Step], Exception | None]:
    """The steps that were played, and what was wrong, if anything was."""
    played: list[Step] = []
    with new_game() as game:
        try:
            for step in next_steps(game):
                played.append(step)
                game.step(step)
            game.step(Step("turn"))
            game.end()
        except Exception as failure:
            return played, failure
    return played, None


def replay(steps: Iterable[Step]) -> Exception | None:
    return play(lambda game: steps)[1]
