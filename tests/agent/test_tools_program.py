"""A model that speaks by the daemon's tools, without a shell: culture-agent with the real Claude Code."""

import pytest
from support.irc import connected
from support.program import Program

pytestmark = pytest.mark.slow

BY_TOOLS = """
rules:
  - after_tool: mcp__culture__irc_ask
    answer:
      - tool: {name: mcp__culture__irc_send, input: {channel: "#general", message: "thank you\\n\\nI go on"}}
  - after_tool: any
    answer: [{text: done}]
  - answer:
      - tool:
          name: mcp__culture__irc_ask
          input: {channel: "#general", question: "which disk?", timeout: 60}
"""


async def test_a_model_asks_and_answers_without_a_shell(ircd, model, home):
    """Also one that may use the irc skill and nothing else."""
    model.play(BY_TOOLS)
    config = home / "agents.yaml"
    server = f"server: {{name: spark, port: {ircd.port}}}"
    config.write_text(f"{server}\nagents: [{{nick: spark-claude, permission_mode: deny}}]\n")
    words = ("spark-claude", "--config", str(config))
    agent = Program("culture.daemons.agent", *words, home=home, env=model.env)
    try:
        await agent.says("claude session started")
        async with connected(ircd.port, "spark-ori", "#general") as ori:
            ori.send("PRIVMSG #general :@spark-claude look at the disk")
            await ori.until(':"which disk?"')
            ori.send("PRIVMSG #general :@spark-claude the second one")
            await ori.until(":thank you")
            await ori.until(":I go on")
        await agent.says("turn .* answered after")
    finally:
        agent.stop()

    # The answer started no turn of its own.
    assert [prompt for prompt in model.prompts() if "second" in prompt] == []
