"""With `is_locked` false the judge decides on every tool of Claude Code, by its SDK and over ACP."""

import pytest
from support.backends import ROWS
from support.watched import OK, ends

pytestmark = pytest.mark.timeout(120)

TOOLS = {"Write": "{file_path: FILE, content: owned}", "Read": "{file_path: FILE}"}


@pytest.fixture(
    params=[ROWS["claude"], pytest.param(ROWS["acp"], marks=pytest.mark.slow)], ids=["claude", "acp"]
)
def row(request):
    return request.param


@pytest.mark.parametrize("tool", TOOLS)
async def test_each_call_is_judged(start, model, judge, home, eventually, tool):
    judge.refuses = True
    given = TOOLS[tool].replace("FILE", str(home / "work" / "notes"))
    model.play(
        f"rules: [{{after_tool: any, answer: [{{text: done}}]}},"
        f" {{answer: [{{tool: {{name: {tool}, input: {given}}}}}]}}]"
    )
    agent = await start("go", is_locked=False)
    await ends(agent, eventually)

    assert [request.tool for request in judge.asked] == [tool]
    assert not (home / "work" / "notes").exists()


async def test_the_usual_tools_are_offered(start, model, eventually):
    model.play(OK)
    agent = await start("go", is_locked=False)
    await ends(agent, eventually)

    assert {"Bash", "Edit", "Read", "Write"} <= set(model.server.asked[-1].request.conversation.tools)
