"""Render messages of several lines: a batch for readers with IRCv3 draft/multiline, lines for others."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from culture.protocol.framing import CRLF
from culture.protocol.mentions import TAG as MENTIONS_TAG
from culture.protocol.render import MULTILINE, Form, Rendered

TYPE: Final = "draft/multiline"
BATCH_TAG: Final = "batch"
CONCAT_TAG: Final = "draft/multiline-concat"


class Fragment(NamedTuple):
    """One line on the wire of a message that has several."""

    text: str
    # It continues the previous fragment without a line break (draft/multiline-concat).
    is_joined: bool = False


def combine(fragments: Iterable[Fragment]) -> str:
    """Return the text of the message: its fragments with line feeds between them unless joined."""
    text = ""
    for number, fragment in enumerate(fragments):
        text += fragment.text if fragment.is_joined or not number else f"\n{fragment.text}"
    return text


def composition(fragments: Sequence[Fragment]) -> str:
    """Return the lengths of the fragments, as in `5,+7`, or nothing if the line breaks already tell them."""
    if len(fragments) > 1 and not any(fragment.is_joined for fragment in fragments):
        return ""
    return ",".join(f"{'+' if fragment.is_joined else ''}{len(fragment.text)}" for fragment in fragments)


def decompose(text: str, lengths: str) -> tuple[Fragment, ...]:
    """Split a text into its fragments by their lengths; return nothing if they do not fit the text."""
    fragments: list[Fragment] = []
    start = 0
    for word in filter(None, lengths.split(",")):
        length = word.removeprefix("+")
        if not (length.isascii() and length.isdigit()):
            return ()
        is_joined = word != length
        start += 1 if fragments and not is_joined else 0
        fragments.append(Fragment(text[start : start + int(length)], is_joined))
        start += int(length)
    return tuple(fragments) if combine(fragments) == text else ()


class RenderedLines:
    """The lines of one message. `head` precedes the text in each of them: `:mask PRIVMSG #ops :`."""

    __slots__ = ("_closing", "_fragments", "_head", "_later", "_opening")

    def __init__(
        self,
        head: str,
        fragments: Sequence[Fragment],
        at: float,
        tags: Mapping[str, str],
        msgid: str,
        account: str | None = None,
    ) -> None:
        source, _, target, _ = head.split(" ")
        self._opening = Rendered(f"{source} BATCH +{msgid} {TYPE} {target}", at, tags, msgid, account)
        self._closing = f"{source} BATCH -{msgid}".encode() + CRLF
        self._head = head
        self._fragments = fragments
        # Only the first line carries the mentions, so that each user is mentioned once.
        self._later = {tag: value for tag, value in tags.items() if tag != MENTIONS_TAG}

    def form(self, form: Form) -> bytes:
        """Return the bytes for readers of this form: a batch, or one line per fragment with text."""
        if form & MULTILINE:
            return b"".join([self._opening.form(form), *map(self._inside, self._fragments), self._closing])
        first, *others = (self._head + fragment.text for fragment in self._fragments if fragment.text)
        whole = self._opening
        rendered = [whole._replace(line=first)]
        rendered += (whole._replace(line=line, tags=self._later, msgid="") for line in others)
        return b"".join(line.form(form) for line in rendered)

    def _inside(self, fragment: Fragment) -> bytes:
        joined = f";{CONCAT_TAG}" if fragment.is_joined else ""
        return f"@{BATCH_TAG}={self._opening.msgid}{joined} {self._head}{fragment.text}".encode() + CRLF


Message = Rendered | RenderedLines
