"""What the server needs of a wire format, so that another one is another module."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from culture.rehearsal.conversation import Conversation
from culture.rehearsal.reply import Delay, Drop, Fail, Reply, Stall

Json = dict[str, Any]
NewId = Callable[[], str]


class BadRequest(Exception):
    """The request is not one of this format; the text says why."""


@dataclass(frozen=True, slots=True)
class Request:
    conversation: Conversation
    is_streamed: bool
    input_tokens: int
    body: Mapping[str, Any]
    # Set for what a CLI asks on the side (a title, a probe): answered so, whatever the script says.
    aside: Reply | None = None


class WireFormat(Protocol):
    def read(self, body: bytes) -> Request:
        """Raises BadRequest."""

    def failure(self, fail: Fail) -> Json:
        """The body of an error response."""

    def whole(self, request: Request, reply: Reply, new_id: NewId) -> Json:
        """The reply as one JSON document. Delays and faults are the server's to carry out."""

    def stream(self, request: Request, reply: Reply, new_id: NewId) -> Iterator[bytes | Delay | Drop | Stall]:
        """The reply as events, with the delays and faults where they happen between them."""


def tokens(size_bytes: int) -> int:
    """About what a tokenizer makes of so much English text or JSON."""
    return max(1, size_bytes // 4)
