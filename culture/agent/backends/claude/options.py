"""A session's specification, as the options of claude-agent-sdk."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookCallback,
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    PermissionResultDeny,
    ToolPermissionContext,
)

from culture.agent.backend.permission import decide
from culture.agent.backends.claude import tools
from culture.agent.backends.program import LINE_BYTES
from culture.agent.contract import Judge, PermissionRequest, SessionSpec
from culture.errors import NotAllowedError

# Without a bound the CLI tries a refused key for three minutes before it says so.
_RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "4"}


def make_options(
    spec: SessionSpec,
    cli: Path,
    briefing: Path,
    stderr: Callable[[str], None],
    env: Mapping[str, str],
) -> ClaudeAgentOptions:
    """`briefing` is a file with that of the spec, `env` our own environment, which the CLI inherits."""
    options = ClaudeAgentOptions(
        cli_path=cli,
        cwd=spec.directory,
        env={**{name: env.get(name, value) for name, value in _RETRIES.items()}, **spec.env},
        model=spec.model or None,
        system_prompt={"type": "preset", "preset": "claude_code"},
        # By a file: on the command line it would fill the screen of every `systemctl status`.
        extra_args={"append-system-prompt-file": str(briefing)},
        stderr=stderr,
        # The SDK's own bound is less than an image has.
        max_buffer_size=LINE_BYTES,
    )
    if spec.thinking == "off":
        options.thinking = {"type": "disabled"}
    else:
        options.effort = spec.thinking
    if spec.tools:
        options.mcp_servers = {tools.SERVER: tools.make_server(spec.tools)}
        # Otherwise the model would have to look for them before it could use them.
        options.env["ENABLE_TOOL_SEARCH"] = "false"
    if spec.judge is None:
        # All that its user may do: the settings, skills and CLAUDE.md of the user and of the directory count.
        options.permission_mode = "bypassPermissions"
    else:
        _lock(options, spec.judge)
    return options


def check_allowed(spec: SessionSpec, uid: int) -> None:
    """The CLI refuses to run unbounded as root, and says so only on its standard error."""
    if spec.judge is None and uid == 0:
        raise NotAllowedError(
            "claude does not run as root with permission_mode 'bypass'",
            hint="run the agent as another user, or set permission_mode: deny in agents.yaml",
        )


def _lock(options: ClaudeAgentOptions, judge: Judge) -> None:
    """Nothing happens that was not judged: no settings that allow more, or run programs of their own."""
    options.setting_sources = []
    options.strict_mcp_config = True
    # A shell, and what the daemon offers: all its other tools would fill 9,500 tokens of each request.
    options.tools = ["Bash"]
    # The hook sees every call before any rule of the CLI does, which runs `ls` and the like unasked.
    options.hooks = {"PreToolUse": [HookMatcher(hooks=[_asking(judge)])]}
    options.can_use_tool = _refuse
    # A command in the background wakes the model again when it ends, unasked; the skill has no use for it.
    options.env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"


def _asking(judge: Judge) -> HookCallback:
    async def ask(call: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        assert call["hook_event_name"] == "PreToolUse"
        allowed, reason = await decide(judge, _request(call["tool_name"], call["tool_input"]))
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow" if allowed else "deny",
                "permissionDecisionReason": reason,
            }
        }

    return ask


def _request(tool: str, given: Mapping[str, Any]) -> PermissionRequest:
    command = str(given.get("command", "")) if tool == "Bash" else ""
    return PermissionRequest(tools.own_name(tool), command, given)


async def _refuse(tool: str, call: dict[str, Any], context: ToolPermissionContext) -> PermissionResultDeny:
    """Whatever reaches it was not allowed by the hook."""
    return PermissionResultDeny(message="not allowed")
