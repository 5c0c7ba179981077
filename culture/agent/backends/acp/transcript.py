"""Gather what an ACP agent reports while it works into the messages of the contract.

It arrives in pieces (agentclientprotocol.com, prompt turn): text by the word, a tool call first without its
input and then with it, its output in updates. A message is whole when something of another kind follows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from culture.agent.backends.acp.tools import own_name
from culture.agent.contract import Assistant, Block, Message, Text, Thinking, ToolResult, ToolUse

Update = Mapping[str, Any]

_ENDED: Final = ("completed", "failed")
# Some agents have no word for a tool that runs; while it is pending, the input may be half of it.
_RUNNING: Final = ("in_progress", None)


@dataclass(slots=True)
class _Words:
    kind: type[Text] | type[Thinking]
    text: str

    def block(self) -> Block:
        return self.kind(self.text)


@dataclass(slots=True)
class Call:
    """What is known of a tool call so far."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    is_told: bool = False
    has_ended: bool = False

    def block(self) -> Block:
        return ToolUse(self.id, own_name(self.name), self.input)


class AcpTranscript:
    """Collects updates: `add` returns the messages that are whole now, `rest` those left at the end."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._parts: list[_Words | Call] = []
        self._message_id: str | None = None
        self._calls: dict[str, Call] = {}

    def add(self, update: Update) -> list[Message]:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                return self._words(update, Text)
            case "agent_thought_chunk":
                return self._words(update, Thinking)
            case "tool_call" | "tool_call_update":
                return self._tool(update)
            case _:
                return []

    def rest(self) -> list[Message]:
        parts, self._parts, self._message_id = self._parts, [], None
        for part in parts:
            if isinstance(part, Call):
                part.is_told = True
        return [Assistant(self._model, tuple(part.block() for part in parts))] if parts else []

    def call(self, call_id: str) -> Call | None:
        return self._calls.get(call_id)

    def _words(self, update: Update, kind: type[Text] | type[Thinking]) -> list[Message]:
        text = update["content"].get("text", "")
        if not text:
            return []
        message_id = update.get("messageId")
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Words) and last.kind is kind and message_id == self._message_id:
            last.text += text
            return []
        is_another = isinstance(last, Call) or (last is not None and message_id != self._message_id)
        whole = self.rest() if is_another else []
        self._parts.append(_Words(kind, text))
        self._message_id = message_id
        return whole

    def _tool(self, update: Update) -> list[Message]:
        call_id = str(update["toolCallId"])
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = Call(call_id, _name(update))
            self._parts.append(call)
        if isinstance(given := update.get("rawInput"), dict) and given:
            call.input = given
        call.output = _output(update) or call.output + _terminal_output(update)
        status = update.get("status")
        begun = self._began(call) if status in _RUNNING and call.input else []
        if status not in _ENDED or call.has_ended:
            return begun
        call.has_ended = True
        return [*begun, *self._began(call), ToolResult(call_id, call.output, status == "failed")]

    def _began(self, call: Call) -> list[Message]:
        """Tell of a call whose input is whole, behind what was said before it; other calls keep waiting."""
        if call.is_told:
            return []
        held = [part for part in self._parts if isinstance(part, Call) and part is not call]
        self._parts = [part for part in self._parts if part not in held]
        whole = self.rest()
        self._parts = [*held]
        return whole


def _name(update: Update) -> str:
    """Return the tool's own name if the agent tells it, otherwise its title for people."""
    own = update.get("name") or (update.get("_meta") or {}).get("claudeCode", {}).get("toolName")
    return str(own or update.get("title") or update.get("kind") or "tool")


def _output(update: Update) -> str:
    """Return what a tool call has returned so far, in place of what came before (schema, ToolCallUpdate)."""
    raw = update.get("rawOutput")
    if isinstance(raw, str):
        # The content is the same with Markdown around it.
        return raw
    parts = [_part(part) for part in update.get("content") or ()]
    return "\n".join(filter(None, parts)) or _raw(raw)


def _part(part: Mapping[str, Any]) -> str:
    match part:
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            return text
        case {"type": "diff", "path": path}:
            return f"[changed {path}]"
        case _:
            return ""


def _raw(output: Any) -> str:
    """Return the text in an agent's own form of output."""
    match output:
        case None:
            return ""
        case {"output": str(text)} | {"formatted_output": str(text)} | {"result": str(text)}:
            return text
        case [*parts] if parts and all(isinstance(part, dict) for part in parts):
            return "\n".join(map(_raw, parts))
        case _:
            return json.dumps(output, ensure_ascii=False)


def _terminal_output(update: Update) -> str:
    """Return a piece of a command's output, as codex-acp reports it."""
    match update.get("_meta"):
        case {"terminal_output_delta": {"data": str(data)}} | {"terminal_output": {"data": str(data)}}:
            return data
        case _:
            return ""
