"""One line on the wire: tags, source, command and parameters."""

from collections.abc import Mapping
from typing import NamedTuple

from culture.protocol.tags import format_tags, parse_tags

NO_TAGS: Mapping[str, str] = {}


class MalformedLine(ValueError):
    """The line does not follow the grammar (RFC 2812 section 2.3.1)."""


class Line(NamedTuple):
    command: str
    params: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = NO_TAGS

    @property
    def nick(self) -> str:
        """The nick, or the server name, that the line comes from."""
        return self.source.partition("!")[0]

    def param(self, index: int) -> str:
        """A parameter, or nothing where the line has fewer."""
        return self.params[index] if index < len(self.params) else ""


def parse_line(text: str) -> Line:
    """Reads one line without its end. The command comes back in upper case."""
    tags: Mapping[str, str] = NO_TAGS
    source = ""
    if "\0" in text or "\r" in text:
        raise MalformedLine("NUL or CR inside a line")
    # Most lines begin with their command.
    if text[:1] in "@: ":
        tags, source, text = _parse_front(text)
    head, colon, trailing = text.partition(" :")
    words = head.split(" ")
    if "" in words:
        words = [word for word in words if word] or [""]
    command = words[0]
    if not command:
        raise MalformedLine("no command")
    if colon:
        words.append(trailing)
    # Letters of other scripts are nobody's command, and some have one of ours as their upper case.
    command = command.upper() if command.isascii() else command
    return _new_tuple(Line, (command, tuple(words[1:]), source, tags))


_new_tuple = tuple.__new__


def _parse_front(text: str) -> tuple[Mapping[str, str], str, str]:
    """Tags, source, and what follows them."""
    tags: Mapping[str, str] = NO_TAGS
    source = ""
    if text.startswith("@"):
        raw_tags, _, text = text[1:].partition(" ")
        tags = parse_tags(raw_tags)
        text = text.lstrip(" ")
    if text.startswith(":"):
        source, _, text = text[1:].partition(" ")
    return tags, source, text.lstrip(" ")


def format_line(
    command: str, *params: str, source: str = "", tags: Mapping[str, str] = NO_TAGS, trailing: bool = False
) -> str:
    """Writes one line without its end. The last parameter gets a colon if it needs one, or if `trailing`."""
    words = [f"@{format_tags(tags)}"] if tags else []
    if source:
        words.append(f":{source}")
    words.append(command)
    if params:
        *middle, last = params
        words += middle
        words.append(f":{last}" if trailing or not last or last.startswith(":") or " " in last else last)
    return " ".join(words)
