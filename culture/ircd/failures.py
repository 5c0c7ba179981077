"""Command failures that are sent as FAIL or WARN (IRCv3 standard-replies)."""

from typing import Literal

from culture.ircd.delivery.text import as_middle_param
from culture.protocol.line import format_line


class Failure(Exception):
    """Raised by a command of IRCv3 or of a skill; the dispatcher sends it to the client as FAIL."""

    def __init__(self, code: str, *context: str, text: str) -> None:
        super().__init__(code, *context, text)
        self.code = code
        self.context = context
        self.text = text

    def line(self, command: str, server: str, kind: Literal["FAIL", "WARN"] = "FAIL") -> str:
        """Return the standard reply, which clients get whatever they negotiated, as specified.

        WARN is for a part of a command whose other parts are carried out.
        """
        params = (command, self.code, *map(as_middle_param, self.context), self.text)
        return format_line(kind, *params, source=server, trailing=True)
