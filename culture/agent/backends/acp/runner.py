"""The runner of an agent that speaks ACP."""

from culture.agent.backends.acp.profiles import choose
from culture.agent.backends.acp.session import AcpSession
from culture.agent.backends.jsonrpc_runner import JsonRpcRunner, Speaker
from culture.agent.contract import AgentRunnerBase, SessionSpec


def make_runner(spec: SessionSpec) -> AgentRunnerBase:
    # Before anyone connects to anything: no retry will change it.
    agent = choose(spec)
    speaker = Speaker(
        agent.name,
        agent.command,
        agent.install,
        lambda program, tell: AcpSession(program, agent, spec, tell),
        agent.setup.env,
    )
    return JsonRpcRunner(spec, speaker)
