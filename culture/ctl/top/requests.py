"""Carry out what a person asks for with a key of `culturectl top`."""

import subprocess

from culture.ctl import output
from culture.ctl.agent_call import ask, operator_name
from culture.ctl.questions import answer
from culture.ctl.top.controls import Request
from culture.errors import CultureError


def carry_out(request: Request) -> str:
    """Do what the verb of the same name does, and return one line that says what happened."""
    nick = request.nick
    try:
        match request.kind:
            case "pause":
                ask(nick, {"type": "pause", "why": f"by {operator_name()}", "interrupt": False})
                return f"paused {nick}; a running turn ends first"
            case "resume":
                was_paused = ask(nick, {"type": "resume"})["was_paused"]
                return f"{nick} goes on" if was_paused else f"{nick} was not paused"
            case "abort":
                was_working = ask(nick, {"type": "abort", "name": operator_name()})["was_working"]
                return f"stopped what {nick} worked on" if was_working else f"{nick} has nothing to stop"
            case "answer":
                answer(nick, request.question, request.text)
                return f"answered question {request.question} of {nick}"
            case "log" | "refresh" | "quit":
                return ""
    except CultureError as error:
        return _failure(error)


def follow_log(nick: str) -> str:
    """Run `culturectl log --follow` until the person ends it, and return why it failed, if it did."""
    # Imported here, because it takes long and only the log needs it.
    from culture.ctl.up.services import find_program

    try:
        program = find_program("culturectl")
        output.warn(f"the log of {nick}; Ctrl-C goes back to culturectl top")
        done = subprocess.run(
            [program, "log", nick, "--follow"],
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    except CultureError as error:
        return _failure(error)
    except OSError as error:
        return f"cannot run culturectl log: {error.strerror}"
    return " ".join(done.stderr.split()) if done.returncode > 0 else ""


def _failure(error: CultureError) -> str:
    return f"{error} (hint: {error.hint})" if error.hint else str(error)
