"""`culturectl top` in a real terminal, with a real server and scripted agents."""

import asyncio
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.irc import connected
from support.program import Program
from support.watched import processes

TESTS = Path(__file__).resolve().parents[1]
DEADLINE_S = 60.0

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Terminal:
    """A terminal of its own, typed at and looked at as a person would."""

    def __init__(self, home: Path) -> None:
        self._home = home

    async def tmux(self, *command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "-S", str(self._home / "tmux"), "-f", "/dev/null", *command),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(self._home), "LANG": "C.UTF-8"},
        )
        answer, _ = await process.communicate()
        return answer.decode()

    async def open(self, *variables: str, term: str = "screen-256color", before: str = "true") -> None:
        """Run culturectl top; the terminal shows its exit status when it has ended."""
        environment = " ".join((f"CULTURE_HOME={self._home}", f"TERM={term}", *variables))
        program = f"env {environment} {sys.executable} -m culture.ctl.main top"
        shell = f"{before}; {program}; echo ended with $?; exec cat"
        await self.tmux("new-session", "-d", "-x", "100", "-y", "30", shell)

    async def press(self, *keys: str) -> None:
        await self.tmux("send-keys", *keys)

    async def screen(self) -> str:
        return await self.tmux("capture-pane", "-p")

    async def shows(self, *parts: str) -> str:
        """The whole screen, as soon as it has all these texts."""
        screen = ""
        try:
            async with asyncio.timeout(DEADLINE_S):
                while True:
                    screen = await self.screen()
                    if all(part in screen for part in parts):
                        return screen
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{parts} is not on the screen:\n{screen}") from None

    async def select(self, name: str) -> None:
        """Move the mark to the row of an agent, as a person does who looks where both are."""
        rows = re.findall(r"^(>| ) (q\w+|spark-\w+) ", await self.screen(), re.MULTILINE)
        names = [row for _, row in rows]
        mark = next(index for index, (marked, _) in enumerate(rows) if marked == ">")
        steps = names.index(name) - mark
        await self.press(*["Down" if steps > 0 else "Up"] * abs(steps))
        await self.shows(f"> {name}")


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path: the name of a unix socket has room for 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="culture-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
async def terminal(home: Path) -> AsyncIterator[Terminal]:
    terminal = Terminal(home)
    yield terminal
    await terminal.tmux("kill-server")


class Host:
    """A server and the agents spark-asker and spark-worker; spark-gone does not run."""

    def __init__(self, port: int, asker: Program, worker: Program) -> None:
        self.port, self.asker, self.worker = port, asker, worker


