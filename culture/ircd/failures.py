"""Refusals by a word instead of a number (IRCv3 standard-replies)."""

from culture.ircd.text import one_word
from culture.protocol.line import format_line


class Failure(Exception):
    """What a command of IRCv3 or of a skill raises when the answer is no; the client is told."""

    def __init__(self, code: str, *context: str, text: str) -> None:
        super().__init__(code, *context, text)
        self.code = code
        self.context = context
        self.text = text

    def line(self, command: str, server: str) -> str:
        """Always FAIL: whoever sends such a command knows it from its specification."""
        params = (command, self.code, *map(one_word, self.context), self.text)
        return format_line("FAIL", *params, source=server, trailing=True)
