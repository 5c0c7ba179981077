"""A turn that ends with text, and said nothing on IRC, posts that text where it was asked."""

import asyncio

import pytest
from support.irc import connected

from culture.agent.contract import Assistant, Text, ToolUse
from culture.agent.turns.final_text import MAX_BYTES, MAX_LINES, truncated
from culture.store.agent.transcript import reading_transcript


async def asked(agent, ori, eventually, text: str, target: str = "#general") -> None:
    count = len(agent.prompts)
    ori.send(f"PRIVMSG {target} :{text}")
    await eventually(lambda: len(agent.prompts) > count)


async def test_what_the_model_wrote_last_is_said_where_it_was_asked(agent, ori, eventually):
    await asked(agent, ori, eventually, "spark-claude: look at the disk")
    await agent.runner.says("let me see")
    await agent.runner.uses_a_tool(command="df")
    await agent.runner.tool_returns("91%")
    await agent.runner.says("It is nearly full.")
    assert agent.states() == ["injected"]
    await agent.runner.ends_turn()

    assert (await ori.until("PRIVMSG")).endswith("PRIVMSG #general :It is nearly full.")
    await eventually(lambda: agent.states() == ["answered"])
    assert "last answered in" in agent.daemon.operations.status()


async def test_all_of_it_is_in_the_transcript(agent, ori, home, eventually):
    await asked(agent, ori, eventually, "spark-claude: look at the disk")
    with reading_transcript(home / "spark-claude") as reader:
        await agent.runner.uses_a_tool(command="df")
        [turn] = reader.turns()
        assert [step.kind for step in reader.steps(turn.number)] == ["prompt", "tool"]
        await agent.runner.tool_returns("91%", failed=True)
        await agent.runner.says("It is nearly full.")
        await agent.runner.ends_turn()
        await eventually(lambda: agent.states() == ["answered"])

        [turn] = reader.turns()
        assert (turn.senders, turn.place, turn.outcome) == ("spark-ori", "#general", "answered")
        prompt, tool, result, text = reader.steps(turn.number)
        assert prompt.text == agent.prompts[0]
        assert (tool.name, tool.text) == ("Bash", '{"command": "df"}')
        assert (result.text, result.call, result.failed) == ("91%", tool.call, True)
        assert text.text == "It is nearly full."

        # A turn that nobody asked for has a place of its own.
        await agent.runner.says("a job has ended")
        await agent.runner.ends_turn(asked=False)
        assert [(each.id, each.outcome) for each in reader.turns()[1:]] == [("unasked", "silent")]


async def test_what_tools_return_is_not_in_the_journal(agent, ori, eventually, caplog):
    caplog.set_level("INFO")
    await asked(agent, ori, eventually, "spark-claude: look")
    await agent.runner.uses_a_tool(command="cat secret")
    await agent.runner.tool_returns("the secret content")
    await agent.runner.says("no secret content")
    await agent.runner.ends_turn()
    await eventually(lambda: agent.states() == ["answered"])

    assert "turn" in caplog.text
    assert "secret" not in caplog.text


async def test_a_direct_message_is_answered_in_private(agent, ori, eventually):
    await asked(agent, ori, eventually, "hello", "spark-claude")
    await agent.runner.says("Hello yourself.\nHow are you?")
    await agent.runner.ends_turn()

    assert (await ori.until("PRIVMSG")).endswith("PRIVMSG spark-ori :Hello yourself.")
    assert (await ori.until("PRIVMSG")).endswith("PRIVMSG spark-ori :How are you?")
    await eventually(lambda: agent.states() == ["answered"])


async def test_who_has_spoken_is_not_quoted(agent, ori, eventually):
    await asked(agent, ori, eventually, "@spark-claude hello")
    await agent.daemon.handle({"type": "irc_send", "channel": "#general", "message": "hello"})
    await agent.runner.says("I have answered on IRC.")
    await agent.runner.ends_turn()
    await eventually(lambda: agent.states() == ["answered"])

    await asked(agent, ori, eventually, "@spark-claude again")
    await agent.runner.says("second")
    await agent.runner.ends_turn()
    assert (await ori.until("PRIVMSG")).endswith(":hello")
    assert (await ori.until("PRIVMSG")).endswith(":second")


async def test_who_asked_back_has_not_answered(agent, ori, eventually):
    await asked(agent, ori, eventually, "@spark-claude delete it")
    ask = {"type": "irc_ask", "channel": "#general", "question": "spark-ori: which one?", "timeout": 20}
    asking = asyncio.create_task(agent.daemon.handle(ask))
    await ori.until(':"spark-ori: which one?"')
    await ori.until("Waiting for response from @spark-ori. Reply with: @spark-claude your answer")
    assert agent.states() == ["injected"]
    ori.send("PRIVMSG #general :spark-claude: the second one")
    assert (await asking)["text"] == "spark-claude: the second one"

    await agent.runner.says("It is deleted.")
    await agent.runner.ends_turn()

    assert (await ori.until("PRIVMSG")).endswith(":It is deleted.")
    await eventually(lambda: agent.states() == ["answered"])


@pytest.mark.parametrize("text", ["", " \n "])
async def test_a_turn_without_a_word_is_not_called_answered(agent, ori, eventually, text):
    await asked(agent, ori, eventually, "@spark-claude hello")
    await agent.runner.says("let me see")
    await agent.runner.uses_a_tool()
    if text:
        await agent.runner.says(text)
    await agent.runner.ends_turn()

    await eventually(lambda: agent.states() == ["silent"])


async def test_the_text_of_a_failed_turn_is_not_said(agent, ori, eventually):
    await asked(agent, ori, eventually, "@spark-claude hello")
    await agent.runner.says("half a")
    await agent.runner.ends_turn("the model is overloaded")

    assert "failed: the model is overloaded" in await ori.until("#general :")


async def test_what_a_sub_agent_says_is_not_the_answer(agent, ori, eventually):
    await asked(agent, ori, eventually, "@spark-claude hello")
    await agent.runner.on_message(Assistant("m", (Text("to my own agent"), ToolUse("t", "Task", {}))))
    await agent.runner.on_message(Assistant("m", (Text("from a sub-agent"),), parent="t"))
    await agent.runner.ends_turn()

    await eventually(lambda: agent.states() == ["silent"])


async def test_an_agent_in_private_gets_a_notice_which_wakes_nobody(ircd, agent, eventually):
    async with connected(ircd.port, "spark-codex") as other:
        other.send("MODE spark-codex +B")
        await other.until("MODE")
        await asked(agent, other, eventually, "thank you", "spark-claude")
        await agent.runner.says("You are welcome.")
        await agent.runner.ends_turn()

        assert "NOTICE spark-codex :You are welcome." in await other.until("You are welcome.")
    await eventually(lambda: agent.states() == ["answered"])


async def test_an_answer_that_cannot_be_said_is_not_called_answered(ircd, agent, eventually):
    async with connected(ircd.port, "spark-bo") as bo:
        await asked(agent, bo, eventually, "hello", "spark-claude")
        bo.send("QUIT")
        await bo.until("ERROR")
    await agent.runner.says("Hello yourself.")
    await agent.runner.ends_turn()

    await eventually(lambda: agent.states() == ["expired"])
    [row] = agent.daemon.operations.queue_rows()
    assert row["note"].startswith("the answer could not be sent: 'spark-bo': No such nick")


def test_a_long_text_is_cut():
    assert truncated("a\nb") == "a\nb"
    lines = truncated("a\n" * 1000).splitlines()
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "[truncated: culturectl log shows the rest]"
    assert len(truncated("é" * 40_000).encode()) < MAX_BYTES + 100
