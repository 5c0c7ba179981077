"""A session's specification, as the options of claude-agent-sdk."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    PermissionResultDeny,
    ToolPermissionContext,
)

from culture.agent.contract import SessionSpec
from culture.agent.permission import REFUSAL, is_irc_command
from culture.errors import NotAllowedError

# Without a bound the CLI tries a refused key for three minutes before it says so.
_RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "4"}


def make_options(
    spec: SessionSpec,
    cli: Path,
    session_id: str,
    briefing: Path,
    stderr: Callable[[str], None],
    env: Mapping[str, str],
) -> ClaudeAgentOptions:
    """`briefing` is a file with that of the spec, `env` our own environment, which the CLI inherits."""
    options = ClaudeAgentOptions(
        cli_path=cli,
        cwd=spec.directory,
        env={**{name: env.get(name, value) for name, value in _RETRIES.items()}, **spec.env},
        session_id=session_id,
        model=spec.model or None,
        system_prompt={"type": "preset", "preset": "claude_code"},
        # By a file: on the command line it would fill the screen of every `systemctl status`.
        extra_args={"append-system-prompt-file": str(briefing)},
        # Prompts come from IRC: `/compact` and `@/etc/passwd` in them are text.
        verbatim_prompts=True,
        stderr=stderr,
    )
    if spec.thinking == "off":
        options.thinking = {"type": "disabled"}
    else:
        options.effort = spec.thinking
    (_lock if spec.permission_mode == "deny" else _unlock)(options)
    return options


def check_allowed(spec: SessionSpec, uid: int) -> None:
    """The CLI refuses to run unbounded as root, and says so only on its standard error."""
    if spec.permission_mode == "bypass" and uid == 0:
        raise NotAllowedError(
            "claude does not run as root with permission_mode 'bypass'",
            hint="run the agent as another user, or set permission_mode: deny in agents.yaml",
        )


def _unlock(options: ClaudeAgentOptions) -> None:
    """All that its user may do: the settings, skills and CLAUDE.md of the user and of the directory count."""
    options.permission_mode = "bypassPermissions"


def _lock(options: ClaudeAgentOptions) -> None:
    """The irc skill and nothing else: no settings that could allow more, no tool but the one it needs."""
    options.setting_sources = []
    options.strict_mcp_config = True
    options.tools = ["Bash"]
    # The hook sees every call before any rule of the CLI does, which runs `ls` and the like unasked.
    options.hooks = {"PreToolUse": [HookMatcher(hooks=[_judge])]}
    options.can_use_tool = _refuse
    # A command in the background wakes the model again when it ends, unasked; the skill has no use for it.
    options.env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"


async def _judge(call: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
    assert call["hook_event_name"] == "PreToolUse"
    allowed = call["tool_name"] == "Bash" and is_irc_command(str(call["tool_input"].get("command", "")))
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow" if allowed else "deny",
            "permissionDecisionReason": "the irc skill" if allowed else REFUSAL,
        }
    }


async def _refuse(tool: str, call: dict[str, Any], context: ToolPermissionContext) -> PermissionResultDeny:
    """Whatever reaches it was not allowed by the hook."""
    return PermissionResultDeny(message=REFUSAL)