@pytest.fixture
async def host(home: Path) -> AsyncIterator[Host]:
    (home / "ircd.yaml").write_text("name: spark\nlisten: ['127.0.0.1:0']\n")
    ircd = Program("culture.daemons.ircd", "--config", str(home / "ircd.yaml"), home=home)
    programs = [ircd]
    try:
        port = int((await ircd.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
        config = home / "agents.yaml"
        nicks = ("spark-asker", "spark-worker", "spark-gone")
        rows = "".join(f"  - {{nick: {nick}, permission_mode: deny}}\n" for nick in nicks)
        config.write_text(f"server: {{name: spark, port: {port}}}\nagents:\n{rows}")
        env = {"PYTHONPATH": str(TESTS)}
        for module, nick in (("support.asking", "spark-asker"), ("support.scripted", "spark-worker")):
            programs.append(Program(module, nick, "--config", str(config), home=home, env=env))
        for program in programs[1:]:
            await program.says("session started")
        yield Host(port, *programs[1:])
    finally:
        for program in reversed(programs):
            program.stop()


async def test_a_person_sees_answers_pauses_resumes_and_aborts(host: Host, terminal: Terminal):
    async with connected(host.port, "spark-ori", "#general") as ori:
        await terminal.open()
        await terminal.shows(
            "spark: 2 idle, 1 not running", "IDLE (2)", "NOT RUNNING (1)", "spark-gone", "no process answers"
        )

        ori.send("PRIVMSG #general :@spark-asker ask", "PRIVMSG #general :@spark-worker tool please")
        screen = await terminal.shows("QUESTIONS (1)", "Delete 47 files?", "NEEDS YOU (1)", "WORKING (1)")
        assert "[yes/no" in screen
        assert "Bash" in await terminal.shows("Bash")

        # A question is answered in the bottom line.
        await terminal.press("Home", "a")
        await terminal.shows("answer q", "(yes/no")
        await terminal.press("-l", "nox")
        await terminal.press("BSpace")
        await terminal.press("Enter")
        assert "got no" in await ori.until("got no")
        await terminal.shows("answered question", "IDLE (1)")

        # An agent is paused and resumed.
        await terminal.select("spark-asker")
        await terminal.press("p")
        await terminal.shows("WAITING (1)", "paused spark-asker")
        await terminal.press("r")
        await terminal.shows("IDLE (1)", "spark-asker goes on")

        # An abort needs a second key.
        await terminal.select("spark-worker")
        await terminal.press("x")
        await terminal.shows("abort the work of spark-worker for good? y/n")
        await terminal.press("n")
        await terminal.shows("WORKING (1)", "q quit")
        await terminal.press("x")
        await terminal.shows("for good? y/n")
        await terminal.press("y")
        await terminal.shows("stopped what spark-worker worked on", "IDLE (2)")

        await terminal.press("q")
        await terminal.shows("ended with 0")


async def test_the_log_takes_the_terminal_and_gives_it_back(host: Host, terminal: Terminal):
    async with connected(host.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-worker tool please")
        await terminal.open()
        await terminal.shows("WORKING (1)")
        await terminal.select("spark-worker")
        await terminal.press("l")
        await terminal.shows("Ctrl-C goes back to culturectl top", "asked: [IRC")
        await terminal.press("C-c")
        await terminal.shows("WORKING (1)", "> spark-worker", "q quit")

        # What has no log says so and leaves the screen as it was.
        await terminal.select("spark-gone")
        await terminal.press("l")
        await terminal.shows("there is no transcript of 'spark-gone'", "q quit")
        await terminal.press("C-c")
        await terminal.shows("ended with 0")


async def test_a_hung_agent_is_a_row_and_does_not_hold_up_the_screen(host: Host, terminal: Terminal):
    await terminal.open()
    await terminal.shows("IDLE (2)")
    host.worker.process.send_signal(signal.SIGSTOP)
    try:
        await terminal.shows("spark-worker  hung", "IDLE (1)", "its process does not answer")
        await terminal.tmux("resize-window", "-x", "60", "-y", "14")
        await terminal.shows("AGENT         SINCE   DOING")
        await terminal.tmux("resize-window", "-x", "120", "-y", "30")
        await terminal.shows("FULL   TODAY  DOING")
    finally:
        host.worker.process.send_signal(signal.SIGCONT)
    await terminal.shows("IDLE (2)")
    await terminal.press("C-c")
    await terminal.shows("ended with 0")


@pytest.mark.parametrize("term", ["dumb", "no-such-terminal"])
async def test_a_terminal_without_a_cursor_gets_a_table(home: Path, terminal: Terminal, term: str):
    (home / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    await terminal.open(term=term)
    screen = await terminal.shows("ended with 0")
    assert screen.startswith("GROUP        NAME          STATE")
    assert "not running  spark-claude  dead" in screen


async def test_without_colours_and_utf_8_the_screen_is_readable(home: Path, terminal: Terminal):
    (home / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    await terminal.open("NO_COLOR=1", "LC_ALL=C")
    await terminal.shows("> spark-claude  dead", "-- spark-claude ---")
    screen = await terminal.tmux("capture-pane", "-p", "-e")
    # Colours are 30 to 37 for text and 40 to 47 behind it; 39 and 49 are the terminal's own.
    assert not re.search(r"\x1b\[(\d+;)*[34][0-7]m", screen)
    assert re.search(r"7m(\x1b\[\d+m)*> spark-claude", screen)


async def test_the_program_ends_when_its_terminal_goes_away(home: Path, terminal: Terminal, eventually):
    (home / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    # A program that ignores SIGHUP must not go on either.
    await terminal.open(before="trap '' HUP")
    await terminal.shows("NOT RUNNING (1)")
    mark = f"CULTURE_HOME={home}"
    assert len(processes(mark)) == 1
    await terminal.tmux("kill-server")
    await eventually(lambda: not processes(mark), within_s=DEADLINE_S)
