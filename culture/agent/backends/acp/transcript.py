"""What an agent reports while it works, gathered into the messages of the contract.

It arrives in pieces (agentclientprotocol.com, prompt turn): text by the word, a tool call first without its
input and then with it. A message is whole when something of another kind follows.
"""

from collections.abc import Mapping
from typing import Any, Final

from culture.agent.contract import Message

Update = Mapping[str, Any]

_ENDED: Final = ("completed", "failed")


class Transcript:
    """`add` returns the message that the update made whole, `rest` what is left at the end."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._blocks: list[dict[str, Any]] = []
        self._message_id: str | None = None
        self._calls: dict[str, dict[str, Any]] = {}

    def add(self, update: Update) -> Message | None:
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                return self._text(update, "text")
            case "agent_thought_chunk":
                return self._text(update, "thinking")
            case "tool_call" | "tool_call_update":
                return self._tool(update)
            case _:
                return None

    def rest(self) -> Message | None:
        blocks, self._blocks, self._message_id = self._blocks, [], None
        return {"type": "assistant", "model": self._model, "content": blocks} if blocks else None

    def call(self, call_id: str) -> Mapping[str, Any]:
        """What is known of a tool call: its name and its input."""
        return self._calls.get(call_id, {})

    def _text(self, update: Update, kind: str) -> Message | None:
        text = update["content"].get("text", "")
        if not text:
            return None
        message_id = update.get("messageId")
        last = self._blocks[-1] if self._blocks else None
        if last is not None and last["type"] == kind and message_id == self._message_id:
            last[kind] += text
            return None
        is_another = last is not None and (last["type"] == "tool_use" or message_id != self._message_id)
        whole = self.rest() if is_another else None
        self._blocks.append({"type": kind, kind: text})
        self._message_id = message_id
        return whole

    def _tool(self, update: Update) -> Message | None:
        call_id = str(update["toolCallId"])
        call = self._calls.get(call_id)
        if call is None:
            call = {"type": "tool_use", "id": call_id, "name": _name(update), "input": {}}
            self._calls[call_id] = call
            self._blocks.append(call)
        if isinstance(given := update.get("rawInput"), dict) and given:
            call["input"] = given
        return self.rest() if update.get("status") in _ENDED else None


def _name(update: Update) -> str:
    """By the tool's own name, where the agent tells it; else by what it says to people."""
    own = update.get("name") or (update.get("_meta") or {}).get("claudeCode", {}).get("toolName")
    return str(own or update.get("title") or update.get("kind") or "tool")
