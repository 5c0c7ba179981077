"""Derive the settings of a judge's model calls from the configuration and from the agent's own session."""

from dataclasses import replace

from culture.agent.backends.table import KEY_VARIABLES, key_variables
from culture.agent.contract import SessionSpec
from culture.config.agent.supervisor import SupervisorConfig
from culture.config.agent.thinking import effort_of
from culture.config.agents import AgentConfig


def judge_session(
    settings: SupervisorConfig, agent: AgentConfig, spec: SessionSpec, key: str
) -> tuple[str, SessionSpec]:
    """Return the backend of the judge and the settings of its calls.

    `spec` is the agent's own session. `key` is the judge's key; empty: the agent's key if both have the same
    backend, otherwise the backend's own login.
    """
    backend = settings.agent or agent.agent
    is_same = backend == agent.agent
    own_keys = key_variables(agent.agent, agent.key_variable)
    env = dict(spec.env) if is_same else {k: v for k, v in spec.env.items() if k not in own_keys}
    if key:
        env[(agent.key_variable if is_same else "") or KEY_VARIABLES[backend]] = key
    return backend, replace(
        spec,
        briefing="",
        env=env,
        model=settings.model or (agent.model if is_same else ""),
        thinking=effort_of(settings.thinking),
        judge=None,
        secret_variables=own_keys if is_same else key_variables(backend, ""),
        command=spec.command if is_same else agent.acp_command if backend == "acp" else (),
        tools=(),
        resume="",
    )
