"""Remind a working agent to read its channels and to compact its context. This costs no model call."""

import json
import re
from typing import Final

from culture.agent.contract import Assistant, ContextChanged, Message, Result, ToolUse
from culture.config.agent.supervisor import HeartbeatConfig

# The tool, and the command in a shell.
_IRC_READ: Final = re.compile(r"\birc[ _]read\b|irc_read")


class Heartbeat:
    """Decides when an agent is reminded of what."""

    def __init__(self, config: HeartbeatConfig) -> None:
        self._config = config
        # When the agent last read its channels, was reminded of that, or began its turn.
        self._checked_at_s: float | None = None
        self._is_full = False

    def observe(self, message: Message, now_s: float) -> str:
        """Return the reminder that is due after this message; empty if there is none."""
        match message:
            case Assistant():
                return self._check_in(message, now_s)
            case Result():
                self._checked_at_s = None
                return self._compaction(message.context)
            case ContextChanged(error=""):
                self._is_full = False
        return ""

    def _check_in(self, message: Assistant, now_s: float) -> str:
        if self._checked_at_s is None or any(map(_reads_channels, message.tool_uses)):
            self._checked_at_s = now_s
        away_s = now_s - self._checked_at_s
        if not self._config.check_in_s or away_s < self._config.check_in_s:
            return ""
        self._checked_at_s = now_s
        return (
            f"You haven't checked your channels in {_in_words(away_s)}. "
            "Consider an irc read to see if there is relevant input."
        )

    def _compaction(self, share: float | None) -> str:
        is_full = bool(self._config.compact_at) and (share or 0) >= self._config.compact_at
        if not is_full or self._is_full:
            self._is_full = is_full
            return ""
        self._is_full = True
        return f"Your context is {100 * (share or 0):.0f} % full. Consider an irc compact before you go on."


def _reads_channels(use: ToolUse) -> bool:
    return bool(_IRC_READ.search(f"{use.name} {json.dumps(dict(use.input), default=str)}"))


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
