"""Connect the questions of an agent with its IRC client, its backend and its turns."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from culture.agent.backend.backend_runner import BackendRunner
from culture.agent.contract import Judge
from culture.agent.ledger.cost_control import AskToRaise, CostControl
from culture.agent.questions.actions import Actions
from culture.agent.questions.matching import Matcher
from culture.agent.questions.permission import asking_judge
from culture.agent.questions.questions import Questions
from culture.agent.questions.records import QuestionRecords
from culture.agent.questions.rules import PermissionRules
from culture.agent.questions.wording import DECISION
from culture.agent.reporting.notices import Notices
from culture.agent.tools.model_tools import TOOLS
from culture.agent.turns.interruption import Fate, Interruption
from culture.agent.turns.turn_loop import TurnLoop
from culture.agent.turns.turns import Turns
from culture.client.client import Client, Sent
from culture.client.events import Said
from culture.config.agent.trust import TrustConfig
from culture.config.agents import AgentConfig
from culture.store.agent.questions import QuestionKind, StoredQuestion
from culture.store.ledger.records import Scope


def make_questions(
    config: AgentConfig,
    trust: TrustConfig,
    people: tuple[str, ...],
    records: QuestionRecords,
    client: Client,
    backend: BackendRunner,
    turns: Turns,
    turn_loop: TurnLoop,
    notices: Notices,
    costs: CostControl,
    *,
    say: Callable[[str, str], Awaitable[Sent]],
    on_unread: Callable[[Said], None],
) -> Questions:
    """Return the questions of one agent. `say` sends a PRIVMSG as the agent."""

    async def post(place: str, text: str) -> Sent:
        with turn_loop.asking(place):
            return await say(place, text)

    async def ask_aside(prompt: str, question: StoredQuestion) -> str:
        with costs.account.side_session("aside", question.task) as session:
            answer = await backend.ask_aside(prompt, question.context)
            session.used(answer.usage, answer.cost_usd)
        return answer.text

    def raise_budget(question: StoredQuestion) -> None:
        if question.choice == "yes":
            budget = json.loads(question.parameters)
            costs.raise_budget(budget["scope"], budget["name"], question.answered_by, question.id)

    actions = Actions(
        own_nick=lambda: client.nick,
        post=post,
        notify=notices.say,
        alert=notices.alert,
        wake=turn_loop.wake,
        stop_turn=lambda why: _stop_turn(turn_loop, records, why),
        ask_aside=ask_aside,
        on_unread=on_unread,
    )
    return Questions(
        records,
        Matcher(lambda: client.nick, client.members, config.allow_from),
        trust,
        actions,
        turns,
        account=config.account or config.nick,
        people=people,
        home=config.channels[0] if config.channels else "",
        handlers={QuestionKind.BUDGET: raise_budget},
    )


def ask_to_raise(questions: Callable[[], Questions]) -> AskToRaise:
    """Return what asks people to raise a budget."""

    def ask(text: str, scope: Scope, name: str) -> None:
        budget = json.dumps({"scope": scope, "name": name}, sort_keys=True)
        questions().file(QuestionKind.BUDGET, text, options=DECISION, parameters=budget)

    return ask


def make_judge(config: AgentConfig, directory: Path, questions: Questions) -> Judge:
    """Return what decides on each tool call with permission_mode ask."""
    return asking_judge(PermissionRules(config.permissions, directory, TOOLS), questions)


def _stop_turn(turn_loop: TurnLoop, records: QuestionRecords, why: str) -> None:
    if turn_loop.interrupt(Interruption(why, Fate.STOPPED)) is not None:
        records.stop_messages(why)
