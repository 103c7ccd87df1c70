"""RFC 6962 Merkle tree hashes over byte strings: the roots of a block's events and of its outputs.

Only roots here; inclusion and consistency proofs build on the same two hash functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

EMPTY_ROOT = sha256(b"").digest()
"""The root of a tree without leaves (RFC 6962, section 2.1)."""


def leaf_hash(data: bytes) -> bytes:
    """SHA-256 over 0x00 and the data: 32 octets."""
    return sha256(b"\x00" + data).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The Merkle tree hash of leaves that are already hashed.

    Works level by level: pairing neighbours and carrying an odd last one up gives the same tree as RFC 6962's split
    at the largest power of two, without its recursion.
    """
    if not leaves:
        return EMPTY_ROOT
    level = list(leaves)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        above = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
        if len(level) % 2:
            above.append(level[-1])
        level = above
    return level[0]
