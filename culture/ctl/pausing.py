"""`culturectl pause` and `culturectl resume`: whether an agent begins turns."""

import argparse
import getpass
import sys

from culture.ctl.asked import add_nick, ask


def add_pause_arguments(parser: argparse.ArgumentParser) -> None:
    add_nick(parser)
    parser.add_argument("why", nargs="?", metavar="REASON", help="what others read; default: by whom")


def pause(options: argparse.Namespace) -> int:
    ask(options.nick, {"type": "pause", "why": options.why or f"by {getpass.getuser()}"})
    return 0


def resume(options: argparse.Namespace) -> int:
    if not ask(options.nick, {"type": "resume"})["was_paused"]:
        print(f"{options.nick} was not paused", file=sys.stderr)
    return 0
