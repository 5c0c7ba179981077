"""The key of the model is for the backend's program, and not for the commands that the agent runs."""

import pytest
from support.backends import CODEX_ACP, OPENCODE, ROWS, Row
from support.watched import ends

from culture.agent.backend.shell import make_shell
from culture.agent.backends.table import key_variables

pytestmark = pytest.mark.timeout(180)

ENVIRONMENT = """
rules:
  - {after_tool: any, answer: [{text: done}]}
  - {answer: [{run: [sh, -c, 'env > environment; echo written']}]}
"""
# Not cline, which does not always run its commands by the shell that it is given.
ALL = {**ROWS, "opencode": OPENCODE, "codex-acp": CODEX_ACP}


@pytest.fixture(
    params=[
        pytest.param(row, id=name, marks=[pytest.mark.slow] if row.is_installed else [])
        for name, row in ALL.items()
    ]
)
def row(request: pytest.FixtureRequest) -> Row:
    return request.param


async def test_commands_do_not_have_the_key_in_their_environment(start, spec, row, model, home, eventually):
    names = key_variables(row.agent, row.key_variable)
    assert any(spec.env.get(name) for name in names)
    model.play(ENVIRONMENT)
    shell = make_shell(home, names, spec.env["PATH"])
    # codex-acp runs some things unasked, and is not started with a judge.
    judge = None if row is CODEX_ACP else spec.judge
    agent = await start(secret_variables=names, env={**spec.env, **shell}, judge=judge)
    await agent.runner.send_prompt("go")

    [result] = await ends(agent, eventually)

    assert not result.failed, result
    has = dict(
        line.split("=", 1) for line in (home / "work/environment").read_text().splitlines() if "=" in line
    )
    assert has["CULTURE_NICK"] == "spark-agent"
    assert [name for name in names if has.get(name)] == []
