"""What a locked-down agent may run. A real shell is asked whether what is allowed is what it seems."""

import os
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.agent.backend.permission import REFUSAL, decide, is_irc_command, only_irc, plain_words
from culture.agent.contract import PermissionRequest


@pytest.mark.parametrize(
    "command",
    [
        "irc send '#general' 'hello'",
        "irc send spark-ori hello there",
        'irc send "#general" "it is 5 o\'clock"',
        "irc send '#general' 'it'\\''s done'",
        "irc send '#general' 'it'\"'\"'s done'",
        "irc send '#general' '$HOME `id` $(id) ; rm -rf / && x | y > z'",
        'irc send "#general" "costs \\$5 and a \\`tick\\`"',
        "irc send '#general' 'two\nlines'",
        "irc read '#general' 20",
        "irc whoami",
        "irc --help",
        "irc",
        "  irc status\n",
    ],
)
def test_a_plain_call_of_the_skill_is_allowed(command):
    assert is_irc_command(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls",
        "irc send '#g' hi; rm -rf /",
        "irc send '#g' hi && rm -rf /",
        "irc send '#g' hi || rm -rf /",
        "irc send '#g' hi & rm -rf /",
        "irc send '#g' hi | sh",
        "irc send '#g' hi\nrm -rf /",
        "irc send '#g' \"$(cat /etc/shadow)\"",
        "irc send '#g' $(id)",
        "irc send '#g' `id`",
        "irc send '#g' \"`id`\"",
        "irc send '#g' \"$ANTHROPIC_API_KEY\"",
        "irc send '#g' $ANTHROPIC_API_KEY",
        "irc send '#g' ${HOME}",
        "irc send '#g' $'\\x41'",
        "irc send '#g' hi > /etc/passwd",
        "irc send '#g' - < /etc/shadow",
        "irc send '#g' <(id)",
        "irc send '#g' - <<EOF\nhi\nEOF",
        "irc send '#g' *",
        "irc send '#g' ~root",
        "irc send '#g' {a,b}",
        "irc send #general hi",
        "(irc send '#g' hi)",
        "! irc whoami",
        "PATH=/tmp irc whoami",
        "/tmp/irc whoami",
        "./irc whoami",
        "ircx whoami",
        "exec irc whoami",
        "irc --nick spark-other send '#g' hi",
        "irc send '#g' 'unclosed",
        'irc send "#g" "unclosed \\"',
        "irc send '#g' hi\\",
        "irc send '#g' hi\0",
        "irc send '#g' 'hi\0'",
    ],
)
def test_anything_else_is_refused(command):
    assert not is_irc_command(command)


@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), max_size=4))
def test_whatever_is_quoted_is_allowed_and_read_as_it_was_meant(arguments):
    words = ["irc", "send", *arguments]

    assert plain_words(shlex.join(words)) == words


@given(st.text("ab'\"\\$`;&|<>(){}*?#~! \n\t=", max_size=12))
def test_what_is_allowed_is_to_a_shell_exactly_what_it_seems(tail):
    command = f"irc send {tail}"
    words = plain_words(command.strip(" \t\n"))
    if words is None:
        return

    script = f"irc() {{ printf '%s\\0' irc \"$@\"; }}; {command}"
    shell = subprocess.run(
        ["/bin/bash", "-c", script], capture_output=True, timeout=10, env={"PATH": os.defpath}, check=False
    )

    assert shell.stdout.decode().split("\0")[:-1] == words
    assert shell.stderr == b""


TOUCH = PermissionRequest("Bash", "touch owned", {"command": "touch owned"})
SPEAK = PermissionRequest("irc_send", "", {"text": "hello"})


async def test_deny_lets_pass_the_skill_and_the_tools_of_the_daemon():
    judge = only_irc(["irc_send"])

    assert await judge(PermissionRequest("shell", "irc whoami", {})) == (True, "")
    assert await judge(SPEAK) == (True, "")
    assert await judge(TOUCH) == (False, REFUSAL)
    assert await only_irc()(SPEAK) == (False, REFUSAL)


async def test_without_a_judge_everything_may_be_done():
    assert await decide(None, TOUCH) == (True, "")
    assert await decide(only_irc(), TOUCH) == (False, REFUSAL)


async def test_what_cannot_be_judged_may_not_be_done(caplog):
    async def judge(request):
        raise RuntimeError("a bug of ours")

    allowed, reason = await decide(judge, TOUCH)

    assert not allowed
    assert reason.startswith("not allowed")
    assert "a bug of ours" in caplog.text
