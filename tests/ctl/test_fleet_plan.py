"""A plan says which files change on a host and which units follow, and nothing more than needed."""

from pathlib import Path

from culture.config.fleet import files
from culture.ctl.agent_call import unit_of
from culture.ctl.fleet.plan import SERVER, Plan, make_plan
from culture.ctl.fleet.render import AGENTS_FILE, IRCD_FILE, render

FLEET = """\
mesh: full
hosts:
  - name: spark
    address: 10.0.0.1:6690
    ircd: {motd: hello}
    agents:
      - {nick: spark-claude, directory: /srv/project}
      - {nick: spark-codex, agent: codex}
  - name: thor
    address: 10.0.0.2:6690
"""


def spark(text: str) -> dict[Path, str]:
    return render(files.parse(text, where="fleet.yaml"))["spark"]


def plan(old: str, new: str) -> Plan:
    return make_plan(spark(old), spark(new))


def actions(made: Plan) -> dict[str, str]:
    return {each.unit: each.action for each in made.actions}


def test_a_host_that_is_as_the_fleet_says_needs_nothing():
    assert plan(FLEET, FLEET) == Plan((), ())


def test_a_comment_changes_the_file_and_no_unit():
    old = spark(FLEET)
    old[IRCD_FILE] += "# by hand\n"

    made = make_plan(old, spark(FLEET))

    assert [change.path for change in made.changes] == [IRCD_FILE]
    assert made.actions == ()


def test_the_channels_of_one_agent_restart_that_agent_alone():
    made = plan(FLEET, FLEET.replace("agent: codex}", "agent: codex, channels: ['#ops']}"))

    assert [change.path for change in made.changes] == [AGENTS_FILE]
    assert actions(made) == {unit_of("spark-codex"): "restart"}
    assert made.actions[0].why == "changed: channels"


def test_what_all_agents_have_restarts_all_of_them():
    made = plan(FLEET, FLEET.replace("motd: hello}", "motd: hello}\n    all_agents: {turns: {crashes: 9}}"))

    assert actions(made) == {unit_of("spark-claude"): "restart", unit_of("spark-codex"): "restart"}
    assert {each.why for each in made.actions} == {"changed: turns"}


def test_another_greeting_reloads_the_server_and_another_link_restarts_it():
    assert actions(plan(FLEET, FLEET.replace("hello", "welcome"))) == {SERVER: "reload"}
    assert actions(plan(FLEET, FLEET.replace("10.0.0.2", "10.0.0.9"))) == {SERVER: "restart"}


def test_a_first_certificate_and_new_credentials_restart_the_server():
    certificate = FLEET.replace("{motd: hello}", "{motd: hello, tls: {certificate: /etc/culture/x.pem}}")
    other = certificate.replace("x.pem", "y.pem")
    assert actions(plan(FLEET, certificate)) == {SERVER: "restart"}
    assert actions(plan(certificate, other)) == {SERVER: "reload"}

    operator = FLEET.replace("{motd: hello}", "{motd: hello, opers: [{name: ori, password_credential: ori}]}")
    assert actions(plan(FLEET, operator)) == {SERVER: "restart"}


def test_agents_that_come_and_go_are_started_and_stopped():
    less = FLEET.replace("      - {nick: spark-codex, agent: codex}\n", "")

    assert actions(plan(less, FLEET)) == {unit_of("spark-codex"): "start"}
    assert actions(plan(FLEET, less)) == {unit_of("spark-codex"): "stop"}


def test_a_drop_in_that_is_not_needed_any_more_is_removed():
    made = plan(FLEET, FLEET.replace(", directory: /srv/project", ""))

    removed = [change for change in made.changes if change.new is None]
    assert [change.path.name for change in removed] == ["50-agents-yaml.conf"]
    assert removed[0].kind == "remove"
    assert made.changes_units
    assert actions(made) == {unit_of("spark-claude"): "restart"}


def test_a_drop_in_that_was_changed_by_hand_restarts_its_agent():
    old = spark(FLEET)
    [drop_in] = [path for path in old if path.suffix == ".conf"]
    old[drop_in] += "MemoryMax=1G\n"

    made = make_plan(old, spark(FLEET))

    assert actions(made) == {unit_of("spark-claude"): "restart"}
    assert made.actions[0].why == "changed: drop-ins"


def test_an_empty_host_gets_everything_and_a_broken_file_is_replaced():
    made = make_plan({}, spark(FLEET))
    assert {change.kind for change in made.changes} == {"create"}
    assert actions(made)[SERVER] == "restart"

    broken = spark(FLEET) | {IRCD_FILE: "name: [\n"}
    assert actions(make_plan(broken, spark(FLEET))) == {SERVER: "restart"}
