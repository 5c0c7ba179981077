"""Proofs by which a host recognises its own events when other hosts send them back.

A host that was restored from an older backup gets its lost events back from its peers. Without a proof a peer
could invent what the host's users said. The proof is a keyed hash (BLAKE2b, RFC 7693) of the event; the key
never leaves the host, so that nobody else can make one.
"""

import base64
import hashlib
import hmac
from typing import Final

from culture.names import fold
from culture.protocol.event_record import LINKS_ONLY, PROOF_TAG, EventRecord

_BYTES: Final = 15


class EventProofs:
    """Makes and checks the proofs of this host's events."""

    def __init__(self, key: bytes, *, is_lenient: bool = False) -> None:
        """`is_lenient`: accept events without a valid proof, because the key of earlier events is lost."""
        if len(key) < 16:
            raise ValueError("the key for event proofs needs at least 16 bytes")
        self._key = key[:64]
        self._is_lenient = is_lenient

    def prove(self, event: EventRecord) -> EventRecord:
        """Add the proof to an event of this host, unless the event is of a kind that no host stores."""
        if event.command in LINKS_ONLY or PROOF_TAG in event.tags:
            return event
        return event._replace(tags={**event.tags, PROOF_TAG: self._proof(event)})

    def checked(self, event: EventRecord) -> EventRecord | None:
        """Return an event that a peer sent back, or None if this host did not make it."""
        tags = dict(event.tags)
        proof = tags.pop(PROOF_TAG, "")
        is_proved = hmac.compare_digest(proof, self._proof(event._replace(tags=tags)))
        return event if is_proved or self._is_lenient else None

    def _proof(self, event: EventRecord) -> str:
        """Hash an event without its parties, and without its channels: a limited link carries only some."""
        tags = [part for name in sorted(event.tags) for part in (name, event.tags[name])]
        account = (event.account or "").partition("@")[0]
        at_ms = str(int(event.at * 1000))
        fields = (
            *(
                event.id,
                at_ms,
                event.command,
                fold(event.target),
                event.source,
                account,
                event.text,
                str(event.seq),
                event.to,
            ),
            *(str(event.is_public), str(len(event.params)), *event.params, *tags),
        )
        # No field of an event contains a NUL, so the separator is unambiguous.
        digest = hashlib.blake2b("\0".join(fields).encode(), digest_size=_BYTES, key=self._key)
        return base64.urlsafe_b64encode(digest.digest()).decode()
