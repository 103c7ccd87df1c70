"""Who holds a request for review for the moment, so that two people do not read the same one. Pure.

A word on `review-leases` asks for a lease, lengthens it, or gives it back. The first one by offset wins; a lease ends
by the broker's time of its word and the seconds that it asks for. So every reader of the topic comes to the same
holder. A lease is a courtesy between people: who decided is in the review, and what counts is the policy's to say.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from ...codecs.decode import decode_json
from ...codecs.errors import Fault
from ...codecs.records import Identifier

LONGEST_SECONDS: Final = 600
"""Far below the time for which the topic keeps every word (topics.py)."""
SECONDS: Final = 300
MOST_HELD: Final = 20
"""Requests that one reviewer may hold at a time at the console: who holds all of them keeps the others from working."""


class LeaseWord(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One word on `review-leases`, key `emission_id#span-key`.

    Attributes:
        emission_id, span_key: of the assertion.
        holder: who asks.
        seconds: for how long from the broker's time on, at most `LONGEST_SECONDS`; 0 gives it back.
    """

    emission_id: Identifier
    span_key: str
    holder: Identifier
    seconds: int = SECONDS


class Lease(NamedTuple):
    """Who holds a request, and until when (Unix ms)."""

    holder: str
    until: int

    def is_live(self, now: int) -> bool:
        """Whether it is held at this time."""
        return now < self.until


def after(current: Lease | None, word: LeaseWord, at: int) -> Lease | None:
    """The lease after a word.

    Args:
        current: before it.
        word: the next one of this key, in the order of offsets.
        at: the broker's time of the word, Unix ms.
    """
    if current is not None and current.is_live(at) and current.holder != word.holder:
        return current  # somebody was first
    if word.seconds <= 0:
        return None
    return Lease(word.holder, at + 1000 * min(word.seconds, LONGEST_SECONDS))


def key_of(emission_id: str, span_key: str) -> str:
    """The key of an assertion, as outputs have it."""
    return f"{emission_id}#{span_key}"


_words = msgspec.json.Decoder(LeaseWord)


def read_word(key: bytes | None, value: bytes | None) -> LeaseWord | None:
    """The word of a record; None where it is none."""
    word = decode_json(value, _words)
    if isinstance(word, Fault):
        return None
    return word if key == key_of(word.emission_id, word.span_key).encode() else None
