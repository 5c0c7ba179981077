"""What control costs: supervisor tokens, model calls while idle, time to halt, and the gates of a turn.

Real daemons and a real server. The agent's backend plays a script of steps and reports the tokens that a
coding agent would use; the judge is the rehearsal model, which counts what it is asked.
"""

import argparse
import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from agent import daemon
from gates import measure_gates
from halting import measure_halting
from network import ircd, plain_client

from culture.config.loader import parse
from culture.rehearsal.environment import environment
from culture.rehearsal.script import Script
from culture.rehearsal.server import RehearsalServer

PROGRAM = Path(__file__).with_name("stepping_agent.py")
SCRIPT = "rules: [{answer: [{text: OK}]}]"
CHANNEL = "#control"
LONG_S = 300.0
RESERVATIONS = 1000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="steps of the long task (200)")
    parser.add_argument("--agents", type=int, default=20, metavar="N", help="how many idle daemons (20)")
    parser.add_argument(
        "--idle-s", type=float, default=60, metavar="S", help="how long they wait (60; 3600 is an hour)"
    )


def measure(options: argparse.Namespace) -> dict:
    return asyncio.run(_measure(options.steps, options.agents, options.idle_s))


def in_words(figures: dict) -> str:
    return "\n".join(f"{name:30}{value:14,}" for name, value in figures.items())


async def _measure(steps: int, agents: int, idle_s: float) -> dict:
    with tempfile.TemporaryDirectory(prefix="culture-") as directory:
        home = Path(directory)
        gates = measure_gates(home, RESERVATIONS)
        async with ircd(home) as port, _model() as (model, env), contextlib.AsyncExitStack() as stack:
            _configure(home, port, agents)
            env["CULTURE_BENCH_STEPS"] = str(steps)
            for number in range(agents):
                await stack.enter_async_context(daemon(home, number, PROGRAM, env))
            await asyncio.sleep(idle_s)
            idle_calls = len(model.asked)
            model.asked.clear()
            agent_tokens = await _long_task(port)
            judged = [each.request.input_tokens for each in model.asked]
    halting = await measure_halting()
    # A verdict is a word or a sentence.
    spent = sum(judged) + 20 * len(judged)
    return {
        "agents": agents,
        "idle for s": idle_s,
        "model calls while idle": idle_calls,
        "steps of the long task": steps,
        "tokens of the agent": agent_tokens,
        "evaluations": len(judged),
        "tokens of the supervisor": spent,
        "share of the supervisor, %": round(100 * spent / agent_tokens, 2),
        **{f"gates and ledger, {name}, ms": value for name, value in gates.items()},
        **halting,
    }


async def _long_task(port: int) -> int:
    """Ask the first agent, and return how many tokens it says it has used when it is done."""
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def received(line: bytes, at: float) -> None:
        _, found, tokens = line.partition(b" tokens=")
        if found and not done.done():
            done.set_result(int(tokens.split()[0]))

    person = await plain_client(port, "spark-ori", CHANNEL, received)
    person.send(f"PRIVMSG {CHANNEL} :@spark-agent0 work through the list".encode())
    async with asyncio.timeout(LONG_S):
        return await done


@contextlib.asynccontextmanager
async def _model() -> AsyncIterator[tuple[RehearsalServer, dict[str, str]]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with RehearsalServer(parse(SCRIPT, Script, where="script")) as server:
            await server.listen([listener])
            yield server, environment(f"http://127.0.0.1:{listener.getsockname()[1]}")


def _configure(home: Path, port: int, agents: int) -> None:
    nicks = "".join(f"  - {{nick: spark-agent{n}, channels: ['{CHANNEL}']}}\n" for n in range(agents))
    (home / "agents.yaml").write_text(f"server: {{port: {port}}}\nagents:\n{nicks}")
