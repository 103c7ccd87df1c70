"""The digest of a record: by which an observation or a review says what exactly it is about (docs/security.md).

An id, an attempt and a span are names that anybody may write into a record. The digest is over the bytes of the value
as they stand on the topic, so it names one content.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

PREFIX: Final = "sha256:"
PATTERN: Final = r"^sha256:[0-9a-f]{64}(?![\s\S])"
"""What a digest looks like."""
LENGTH: Final = len(PREFIX) + 64
"""Its characters."""
_DIGITS: Final = frozenset("0123456789abcdef")


def digest_of(record: bytes) -> str:
    """The digest of a record's value.

    Args:
        record: the value of the Kafka record, byte for byte.

    Returns:
        `sha256:` and 64 lower-case hex digits.
    """
    return PREFIX + sha256(record).hexdigest()


def is_digest(text: str) -> bool:
    """Whether a text has the form of a digest."""
    return len(text) == LENGTH and text.startswith(PREFIX) and _DIGITS.issuperset(text[len(PREFIX) :])


def names(digest: str, first_bytes: bytes) -> bool:
    """Whether a digest is of the record whose SHA-256 begins so.

    Args:
        digest: well formed.
        first_bytes: the first bytes of a record's SHA-256, at most 32 of them.
    """
    return digest.startswith(first_bytes.hex(), len(PREFIX))
