"""A program of ours as run by a user to whom nothing belongs."""

import sys
from typing import Final

# The tree may stand where only its owner may look, as in /root, and so may Python: all is loaded before.
_RUN: Final = """
import encodings.idna, importlib, os, sys
main = importlib.import_module(sys.argv.pop(1)).main
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
main()
"""


def as_nobody(module: str, *typed: str) -> list[str]:
    """The command, to be started by root."""
    return [sys.executable, "-c", _RUN, module, *typed]
