"""The runner of an agent that speaks ACP."""

from culture.agent.backends.acp.profiles import choose
from culture.agent.backends.acp.session import AcpSession
from culture.agent.backends.jsonrpc_runner import JsonRpcRunner, Speaker
from culture.agent.backends.toolless import SessionModel
from culture.agent.contract import AgentRunnerBase, SessionSpec, ToollessModel


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    """Return a runner for an agent's session."""
    return _runner(spec, toolless=False)


def make_toolless(spec: SessionSpec) -> AgentRunnerBase:
    """Return a runner for a session without tools, as far as the agent can do without them."""
    return _runner(spec, toolless=True)


def make_model(spec: SessionSpec) -> ToollessModel:
    """Return a model for single calls without tools."""
    return SessionModel(spec, make_toolless)


def _runner(spec: SessionSpec, *, toolless: bool) -> AgentRunnerBase:
    # Before anyone connects to anything: no retry will change it.
    agent = choose(spec, toolless=toolless)
    speaker = Speaker(
        agent.name,
        agent.command,
        agent.install,
        lambda program, tell: AcpSession(program, agent, spec, tell),
        agent.setup.env,
        make_toolless=None if toolless else make_toolless,
    )
    return JsonRpcRunner(spec, speaker)
