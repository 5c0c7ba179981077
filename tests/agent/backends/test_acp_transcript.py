"""What ACP agents report, as they have been seen to report it."""

from culture.agent.backends.acp.transcript import Transcript


def text(words: str, message_id: str | None = None, kind: str = "message") -> dict:
    update = {"sessionUpdate": f"agent_{kind}_chunk", "content": {"type": "text", "text": words}}
    return {**update, "messageId": message_id} if message_id else update


def call(call_id: str, *, update: bool = False, **more) -> dict:
    return {"sessionUpdate": "tool_call_update" if update else "tool_call", "toolCallId": call_id, **more}


def messages(*updates: dict) -> list[list[dict]]:
    transcript = Transcript("m")
    told = [transcript.add(update) for update in updates]
    return [message["content"] for message in [*told, transcript.rest()] if message]


def test_text_in_pieces_is_one_text():
    assert messages(text("hel"), text(""), text("lo")) == [[{"type": "text", "text": "hello"}]]


def test_another_message_is_another_message():
    assert messages(text("Warning"), text("hello", "m1"), text(" there", "m1")) == [
        [{"type": "text", "text": "Warning"}],
        [{"type": "text", "text": "hello there"}],
    ]


def test_a_thought_and_what_follows_it_are_two_blocks_of_one_message():
    assert messages(text("hm", kind="thought"), text("yes")) == [
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]
    ]


def test_a_tool_call_is_told_when_its_input_is_there():
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    assert messages(
        text("I look"),
        call("t1", name="Bash", title="Terminal", kind="execute", rawInput={}, status="pending"),
        call("t1", update=True, rawInput={"command": "ls"}, title="ls"),
        call("t1", update=True, status="completed"),
        call("t1", update=True, rawOutput="a"),
        text("done"),
    ) == [[{"type": "text", "text": "I look"}, use], [{"type": "text", "text": "done"}]]


def test_a_tool_without_a_name_is_called_what_people_read():
    [[by_meta], [by_title], [by_kind]] = messages(
        call("a", _meta={"claudeCode": {"toolName": "Read"}}, title="x", status="completed"),
        call("b", title="bash", kind="execute", status="failed"),
        call("c", update=True, kind="think", status="completed"),
    )

    assert [by_meta["name"], by_title["name"], by_kind["name"]] == ["Read", "bash", "think"]


def test_what_is_no_content_tells_nothing():
    assert messages({"sessionUpdate": "plan", "entries": []}, {"sessionUpdate": "current_mode_update"}) == []
