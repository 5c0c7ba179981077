"""culturectl on an installed host: one screen, the installation for root, logins as the agent's user."""

import json

import pytest
from support.irc import connected
from system.agents import SERVICE, start_agent
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

# Logging in needs the network: this one only writes down how it was started.
LOGIN = """#!/bin/sh
printf '%s\\n' "$(id -un)" "$(id -Gn)" "$HOME" "$PWD" "$*" >"$HOME/login"
"""


def test_a_bare_status_is_one_screen_of_the_installation_also_after_up_was_run(spark: Host):
    start_agent(spark)
    eventually(lambda: "idle" in spark.property(SERVICE, "StatusText"), within_s=30, what="the agent is idle")
    # What `culturectl up` leaves in the home of root.
    spark.run("mkdir", "--parents", "/root/.culture")
    spark.write("/root/.culture/agents.yaml", "agents: [{nick: spark-trial}]\n")
    spark.write("/root/.culture/ircd.yaml", "name: spark\n")

    screen = spark.run("env", "HOME=/root", "culturectl", "status").stdout

    lines = screen.splitlines()
    assert len(lines) < 24
    assert lines[0].endswith(", configured in '/etc/culture'")
    assert lines[1].startswith("server: running: spark: ")
    assert lines[2] == "agents: 1 idle"
    assert lines[-1].startswith("spark-claude  claude   idle ")
    assert lines[-1].split(" USD ")[1].strip().startswith("idle in #general")
    assert "spark-trial" not in screen

    [row] = spark.run("env", "HOME=/root", "culturectl", "list-agents", "--json").stdout.splitlines()
    assert json.loads(row)["nick"] == "spark-claude"
    spark.systemctl("stop", SERVICE)
    [row] = spark.run("culturectl", "list-agents", "--json").stdout.splitlines()
    stopped = json.loads(row)
    assert (stopped["state"], stopped["service"]) == ("dead", "stopped")
    assert stopped["since"]
    # Looking at it has not started it.
    assert spark.property(SERVICE, "ActiveState") == "inactive"


def test_a_login_is_that_of_the_agents_user_before_it_ever_ran(spark: Host):
    spark.write("/etc/culture/agents.yaml", "agents: [{nick: spark-codex, agent: codex}]\n")
    spark.write("/usr/local/bin/codex", LOGIN)
    spark.run("chmod", "0755", "/usr/local/bin/codex")

    done = spark.run("culturectl", "login", "spark-codex")

    home = "/var/lib/culture/agents/spark-codex"
    user, groups, *rest = spark.run("cat", f"{home}/login").stdout.splitlines()
    assert (user, rest) == ("culture-spark-codex", [home, home, "login --device-auth"])
    assert "culture" in groups.split()
    assert spark.run("stat", "--format=%U %a", home).stdout == "culture-spark-codex 700\n"
    assert spark.run("stat", "--format=%U %a", f"{home}/login").stdout == "culture-spark-codex 600\n"
    assert "as user 'culture-spark-codex'" in done.stderr
    assert "hint: systemctl restart culture-agent@spark-codex" in done.stderr


def test_a_login_is_that_of_the_person_whom_agents_yaml_names(spark: Host):
    spark.run("useradd", "--create-home", "ori")
    spark.write("/etc/culture/agents.yaml", "agents: [{nick: spark-codex, agent: codex, user: ori}]\n")
    spark.write("/usr/local/bin/codex", LOGIN)
    spark.run("chmod", "0755", "/usr/local/bin/codex")
    spark.run("culturectl", "units")

    spark.run("culturectl", "login", "spark-codex")

    home = spark.run("systemctl", "show", "--property=Environment", "culture-agent@spark-codex").stdout
    home = home.partition("HOME=")[2].split()[0]
    assert spark.run("cat", f"{home}/login").stdout.splitlines()[0] == "ori"
    assert spark.run("stat", "--format=%U", f"{home}/login").stdout == "ori\n"


async def test_a_service_that_failed_is_announced_and_one_that_runs_is_not(spark: Host):
    start_agent(spark)
    async with connected(spark.connect(6667), "spark-ori", "#general") as ori:
        spark.systemctl("start", "culture-agent-failed@spark-claude.service")
        ori.send("PING over")
        assert "NOTICE" not in await ori.until("PONG")
        assert not [line for line in ori.seen if "not running any more" in line]

        spark.write("/etc/culture/agents.yaml", "agents: [{nick: spark-claude, agent: codex}]\n")
        spark.run("systemctl", "restart", SERVICE, check=False)
        told = await ori.until("NOTICE #general :spark-claude is not running any more")
        assert "a program that is missing" in told
