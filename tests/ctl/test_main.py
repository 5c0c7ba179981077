import os
import re
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from culture import __version__
from culture.ctl.main import VERBS, parse
from culture.errors import UsageError

ROOT = Path(__file__).parents[2]


def typed(*arguments: str, stdout: IO[bytes], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "culture.ctl.main", *arguments]
    pipe = subprocess.PIPE
    return subprocess.run(command, stdout=stdout, stderr=pipe, text=True, env=env, timeout=30, check=False)


def test_an_unknown_verb_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="unknown verb 'upp'") as refused:
        parse(["upp"])

    assert refused.value.hint == "culturectl up"
    assert refused.value.exit_status == 64


def test_a_verb_unlike_any_is_answered_with_all():
    with pytest.raises(UsageError) as refused:
        parse(["--version-of", "frobnicate"])

    assert refused.value.hint == f"verbs: {', '.join(VERBS)}"


@pytest.mark.parametrize(
    "arguments", [[], ["up", "--prot", "1"], ["up", "--live", "--rehearse"], ["up", "x"]]
)
def test_a_wrong_command_line_says_where_help_is(arguments):
    with pytest.raises(UsageError) as refused:
        parse(arguments)

    assert refused.value.hint is not None
    assert refused.value.hint.endswith("--help")


def imported_by(*arguments: str) -> set[str]:
    """The modules of ours that a command line imports."""
    command = [sys.executable, "-X", "importtime", "-m", "culture.ctl.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return set(re.findall(r"\| +(\S+)$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["nosuch"]])
def test_no_verb_is_imported_before_it_is_used(arguments: list[str]):
    modules = imported_by(*arguments)

    assert "culture.ctl.options" in modules
    assert not modules & {f"culture.ctl.{verb.module}" for verb in VERBS.values()}
    assert not modules & {"asyncio", "dataclasses", "json", "sqlite3", "ssl", "subprocess", "yaml"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_imports_no_other_verb_that_it_does_not_use(verb: str):
    others = {f"culture.ctl.{each.module}" for name, each in VERBS.items() if name != verb}
    # prune finds the history as the verb history does.
    used = {"prune": {"culture.ctl.verbs.server.history"}}

    assert imported_by(verb, "--help") & others == used.get(verb, set())


@pytest.mark.parametrize(
    ("arguments", "quiet", "no_pager"),
    [
        (["prune"], False, False),
        (["-q", "prune", "--no-pager"], True, True),
        (["--no-pager", "prune", "--quiet"], True, True),
        (["--quiet", "prune"], True, False),
    ],
)
def test_options_of_all_verbs_stand_in_front_of_the_verb_or_after_it(
    arguments: list[str], quiet: bool, no_pager: bool
):
    options = parse(arguments)

    assert (options.quiet, options.no_pager) == (quiet, no_pager)


def test_the_version_is_data(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"culturectl {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_has_its_summary(verb, capsys):
    with pytest.raises(SystemExit):
        parse([verb, "--help"])

    assert VERBS[verb].summary in capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_option_is_in_the_man_page_and_the_other_way_round(verb, capsys):
    page = (ROOT / "docs" / "man" / "culturectl.1.rst").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        parse([verb, "--help"])
    options = set(re.findall(r"--[a-z]+", capsys.readouterr().out))

    described = page.partition(f"\n{verb}\n{'-' * len(verb)}\n")[2]
    described = re.split(r"\n.+\n(?:--+|==+)\n", described)[0]

    assert set(re.findall(r"^(?:-\w, )?(--[a-z]+)", described, re.MULTILINE)) == options - {"--help"}


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_who_has_read_enough_is_no_error(unbuffered: str):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = typed("--help", stdout=gone, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_is_full_is_told_in_one_line(unbuffered: str):
    with open("/dev/full", "wb") as full:
        done = typed("--help", stdout=full, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stderr) == (69, "culturectl: cannot write: No space left on device\n")


def test_who_prints_nothing_needs_no_room(tmp_path: Path):
    with open("/dev/full", "wb") as full:
        done = typed("units", "--config", f"{tmp_path}/none.yaml", stdout=full, env={**os.environ})
    assert done.returncode == 66


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_what_nobody_can_read_ends_with_its_status_all_the_same(where: str):
    command = ["sh", "-c", f'exec "$0" -m culture.ctl.main nosuch {where}', sys.executable]
    assert subprocess.run(command, timeout=30, check=False).returncode == 64
