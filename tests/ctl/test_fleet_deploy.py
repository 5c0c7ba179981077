"""A deployment asks all hosts first, tries the first host alone, and restarts servers one at a time.

Only ssh is replaced, by a program that answers as hosts would. tests/system deploys to booted hosts.
"""

import json
import re
from pathlib import Path

import pytest

from culture.ctl import main
from culture.errors import ConfigError, UnavailableError

FLEET = """\
mesh: full
hosts:
  - {name: spark, address: "10.0.0.1:6690"}
  - {name: thor, address: "10.0.0.2:6690", ssh: ori@thor.lan}
  - {name: orin, address: "10.0.0.3:6690"}
"""
# Writes what it was asked to do to a file, and answers with what the test prepared for this host and verb.
SSH = """\
#!/bin/sh
for command; do :; done
place=$(dirname "$0")
for target; do case $target in *@*) break;; esac; done
verb=$(echo "$command" | grep -oE '(plan|apply|confirm|tar|restart)' | head -n1)
echo "$target $verb" >> "$place/asked"
echo "$command" >> "$place/commands"
cat > "$place/input-$target-$verb"
[ -e "$place/$target-$verb" ] && cat "$place/$target-$verb"
[ -e "$place/$target-$verb-error" ] && cat "$place/$target-$verb-error" >&2
[ -e "$place/$target-$verb-status" ] && exit "$(cat "$place/$target-$verb-status")"
exit 0
"""
SPARK, THOR, ORIN = "root@10.0.0.1", "ori@thor.lan", "root@10.0.0.3"


