"""The dialogue of the first design, word by word, and other ways to answer a question."""

import asyncio
import re

import pytest
from support.irc import connected

from culture.agent.questions.waiting import NotAnsweredError
from culture.config.agent.trust import TrustConfig
from culture.config.agent.webhooks import WebhooksConfig
from culture.errors import UsageError

pytestmark = pytest.mark.parametrize("ircd", [{"nick_policy": "open"}], indirect=True)

TEXT = "This will delete 47 files. Proceed? [y/N]"


def said(line: str) -> str:
    return line.partition(" PRIVMSG #general :")[2]


async def works(agent, ori, eventually, text: str) -> None:
    ori.send(f"PRIVMSG #general :@{agent.nick} {text}")
    await eventually(lambda: agent.prompts)


def ask(agent, text: str = TEXT, timeout: int = 60) -> "asyncio.Task[dict]":
    request = {"type": "irc_ask", "channel": "#general", "question": text, "timeout": timeout}
    return asyncio.create_task(agent.daemon.handle(request))


@pytest.fixture
async def agent(make_agent, eventually):
    agent = make_agent("spark-culture", webhooks=WebhooksConfig(irc_channel="#alerts"))
    agent.nick = "spark-culture"
    async with agent.running():
        await eventually(agent.is_present)
        yield agent


async def test_the_dialogue_of_the_first_design(agent, ori, other_agent, eventually):
    await works(agent, ori, eventually, "cleanup stale branches")
    agent.runner.side_answers = ["12 are in merged branches, 35 are temp build artifacts."]
    async with other_agent("thor-claude") as thor:
        asking = ask(agent)

        assert said(await ori.until("PRIVMSG")) == '[QUESTION] Task "cleanup stale branches" needs input:'
        assert said(await ori.until("PRIVMSG")) == f'"{TEXT}"'
        waiting = "Waiting for response. Reply with: @spark-culture yes/no/abort"
        assert said(await ori.until("PRIVMSG")) == waiting
        await thor.until(waiting)

        thor.send("PRIVMSG #general :@spark-culture which files? Are any of them in active branches?")
        answer = "[ANSWER] 12 are in merged branches, 35 are temp build artifacts."
        assert said(await ori.until("[ANSWER]")) == answer
        assert "<thor-claude>" in agent.runner.asides[0]

        thor.send("PRIVMSG #general :@spark-culture looks safe, yes")
        await ori.until("looks safe, yes")
        assert not asking.done()
        ori.send("PRIVMSG #general :@spark-culture yes, go ahead")

        given = await asking
    assert (given["nick"], given["choice"], given["authority"]) == ("spark-ori", "yes", "person")
    assert agent.prompts == ["[IRC @mention in #general] <spark-ori> @spark-culture cleanup stale branches"]
    events = [row.event for row in agent.file.audit.rows()]
    assert events == ["asked", "vote", "vote", "answered", "delivered"]
    assert agent.file.audit.problems() == []
    # What the side session cost is booked.
    assert agent.daemon.costs.figures()["total"]["output_tokens"] == 10


async def test_an_answer_in_private_is_announced_in_the_channel(agent, ori, eventually):
    await works(agent, ori, eventually, "tidy up")
    asking = ask(agent)
    await ori.until("Reply with:")

    ori.send("PRIVMSG spark-culture :no")

    assert (await asking)["choice"] == "no"
    told = await ori.until("[ANSWERED]")
    assert re.search(
        r"NOTICE #general :\[ANSWERED\] Question q\w{3} has an answer: no, by spark-ori \(person\)", told
    )


async def test_of_two_answers_in_the_same_instant_one_counts(agent, ori, person, eventually):
    await works(agent, ori, eventually, "tidy up")
    async with person("bo") as bo:
        asking = ask(agent)
        await ori.until("Reply with:")
        [row] = agent.daemon.operations.question_rows()

        ori.send("PRIVMSG #general :@spark-culture yes")
        bo.send("PRIVMSG #general :@spark-culture no")

        given = await asking
        told = await bo.until("[ANSWERED]")
    assert given["nick"] in ("spark-ori", "spark-bo")
    assert f"by {given['nick']} (person)" in told
    assert [each.event for each in agent.file.audit.rows()].count("answered") == 1
    assert len(agent.prompts) == 1
    with pytest.raises(UsageError, match=r"was answered already: (yes|no), by spark-"):
        await agent.daemon.handle({"type": "answer", "question": row["id"], "text": "yes", "who": "root"})


