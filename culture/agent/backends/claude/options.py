"""Convert the settings of a session to the options of claude-agent-sdk."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

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
from culture.agent.backends.claude import defer_hook, tools
from culture.agent.backends.claude.deferrals import Deferrals
from culture.agent.backends.program import LINE_BYTES
from culture.agent.contract import DeferCall, Effort, Judge, PermissionRequest, SessionSpec
from culture.errors import NotAllowedError

# Without a bound the CLI tries a refused key for three minutes before it says so.
_RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "4"}
# How long a judge may think: people answer days later. The CLI refuses the call afterwards.
_JUDGE_TIMEOUT_S: Final = 7 * 24 * 3600.0
# A tool-less call answers in a few sentences.
_MAX_OUTPUT_TOKENS: Final = "2000"


def make_options(
    spec: SessionSpec,
    cli: Path,
    briefing: Path,
    stderr: Callable[[str], None],
    env: Mapping[str, str],
) -> ClaudeAgentOptions:
    """Return the options of an agent's session.

    `briefing` is a file with the briefing of the spec. `env` is our own environment, which the CLI inherits.
    """
    options = _basic_options(spec, cli, stderr, env)
    options.system_prompt = {"type": "preset", "preset": "claude_code"}
    # By a file: on the command line it would fill the screen of every `systemctl status`.
    options.extra_args = {"append-system-prompt-file": str(briefing)}
    options.max_budget_usd = spec.max_budget_usd
    _set_effort(options, spec.thinking)
    if spec.tools:
        options.mcp_servers = {tools.SERVER: tools.make_server(spec.tools)}
        # Otherwise the model would have to look for them before it could use them.
        options.env["ENABLE_TOOL_SEARCH"] = "false"
    if spec.judge is None:
        # All that its user may do: the settings, skills and CLAUDE.md of the user and of the directory count.
        options.permission_mode = "bypassPermissions"
        return options
    deferrals = Deferrals(spec.deferrals) if spec.deferrals is not None else None
    _judge_calls(options, spec.judge, deferrals)
    if deferrals is not None:
        options.settings = deferrals.hook_settings()
    if spec.is_locked:
        _lock(options)
    return options


def make_toolless_options(
    spec: SessionSpec,
    cli: Path,
    system: Path,
    stderr: Callable[[str], None],
    env: Mapping[str, str],
) -> ClaudeAgentOptions:
    """Return the options of a session that answers once and has no tools: about 400 tokens of overhead.

    `system` is a file with the system prompt.
    """
    options = _basic_options(spec, cli, stderr, env)
    options.system_prompt = {"type": "file", "path": str(system)}
    options.tools = []
    options.setting_sources = []
    options.strict_mcp_config = True
    options.can_use_tool = _refuse
    options.max_turns = 1
    # Nobody resumes it.
    options.extra_args = {"no-session-persistence": None}
    options.env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = _MAX_OUTPUT_TOKENS
    _set_effort(options, spec.thinking)
    return options


def _basic_options(
    spec: SessionSpec, cli: Path, stderr: Callable[[str], None], env: Mapping[str, str]
) -> ClaudeAgentOptions:
    return ClaudeAgentOptions(
        cli_path=cli,
        cwd=spec.directory,
        env={**{name: env.get(name, value) for name, value in _RETRIES.items()}, **spec.env},
        model=spec.model or None,
        stderr=stderr,
        # The SDK's own bound is less than an image has.
        max_buffer_size=LINE_BYTES,
    )


def _set_effort(options: ClaudeAgentOptions, thinking: Effort) -> None:
    if thinking == "off":
        options.thinking = {"type": "disabled"}
    else:
        options.effort = thinking


def check_allowed(spec: SessionSpec, uid: int) -> None:
    """Raise NotAllowedError if the CLI would refuse to run: unbounded as root. It says so only on stderr."""
    if spec.judge is None and uid == 0:
        raise NotAllowedError(
            "claude does not run as root with permission_mode 'bypass'",
            hint="run the agent as another user, or set permission_mode: deny in agents.yaml",
        )


def _judge_calls(options: ClaudeAgentOptions, judge: Judge, deferrals: Deferrals | None) -> None:
    """Let nothing happen that was not judged: no settings that allow more, or run programs of their own."""
    options.setting_sources = []
    options.strict_mcp_config = True
    # The hook sees every call before any rule of the CLI does, which runs `ls` and the like unasked.
    hook = _asking(judge, deferrals)
    options.hooks = {"PreToolUse": [HookMatcher(hooks=[hook], timeout=_JUDGE_TIMEOUT_S)]}
    options.can_use_tool = _refuse


def _lock(options: ClaudeAgentOptions) -> None:
    # A shell, and what the daemon offers: all its other tools would fill 9,500 tokens of each request.
    options.tools = ["Bash"]
    # A command in the background wakes the model again when it ends, unasked; the skill has no use for it.
    options.env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"


def _asking(judge: Judge, deferrals: Deferrals | None) -> HookCallback:
    async def ask(call: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        assert call["hook_event_name"] == "PreToolUse"
        id = tool_use_id or ""
        if deferrals is not None and deferrals.knows(id):
            # A resumed session repeats the call; the hook program has the answer, or defers it again.
            return {}
        request = _request(call["tool_name"], call["tool_input"], id, can_defer=deferrals is not None)
        try:
            allowed, reason = await decide(judge, request)
        except DeferCall:
            assert deferrals is not None
            deferrals.defer(id)
            return cast(HookJSONOutput, defer_hook.verdict("defer", "", call))
        return cast(HookJSONOutput, defer_hook.verdict("allow" if allowed else "deny", reason, call))

    return ask


def _request(tool: str, given: Mapping[str, Any], id: str, *, can_defer: bool) -> PermissionRequest:
    command = str(given.get("command", "")) if tool == "Bash" else ""
    can_defer = can_defer and defer_hook.is_call_id(id)
    return PermissionRequest(tools.own_name(tool), command, given, id, can_defer)


async def _refuse(tool: str, call: dict[str, Any], context: ToolPermissionContext) -> PermissionResultDeny:
    """Refuse what reaches this callback: the hook did not allow it."""
    return PermissionResultDeny(message="not allowed")
