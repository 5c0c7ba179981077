"""What ACP agents report, as they have been seen to report it."""

import pytest

from culture.agent.backends.acp.transcript import AcpTranscript
from culture.agent.contract import Assistant, Block, Message, Text, Thinking, ToolResult, ToolUse


def text(words: str, message_id: str | None = None, kind: str = "message") -> dict:
    update = {"sessionUpdate": f"agent_{kind}_chunk", "content": {"type": "text", "text": words}}
    return {**update, "messageId": message_id} if message_id else update


def call(call_id: str, *, update: bool = False, **more) -> dict:
    return {"sessionUpdate": "tool_call_update" if update else "tool_call", "toolCallId": call_id, **more}


def everything(*updates: dict) -> list[Message]:
    transcript = AcpTranscript("m")
    told = [message for update in updates for message in transcript.add(update)]
    return [*told, *transcript.rest()]


def messages(*updates: dict) -> list[list[Block]]:
    return [list(message.content) for message in everything(*updates) if isinstance(message, Assistant)]


def test_text_in_pieces_is_one_text():
    assert messages(text("hel"), text(""), text("lo")) == [[Text("hello")]]


def test_another_message_is_another_message():
    assert messages(text("Warning"), text("hello", "m1"), text(" there", "m1")) == [
        [Text("Warning")],
        [Text("hello there")],
    ]


def test_a_thought_and_what_follows_it_are_two_blocks_of_one_message():
    assert messages(text("hm", kind="thought"), text("yes")) == [[Thinking("hm"), Text("yes")]]


def test_a_tool_call_is_told_when_its_input_is_there():
    use = ToolUse("t1", "Bash", {"command": "ls"})
    assert messages(
        text("I look"),
        call("t1", name="Bash", title="Terminal", kind="execute", rawInput={}, status="pending"),
        call("t1", update=True, rawInput={"command": "ls"}, title="ls"),
        call("t1", update=True, status="completed"),
        call("t1", update=True, rawOutput="a"),
        text("done"),
    ) == [[Text("I look"), use], [Text("done")]]


def test_a_tool_that_runs_is_told_before_it_returns():
    """As claude-agent-acp, opencode, cline and codex-acp report it."""
    transcript = AcpTranscript("m")
    use = ToolUse("t1", "bash", {"command": "ls"})
    assert transcript.add(call("t1", title="bash", rawInput={"cwd": "/"}, status="pending")) == []
    assert transcript.add(call("t2", title="read", rawInput={}, status="pending")) == []

    running = call("t1", update=True, rawInput={"command": "ls"}, status="in_progress")
    assert transcript.add(running) == [Assistant("m", (use,))]
    assert transcript.add(running) == []
    output = [{"type": "content", "content": {"type": "text", "text": "a\n"}}]
    assert transcript.add({**running, "content": output}) == []
    assert transcript.add(call("t1", update=True, status="completed")) == [ToolResult("t1", "a\n")]
    assert transcript.add(call("t1", update=True, status="completed")) == []

    assert transcript.add(call("t2", update=True, status="failed", rawOutput="no such file")) == [
        Assistant("m", (ToolUse("t2", "read", {}),)),
        ToolResult("t2", "no such file", failed=True),
    ]


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        ({"rawOutput": "out", "content": [{"type": "content", "content": {"type": "text"}}]}, "out"),
        ({"rawOutput": [{"query": "ls", "result": "a"}, {"query": "ls", "result": "b"}]}, "a\nb"),
        ({"rawOutput": {"output": "a", "metadata": {}}}, "a"),
        ({"rawOutput": {"odd": 1}}, '{"odd": 1}'),
        ({"content": [{"type": "diff", "path": "/x"}]}, "[changed /x]"),
        ({"_meta": {"terminal_output_delta": {"data": "a"}}}, "a"),
        ({"content": [{"type": "terminal", "terminalId": "t"}]}, ""),
    ],
)
def test_the_output_of_a_tool_is_found_where_the_agent_puts_it(ended, text):
    *_, returned = everything(call("t", title="bash", status="completed", **ended))
    assert returned == ToolResult("t", text)


def test_a_tool_without_a_name_is_called_what_people_read():
    [[by_meta], [by_title], [by_kind]] = messages(
        call("a", _meta={"claudeCode": {"toolName": "Read"}}, title="x", status="completed"),
        call("b", title="bash", kind="execute", status="failed"),
        call("c", update=True, kind="think", status="completed"),
    )

    assert [by_meta.name, by_title.name, by_kind.name] == ["Read", "bash", "think"]


def test_what_is_no_content_tells_nothing():
    assert messages({"sessionUpdate": "plan", "entries": []}, {"sessionUpdate": "current_mode_update"}) == []