async def test_several_open_decisions_need_an_id(agent, ori, eventually):
    await works(agent, ori, eventually, "tidy up")
    first, second = ask(agent, "one? [y/N]"), ask(agent, "two? [y/N]")
    await ori.until("Reply with:")
    await ori.until("Reply with:")
    one, two = (row["id"] for row in agent.daemon.operations.question_rows())

    ori.send("PRIVMSG #general :@spark-culture yes")
    assert f"several questions are open: {one}, {two}" in await ori.until("NOTICE")
    ori.send(f"PRIVMSG #general :@spark-culture yes {two}")
    assert (await second)["choice"] == "yes"
    assert not first.done()
    ori.send("PRIVMSG #general :@spark-culture no")
    assert (await first)["choice"] == "no"


@pytest.mark.parametrize("answer", ["yes", "@spark-culture yes"])
async def test_nobody_decides_without_proof(ircd, agent, ori, eventually, answer):
    """A bot without an account, a relayed nick, a quoted msgid, and the asking agent itself."""
    await works(agent, ori, eventually, "tidy up")
    asking = ask(agent)
    await ori.until("Reply with:")
    [question] = agent.file.questions.open()
    async with connected(ircd.port, "spark-bot", "#general", caps="message-tags draft/relaymsg") as bot:
        bot.send("MODE spark-bot +B", "PING bot")
        await bot.until("PONG")
        bot.send(f"@+draft/reply={question.msgids[0]} PRIVMSG #general :{answer}")
        assert "your answer does not count" in await bot.until("NOTICE #general")
        bot.send(f"@account=ori;agentirc.dev/sender=person PRIVMSG #general :{answer}", "NICK spark-ori2")
        bot.send(f"RELAYMSG #general ori/irc :{answer}", f"PRIVMSG spark-culture :{answer}", "PING end")
        await bot.until("PONG")
    assert not asking.done()
    await agent.daemon.handle({"type": "irc_send", "channel": "#general", "message": answer})
    await eventually(lambda: len(agent.file.hearing.own) > 1)
    assert agent.file.questions.votes(question.id) == []
    ori.send("PRIVMSG #general :@spark-culture abort")
    assert (await asking)["choice"] == "abort"


async def test_two_agents_decide_by_vote_when_the_window_has_passed(
    ircd, make_agent, ori, other_agent, eventually
):
    agent = make_agent("spark-culture", trust=TrustConfig(agents="vote", quorum=2, window="1s"))
    agent.nick = "spark-culture"
    async with agent.running():
        await eventually(agent.is_present)
        await works(agent, ori, eventually, "tidy up")
        async with (
            other_agent("thor-claude") as thor,
            other_agent("orin-codex") as orin,
            connected(ircd.port, "orin-guest", "#general") as guest,
        ):
            asking = ask(agent)
            await orin.until("Reply with:")
            for client in (guest, thor, orin):
                client.send("PRIVMSG #general :@spark-culture yes")
            given = await asking
    assert (given["choice"], given["authority"]) == ("yes", "vote")
    assert sorted(given["nick"].split(", ")) == ["orin-codex", "thor-claude"]


@pytest.mark.parametrize("action", ["pause", "deny", "abort"])
async def test_the_timeout_decides_only_what_the_agent_does_meanwhile(make_agent, ori, eventually, action):
    agent = make_agent("spark-culture", trust=TrustConfig(timeout="1s", timeout_action=action))
    agent.nick = "spark-culture"
    async with agent.running():
        await eventually(agent.is_present)
        await works(agent, ori, eventually, "tidy up")
        asking = ask(agent)
        await ori.until("Reply with:")
        await eventually(lambda: "timed-out" in [row.event for row in agent.file.audit.rows()])
        if action == "pause":
            assert not asking.done()
        else:
            with pytest.raises(NotAnsweredError, match=r"nobody answered question q\w+ within 1s"):
                await asking
        assert len(agent.file.questions.open()) == 1

        ori.send("PRIVMSG #general :@spark-culture yes")
        if action == "pause":
            assert (await asking)["choice"] == "yes"
        else:
            await eventually(lambda: len(agent.states()) == 2)
            if action == "deny":
                await agent.runner.ends_turn()
            await eventually(lambda: len(agent.prompts) == 2)
            assert re.match(
                r"\[IRC answer to question q\w{3}\] <spark-ori> @spark-culture yes\n", agent.prompts[1]
            )
