"""The scripted model: find the rule that answers a conversation, and carry it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from culture.rehearsal.conversation import ModelConversation, ToolOutput
from culture.rehearsal.reply import Delay, Drop, Fail, Reply, ReplyStep, ReplyText, Stall, ToolCall
from culture.rehearsal.script import (
    ANY_TOOL,
    LINES,
    OUTPUT,
    Script,
    ScriptRule,
    ScriptStep,
    ScriptUsage,
    compile_pattern,
)
from culture.rehearsal.template import COMMAND, fill, fill_input, fill_words

NO_RULE = "(rehearsal: no rule of the script answers this)"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model replies, with the token counts and the HTTP headers that the rule asks for."""

    # The name of the rule, or nothing when none fits.
    rule: str | None
    reply: Reply
    usage: ScriptUsage = field(default_factory=ScriptUsage)
    headers: Mapping[str, str] = field(default_factory=dict)


class Rehearsal:
    """A script, and how often each of its rules has answered."""

    def __init__(self, script: Script) -> None:
        self._rules = script.rules
        self._used = [0] * len(script.rules)

    def answer(self, conversation: ModelConversation) -> Answer:
        index = find_rule(self._rules, self._used, conversation)
        if index is None:
            return Answer(None, (ReplyText(NO_RULE),))
        self._used[index] += 1
        rule = self._rules[index]
        name, reply = rule.name or f"rule {index + 1}", reply_of(rule, conversation)
        return Answer(name, reply, rule.usage, rule.headers)


def find_rule(
    rules: Sequence[ScriptRule], used: Sequence[int], conversation: ModelConversation
) -> int | None:
    """Return the index of the first rule that fits and may still answer."""
    for index, (rule, times_used) in enumerate(zip(rules, used, strict=True)):
        if rule.times and times_used >= rule.times:
            continue
        if fits(rule, conversation):
            return index
    return None


def fits(rule: ScriptRule, conversation: ModelConversation) -> bool:
    return (
        _fits_result(rule, conversation.result)
        and _is_in(rule.model, conversation.model)
        and _is_in(rule.prompt, conversation.prompt)
    )


def _fits_result(rule: ScriptRule, result: ToolOutput | None) -> bool:
    if result is None or not rule.after_tool:
        return result is None and not rule.after_tool
    return (
        rule.after_tool in (ANY_TOOL, result.tool)
        and _is_in(rule.after_command, result.command)
        and (result.has_failed or not rule.after_failure)
    )


def _is_in(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).search(text) is not None


def reply_of(rule: ScriptRule, conversation: ModelConversation) -> Reply:
    values = values_for(rule, conversation)
    return tuple(_perform(step, values) for step in rule.answer)


def values_for(rule: ScriptRule, conversation: ModelConversation) -> dict[str, str]:
    """Return the values of the names in the rule's answer. A group that did not match is empty."""
    found = compile_pattern(rule.prompt).search(conversation.prompt)
    values = found.groupdict(default="") if found else {}
    if conversation.result is not None:
        output = conversation.result.output
        values |= {OUTPUT: output, LINES: str(len(output.strip("\n").split("\n")) if output else 0)}
    return values


def _perform(step: ScriptStep, values: Mapping[str, str]) -> ReplyStep:
    if step.text is not None:
        return ReplyText(fill(step.text, values))
    if step.run is not None:
        return ToolCall("Bash", {COMMAND: fill_words(step.run, values)})
    if step.tool is not None:
        return ToolCall(step.tool.name, fill_input(step.tool.input, values))
    if step.delay_s is not None:
        return Delay(step.delay_s)
    if step.error is not None:
        return Fail(step.error.status, step.error.message, step.error.type)
    return Drop() if step.drop else Stall()
