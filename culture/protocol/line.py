"""Parse and format IRC lines: tags, source, command and parameters."""

from collections.abc import Mapping
from typing import NamedTuple

from culture.protocol.tags import format_tags, parse_tags

NO_TAGS: Mapping[str, str] = {}


class MalformedLine(ValueError):
    """The line does not follow the grammar (RFC 2812 section 2.3.1)."""


class Line(NamedTuple):
    """One parsed line; the command is in upper case."""

    command: str
    params: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = NO_TAGS

    @property
    def nick(self) -> str:
        """Return the nick or server name in the source."""
        return self.source.partition("!")[0]

    def param(self, index: int) -> str:
        """Return the parameter at this index, or an empty string if the line has fewer."""
        return self.params[index] if index < len(self.params) else ""


def parse_line(text: str) -> Line:
    """Parse one line without its CR LF. Raise MalformedLine if it does not follow the grammar."""
    tags: Mapping[str, str] = NO_TAGS
    source = ""
    if "\0" in text or "\r" in text:
        raise MalformedLine("NUL or CR inside a line")
    # Most lines have neither tags nor a source.
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
    # Leave other scripts alone: some of their letters become ASCII in upper case (dotless i becomes I).
    command = command.upper() if command.isascii() else command
    return _new_tuple(Line, (command, tuple(words[1:]), source, tags))


_new_tuple = tuple.__new__


def _parse_front(text: str) -> tuple[Mapping[str, str], str, str]:
    """Return the tags, the source, and the rest of the line."""
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
    """Format one line without CR LF. The last parameter gets a colon if it needs one, or if `trailing`."""
    words = [f"@{format_tags(tags)}"] if tags else []
    if source:
        words.append(f":{source}")
    words.append(command)
    if params:
        *middle, last = params
        words += middle
        words.append(f":{last}" if trailing or not last or last.startswith(":") or " " in last else last)
    return " ".join(words)
