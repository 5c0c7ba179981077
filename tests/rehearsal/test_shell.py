"""Scripts say Bash; each CLI has its own tool for commands."""

import pytest

from culture.rehearsal.conversation import ToolOutput
from culture.rehearsal.reply import ReplyText, ToolCall
from culture.rehearsal.shell import in_own_words, result_of

RUN = (ReplyText("so:"), ToolCall("Bash", {"command": "irc whoami"}))


@pytest.mark.parametrize(
    ("offered", "called"),
    [
        ((), RUN[1]),
        (("Read", "Bash"), RUN[1]),
        (("write_stdin", "exec_command"), ToolCall("exec_command", {"cmd": "irc whoami"})),
        (("shell_command",), ToolCall("shell_command", {"command": "irc whoami"})),
        (("run_commands",), ToolCall("run_commands", {"commands": ["irc whoami"]})),
    ],
)
def test_a_command_goes_to_the_tool_for_commands_that_is_offered(offered, called):
    assert in_own_words(RUN, offered) == (RUN[0], called)


def test_other_tools_are_called_as_the_script_has_them():
    read = (ToolCall("Read", {"file_path": "/x"}),)

    assert in_own_words(read, ("exec_command",)) == read


def test_the_result_of_any_tool_for_commands_is_that_of_bash():
    output = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\na\nb\n"

    assert result_of("exec_command", {"cmd": "ls"}, output) == ToolOutput("Bash", "ls", "a\nb\n")
    assert result_of("bash", {"command": "ls"}, "a\n") == ToolOutput("Bash", "ls", "a\n")
    assert result_of("run_commands", {"commands": ["ls", "id"]}, "a") == ToolOutput("Bash", "ls\nid", "a")
    assert result_of("view_image", {"path": "x"}, "a") == ToolOutput("view_image", "", "a")


def test_what_only_looks_like_the_report_of_a_cli_is_output():
    looks = "Process exited with code 2\nOutput:\nx\n"

    assert result_of("Bash", {"command": "cat log"}, looks) == ToolOutput("Bash", "cat log", looks)
    assert result_of("exec_command", {"cmd": "x"}, f"said {looks}").output == f"said {looks}"


def test_how_it_ended_may_come_last():
    told = result_of("bash", {"command": "x"}, "a\nb\n<shellId: 1 completed with exit code 3>")

    assert told == ToolOutput("Bash", "x", "a\nb", has_failed=True)


def test_a_command_that_ended_badly_has_failed():
    output = "Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno such file\n"

    assert result_of("exec_command", {"cmd": "ls"}, output).has_failed