class Operator:
    """Somebody with a fleet file and an ssh whose answers the test decides."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.fleet = directory / "fleet.yaml"
        self.fleet.write_text(FLEET)
        (directory / "bin").mkdir()
        (directory / "bin/ssh").write_text(SSH)
        (directory / "bin/ssh").chmod(0o755)

    def answer(self, target: str, verb: str, *rows: dict[str, str], status: int = 0, error: str = "") -> None:
        place = self._directory / "bin"
        (place / f"{target}-{verb}").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        (place / f"{target}-{verb}-status").write_text(str(status))
        (place / f"{target}-{verb}-error").write_text(error)

    def change(self, target: str, *, what: str = "culture-agent@x.service") -> None:
        row = {"host": target, "action": "restart", "what": what, "why": "changed"}
        self.answer(target, "plan", row, status=1)

    @property
    def asked(self) -> list[str]:
        return (self._directory / "bin/asked").read_text().splitlines()

    @property
    def commands(self) -> list[str]:
        return (self._directory / "bin/commands").read_text().splitlines()

    def input_of(self, target: str, verb: str) -> bytes:
        return (self._directory / f"bin/input-{target}-{verb}").read_bytes()

    def run(self, *arguments: str) -> int:
        return main.run([*arguments, "--fleet", str(self.fleet)])


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return Operator(tmp_path)


def results(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["host"]: row["result"] for row in rows}


def test_the_first_host_is_tried_alone_and_each_apply_is_confirmed(
    operator: Operator, capsys: pytest.CaptureFixture[str]
):
    for target in (SPARK, THOR, ORIN):
        operator.change(target)

    assert operator.run("deploy", "--json", "--confirm-within", "30") == 0

    assert results(capsys) == {"spark": "applied", "thor": "applied", "orin": "applied"}
    assert sorted(operator.asked[:3]) == sorted(f"{target} plan" for target in (SPARK, THOR, ORIN))
    assert operator.asked[3:5] == [f"{SPARK} apply", f"{SPARK} confirm"]
    assert set(operator.asked[5:]) == {
        f"{target} {verb}" for target in (THOR, ORIN) for verb in ("apply", "confirm")
    }
    assert operator.input_of(ORIN, "apply") == FLEET.encode()
    [apply] = [line for line in operator.commands if "apply" in line and "thor" in line]
    assert re.match(r"sudo -n systemd-run .* culturectl --quiet apply --fleet - --host thor", apply)
    assert apply.endswith("--confirm-within 30 --wait 600")


def test_servers_are_restarted_one_after_the_other(operator: Operator):
    for target in (SPARK, THOR, ORIN):
        operator.change(target, what="culture-ircd.service")

    operator.run("deploy")

    steps = [f"{target} {verb}" for target in (SPARK, THOR, ORIN) for verb in ("apply", "confirm")]
    assert operator.asked[3:] == steps


def test_what_one_host_lacks_keeps_all_of_them_as_they_are(
    operator: Operator, capsys: pytest.CaptureFixture[str]
):
    operator.change(SPARK)
    operator.answer(ORIN, "plan", status=78, error="culturectl: server: no credential\nhint: add it\n")

    assert operator.run("deploy") == 78

    printed = capsys.readouterr()
    assert "orin   failed     server: no credential" in printed.out
    assert "hint: add it" in printed.err
    assert "nothing was changed on any host" in printed.err
    assert not [step for step in operator.asked if "apply" in step]


def test_a_host_that_cannot_be_reached_is_named(operator: Operator, capsys: pytest.CaptureFixture[str]):
    operator.answer(THOR, "plan", status=255, error="ssh: connect to host thor.lan: No route to host\n")

    assert operator.run("deploy", "--json") == 69

    assert results(capsys)["thor"] == "unreachable"


def test_a_first_host_that_fails_saves_the_others(operator: Operator, capsys: pytest.CaptureFixture[str]):
    for target in (SPARK, THOR):
        operator.change(target)
    operator.answer(SPARK, "apply", status=69, error="culturectl: a unit did not stay up\n")

    assert operator.run("deploy", "--json") == 69

    assert results(capsys) == {"orin": "unchanged", "spark": "failed", "thor": "skipped"}


def test_a_host_that_is_gone_after_the_apply_takes_it_back(
    operator: Operator, capsys: pytest.CaptureFixture[str]
):
    operator.change(SPARK)
    operator.answer(SPARK, "confirm", status=255)

    assert operator.run("deploy", "--json", "--confirm-within", "1") == 69

    assert results(capsys) == {"thor": "unchanged", "orin": "unchanged", "spark": "taken back"}


def test_a_dry_run_shows_the_plans_and_applies_nothing(
    operator: Operator, capsys: pytest.CaptureFixture[str]
):
    operator.change(THOR)

    assert operator.run("deploy", "--dry-run", "thor") == 1

    assert "restart  culture-agent@x.service  changed" in capsys.readouterr().out
    assert operator.asked == [f"{THOR} plan"]


def test_secrets_are_made_once_and_only_their_owner_can_read_them(
    operator: Operator, capsys: pytest.CaptureFixture[str]
):
    assert operator.run("secrets", "make") == 0
    directory = operator.fleet.parent / "secrets"
    made = {path.name: path.read_text() for path in directory.iterdir()}
    assert set(made) == {"link-spark-thor", "link-orin-spark", "link-orin-thor"}
    assert len(set(made.values())) == 3
    assert all(len(text) > 40 for text in made.values())
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}

    assert operator.run("secrets", "make") == 0
    assert {path.name: path.read_text() for path in directory.iterdir()} == made


def test_a_host_gets_the_secrets_of_its_own_links_on_standard_input(
    operator: Operator, capsys: pytest.CaptureFixture[str]
):
    operator.run("secrets", "make")
    capsys.readouterr()

    assert operator.run("secrets", "install", "spark") == 0

    assert capsys.readouterr().out == "spark: link-spark-thor\nspark: link-orin-spark\n"
    secret = (operator.fleet.parent / "secrets/link-spark-thor").read_bytes()
    sent = operator.input_of(SPARK, "tar")
    assert secret in sent
    assert b"link-orin-thor" not in sent
    assert operator.asked == [f"{SPARK} tar"]
    assert all(secret.decode().strip() not in command for command in operator.commands)


def test_secrets_that_are_missing_or_open_to_others_are_not_installed(operator: Operator):
    with pytest.raises(ConfigError) as refused:
        operator.run("secrets", "install", "spark")
    assert {problem.hint for problem in refused.value.problems} == {"culturectl secrets make"}

    operator.run("secrets", "make")
    (operator.fleet.parent / "secrets/link-spark-thor").chmod(0o644)
    with pytest.raises(ConfigError) as refused:
        operator.run("secrets", "install", "spark")
    assert [problem.what for problem in refused.value.problems] == ["can be read by others"]


def test_a_secret_is_replaced_in_three_steps_and_every_host_follows_each(operator: Operator):
    operator.run("secrets", "make")
    directory = operator.fleet.parent / "secrets"
    before = (directory / "link-spark-thor").read_text()

    assert operator.run("secrets", "rotate") == 0

    after = (directory / "link-spark-thor").read_text()
    assert (before != after, len(after.splitlines())) == (True, 1)
    assert {path.name for path in directory.iterdir()} == {
        *("link-spark-thor", "link-orin-spark", "link-orin-thor")
    }
    step = [f"{target} {verb}" for target in (SPARK, THOR, ORIN) for verb in ("tar", "restart")]
    assert operator.asked == step * 3
    sent = operator.input_of(SPARK, "tar")
    assert after.encode() in sent
    assert before.strip().encode() not in sent


def test_a_rotation_that_was_interrupted_is_continued_with_the_same_secret(operator: Operator):
    operator.run("secrets", "make")
    directory = operator.fleet.parent / "secrets"
    before = (directory / "link-spark-thor").read_text().strip()
    operator.answer(THOR, "restart", status=1, error="Job failed\n")
    with pytest.raises(UnavailableError) as failed:
        operator.run("secrets", "rotate")
    assert str(failed.value) == "thor: Job failed"
    # Spark still uses the old secret, and accepts the new one.
    old, new = (directory / "link-spark-thor").read_text().splitlines()
    assert old == before

    operator.answer(THOR, "restart")
    assert operator.run("secrets", "rotate") == 0

    assert (directory / "link-spark-thor").read_text() == f"{new}\n"


def test_the_hosts_are_listed(operator: Operator, capsys: pytest.CaptureFixture[str]):
    assert operator.run("list-hosts") == 0
    table = capsys.readouterr().out.splitlines()
    assert table[2].split() == ["thor", "10.0.0.2:6690", "amd64", "-", "0", "spark,orin", "ori@thor.lan"]

    operator.run("list-hosts", "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[0])["ssh"] == "root@10.0.0.1"
