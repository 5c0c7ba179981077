"""Ask people for permission before a tool call that the rules do not allow."""

import json
from typing import Final

from culture.agent.contract import DeferCall, Judge, PermissionRequest
from culture.agent.questions.questions import Questions
from culture.agent.questions.rules import PermissionRules
from culture.agent.questions.waiting import NotAnsweredError
from culture.agent.questions.wording import DECISION
from culture.client.splitting import one_line
from culture.protocol.plain_text import neutral
from culture.store.agent.questions import QuestionKind

# The longest part of a command or an input that a question quotes.
_QUOTED: Final = 400
DENIED: Final = "not allowed: a rule in `permissions:` of agents.yaml forbids it"


def asking_judge(rules: PermissionRules, questions: Questions) -> Judge:
    """Return a judge that follows the rules and asks people where they say so."""

    async def judge(request: PermissionRequest) -> tuple[bool, str]:
        match rules.verdict(request):
            case "allow":
                return True, ""
            case "deny":
                return False, DENIED
            case "ask":
                return await _ask(request, questions)

    return judge


async def _ask(request: PermissionRequest, questions: Questions) -> tuple[bool, str]:
    parameters = exact_parameters(request)
    if questions.use_permission(parameters):
        return True, ""
    if request.can_defer:
        questions.file(
            QuestionKind.PERMISSION,
            describe(request),
            options=DECISION,
            parameters=parameters,
            call=request.id,
        )
        raise DeferCall
    try:
        answer = await questions.ask(
            QuestionKind.PERMISSION, describe(request), options=DECISION, parameters=parameters
        )
    except NotAnsweredError as error:
        return False, f"not allowed: {error}; if the answer is yes later, it comes as a message"
    if answer.choice == "yes":
        return True, ""
    if answer.choice == "abort":
        questions.stop_turn(f"{answer.answered_by} answered abort to question {answer.id}")
    return False, f"not allowed: {answer.answered_by} answered: {answer.answer}"


def exact_parameters(request: PermissionRequest) -> str:
    """Return what is decided about, as JSON with sorted keys."""
    exact = {"tool": request.tool, "command": request.command, "input": dict(request.input)}
    return json.dumps(exact, ensure_ascii=False, sort_keys=True, default=str)


def describe(request: PermissionRequest) -> str:
    """Return the question whether a tool call is allowed. It says so if it does not quote all of the call."""
    if request.command:
        return f"May I run this command? {_quoted(request.command)} [y/N]"
    given = json.dumps(dict(request.input), ensure_ascii=False, sort_keys=True, default=str)
    return f"May I use {request.tool}? {_quoted(given)} [y/N]"


def _quoted(text: str) -> str:
    line = neutral(one_line(text))
    if len(line) <= _QUOTED:
        return line
    rest = "all of it: culturectl questions --json"
    return f"{line[:_QUOTED]} … ({len(line) - _QUOTED} more characters; {rest})"
