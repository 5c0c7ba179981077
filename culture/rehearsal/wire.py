"""The interface of a wire format, which is one module each."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from culture.rehearsal.conversation import ModelConversation
from culture.rehearsal.reply import Content, Delay, Drop, Fail, Reply, ReplyText, Stall

Json = dict[str, Any]
NewId = Callable[[], str]

# How much of a text one event carries; small, so that whoever reads has to put it together.
_DELTA_CHARS = 24


class BadRequest(Exception):
    """The request is not one of this format; the text says why."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request for a reply, and the token counts that its reply reports."""

    conversation: ModelConversation
    is_streamed: bool
    # What the reply reports as its input: an estimate by size, unless the script says otherwise.
    input_tokens: int
    body: Mapping[str, Any]
    # How many of the input tokens the reply reports as read from the cache.
    cached_tokens: int = 0
    # What the reply reports as its output; None: an estimate by size.
    output_tokens: int | None = None
    # Set for what a CLI asks on the side (a title, a probe): answered so, whatever the script says.
    aside: Reply | None = None


class WireFormat(Protocol):
    """Reads requests and writes replies."""

    def read(self, body: bytes) -> ModelRequest:
        """Read a request. Raise BadRequest if it is not one of this format."""

    def failure(self, fail: Fail) -> Json:
        """Return the body of an error response."""

    def whole(self, request: ModelRequest, reply: Reply, new_id: NewId) -> Json:
        """Return the reply as one JSON document. The server carries out delays and faults."""

    def stream(
        self, request: ModelRequest, reply: Reply, new_id: NewId
    ) -> Iterator[bytes | Delay | Drop | Stall]:
        """Return the reply as events, with the delays and faults between them."""


def parse(body: bytes) -> dict[str, Any]:
    """Parse what every format has: an object that names a model. Raise BadRequest if it is not one."""
    try:
        data = json.loads(body)
    except ValueError as error:
        raise BadRequest(f"not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("model"), str):
        raise BadRequest("model: a text is required")
    return data


def dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def pieces(text: str) -> Iterator[str]:
    return (text[start : start + _DELTA_CHARS] for start in range(0, len(text), _DELTA_CHARS))


def tokens(size_bytes: int) -> int:
    """Estimate how many tokens so much English text or JSON has."""
    return max(1, size_bytes // 4)


def output_tokens(request: ModelRequest, content: Iterable[Content]) -> int:
    """Return the output tokens that the reply with this content reports."""
    if request.output_tokens is not None:
        return request.output_tokens
    sizes = (len(p.text.encode()) if isinstance(p, ReplyText) else len(json.dumps(p.input)) for p in content)
    return tokens(sum(sizes))
