"""Two agents with shells attack each other and the server: nothing works, and the journal tells."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from support.irc import Plain, connected
from system.agents import DROP_IN, EXAMPLE
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

from culture.systemd.journal import MESSAGE_IDS

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

AGENTS = ("spark-claude", "spark-bo")
ATTACK = Path(__file__).with_name("attack.py")
# What an agent is not to find. They are given to the attack, as if it had found them, in another spelling.
PASSWORDS = {"oper": "S3CRET-oper", "mesh": "S3CRET-mesh", "admin": "S3CRET-admin", "other": "S3CRET-other"}
# The model tells an agent to run the attack with a nick and passwords that whoever asks it to names.
SCRIPT = """
rules:
  - {prompt: '^\\[IRC ', after_tool: any, after_command: '^irc ', answer: [{text: Done.}]}
  - prompt: '^\\[IRC '
    after_tool: any
    answer: [{run: [irc, send, '#general', 'attack is over']}]
  - prompt: '^\\[IRC \\S+ in \\S+\\] <\\S+> @\\S+ attack (?P<other>\\S+) (?P<words>\\S+)'
    answer: [{run: [sh, -c, 'python3 /usr/local/lib/attack.py {other} {words} > report 2> errors']}]
"""


def service(nick: str) -> str:
    return f"culture-agent@{nick}.service"


@pytest.fixture
def attacked(spark: Host) -> Host:
    """A host with two agents, an operator and a link, each with a secret."""
    spark.write("/usr/local/lib/attack.py", ATTACK.read_text())
    spark.write("/etc/rehearsal.yaml", SCRIPT)
    rehearsal = "[Service]\nExecStart=\nExecStart=/usr/bin/culture-rehearsal --script /etc/rehearsal.yaml\n"
    spark.write("/etc/systemd/system/culture-rehearsal.service.d/script.conf", rehearsal)
    agents = "".join(f"  - nick: {nick}\n    key_credential: model\n" for nick in AGENTS)
    spark.write("/etc/culture/agents.yaml", f"agents:\n{agents}")
    spark.write(
        "/etc/culture/ircd.yaml",
        "opers: [{name: root, password_credential: oper}]\nlinks: [{name: thor, secret_credential: mesh}]\n",
    )
    secrets = {
        "oper": PASSWORDS["oper"],
        "mesh": PASSWORDS["mesh"],
        **{f"agents/{nick}/model": f"S3CRET-key-of-{nick}" for nick in AGENTS},
    }
    for name, secret in secrets.items():
        spark.write(f"/etc/culture/credentials/{name}", f"{secret}\n")
    spark.run("sh", "-c", f"echo {PASSWORDS['admin']} | culturectl accounts add admin --password-stdin")
    spark.run("install", "-D", "-m", "0644", EXAMPLE, DROP_IN)
    spark.systemctl("daemon-reload")
    spark.systemctl("restart", "culture-ircd.service")
    spark.systemctl("enable", "--now", *map(service, AGENTS))
    for nick in AGENTS:
        spark.write(f"/var/lib/culture/agents/{nick}/diary", f"S3CRET-diary-of-{nick}\n")
        spark.run("chown", f"culture-{nick}:", f"/var/lib/culture/agents/{nick}/diary")
    return spark


def attack(host: Host, ori: Plain, nick: str, other: str) -> dict[str, Any]:
    """What came of it, as the agent's own shell saw it."""
    words = base64.b64encode(json.dumps(PASSWORDS).encode()).decode()
    ori.send(f"PRIVMSG #general :@{nick} attack {other} {words}")
    place = host.path(f"/var/lib/culture/agents/{nick}/work")

    def report() -> str:
        errors = place / "errors"
        assert not (errors.exists() and errors.read_text()), errors.read_text()
        return (place / "report").read_text() if (place / "report").exists() else ""

    return json.loads(eventually(report, within_s=240, what=f"{nick} reports"))


async def test_an_agent_reaches_neither_another_agent_nor_the_secrets_of_the_server(attacked: Host):
    before = {nick: attacked.property(service(nick), "MainPID") for nick in AGENTS}
    async with connected(attacked.connect(6667), "spark-ori", "#general") as ori:
        reports = {
            nick: await asyncio.to_thread(attack, attacked, ori, nick, other)
            for nick, other in (AGENTS, AGENTS[::-1])
        }
        for nick in AGENTS:
            await ori.until(f":{nick}!")

    for nick, report in reports.items():
        own = [f"S3CRET-diary-of-{nick}", f"S3CRET-key-of-{nick}"]
        assert report["uid"] == int(attacked.run("id", "-u", f"culture-{nick}").stdout)
        assert report["in files"] == own
        assert set(report["in processes"]) <= set(own)
        assert report["in environment"] == []
        assert {command for command, status in report["commands"].items() if status == 0} == set()
        assert report["ipc"] == "PermissionError"
        assert report["signalled"] == []
        assert {attempt: lines for attempt, lines in report["server"].items() if worked(lines)} == {}
        assert all(
            "ERROR" in " ".join(lines) for attempt, lines in report["server"].items() if "link" in attempt
        )

    assert {nick: attacked.property(service(nick), "MainPID") for nick in AGENTS} == before
    assert [line for line in ori.seen if "I am spark-" in line] == []
    told = [
        entry["MESSAGE"] for entry in attacked.journal(f"MESSAGE_ID={MESSAGE_IDS['impersonation-refused']}")
    ]
    for nick, other in (AGENTS, AGENTS[::-1]):
        assert any(f"'{other}'" in text and nick in text for text in told), told
    assert attacked.systemctl("list-units", "--failed", "--no-legend") == ""


def worked(lines: list[str]) -> bool:
    """Whether a raw client is registered, logged in, an operator, or has made an account."""
    return any(
        line.split()[1:2] in (["001"], ["903"], ["381"], ["002"]) or "REGISTER SUCCESS" in line
        for line in lines
    )


def test_an_agent_that_knows_the_password_of_an_operator_does_not_become_one(attacked: Host):
    """Its service is stopped, so that its nick is free and a client of its own gets as far as OPER."""
    nick = "spark-bo"
    attacked.systemctl("stop", service(nick), f"culture-agent@{nick}.socket")
    ask = "import sys; sys.path.insert(0, '/usr/local/lib'); from attack import on_server, UNIX, TCP4, TCP6\n"
    lines = (f"NICK {nick}", "USER x 0 * :x", f"OPER root {PASSWORDS['oper']}", f"MODE {nick}")
    ask += f"for where in (UNIX, TCP4, TCP6): print(*on_server(where, *{lines!r}), sep='\\n')"

    told = attacked.run("runuser", "--user", f"culture-{nick}", "--", "python3", "-c", ask).stdout

    numerics = [line.split()[1] for line in told.splitlines() if " " in line]
    assert numerics.count("001") == 3, told
    assert "381" not in numerics, told
    assert not any(line.split()[1] == "221" and "o" in line.split()[3] for line in told.splitlines()), told
