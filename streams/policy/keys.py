"""Keys that a policy lists: who may sign what, from when until when (docs/security.md).

One name may have several keys: a successor is listed beside the key that it replaces, each with its own time. A key
holds for a record when the block's time lies in that time. `revoked` ends a key like `until`; it says besides that what
the key signed before may not be the owner's word, which the audit tells of.

A successor can be signed by the key that it follows (`signed_by`, `signature`). Such a key stands only where that key
is listed under the same name, stands itself, and was not revoked before. So the author of a policy cannot present a key
of their own as the successor of another party's key, and neither can a thief once the stolen key is revoked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from ...codecs.canonical import fast_canonical
from ...codecs.signatures import Domain, is_signature, is_signed_by_any, signed_bytes
from ...codecs.times import LATEST


class Key(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One public key and its time; times are Unix milliseconds, None where it has no such bound.

    Attributes:
        public_key: base64 of its 32 bytes.
        since: signatures count from here on.
        until: signatures count before this.
        revoked: the same, and the key is not trusted any more.
        signed_by: the public key that this one follows; None where the policy alone vouches for it.
        signature: base64 of that key's signature over name and public key (`succession_bytes`).
    """

    public_key: str
    since: int | None = None
    until: int | None = None
    revoked: int | None = None
    signed_by: str | None = None
    signature: str | None = None

    def __post_init__(self) -> None:
        if (self.signed_by is None) != (self.signature is None):
            raise ValueError("a key has signed_by and signature together")
        given = [one for one in (self.since, self.until, self.revoked) if one is not None]
        if not all(0 <= one <= LATEST for one in given):
            raise ValueError("times of a key are Unix milliseconds")
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise ValueError("a key's until lies behind its since")

    def counts_at(self, time: int) -> bool:
        """Whether a signature with this key counts at that time (Unix ms)."""
        ends = [one for one in (self.until, self.revoked) if one is not None]
        return (self.since is None or self.since <= time) and all(time < one for one in ends)


Keys = dict[str, list[Key]]
"""The keys of each name."""


def succession_bytes(name: str, public_key: str, origin: str) -> bytes:
    """What a key signs to be followed by another one.

    Args:
        name: whose both are.
        public_key: the successor, base64 of its 32 bytes.
        origin: the deployment's name: elsewhere the signature does not hold.
    """
    form = fast_canonical({"name": name, "public_key": public_key})
    return signed_bytes(Domain("policies", "succession", origin), form)


def standing(name: str, keys: Sequence[Key], origin: str) -> list[Key]:
    """The keys of a name that count: all but successors whose signature does not hold, in their order.

    Args:
        name: whose keys they are.
        keys: that the policy lists for the name.
        origin: the deployment's name: a succession that was signed for another deployment does not hold.
    """
    stands = [key for key in keys if key.signed_by is None]
    waiting = [key for key in keys if key.signed_by is not None]
    while found := [key for key in waiting if any(_is_signed_by(key, one, name, origin) for one in stands)]:
        stands += found
        waiting = [key for key in waiting if key not in found]
    return [key for key in keys if key in stands]


def counted(name: str, keys: Sequence[Key], origin: str) -> Sequence[Key]:
    """As `standing`, but fast enough for each record: where no key is a successor, the usual case, all keys count.

    Args:
        name: whose keys they are.
        keys: that the policy lists for the name.
        origin: the deployment's name.
    """
    if all(key.signed_by is None for key in keys):
        return keys
    return _standing(name, tuple(keys), origin)


@lru_cache(maxsize=1024)  # a signature for each successor, instead of one for each record and successor
def _standing(name: str, keys: tuple[Key, ...], origin: str) -> tuple[Key, ...]:
    return tuple(standing(name, keys, origin))


def _is_signed_by(key: Key, before: Key, name: str, origin: str) -> bool:
    if key.signed_by != before.public_key or key.signature is None:
        return False
    # A signature does not show when it was made, and a thief can sign as well as the owner. So the successor has to
    # begin before the key was revoked.
    if before.revoked is not None and (key.since is None or key.since >= before.revoked):
        return False
    return is_signature(before.public_key, key.signature, succession_bytes(name, key.public_key, origin))


def is_signed(keys: Iterable[Key], time: int, signature: str | None, record: bytes | None, domain: Domain) -> bool:
    """Whether one of these keys, in its time, signed a record.

    Args:
        keys: of whoever the record names.
        time: the block's, Unix ms.
        signature: the record's member; None where it has none.
        record: as it came.
        domain: what it has to be signed for.
    """
    if signature is None or record is None:
        return False
    counting = [key.public_key for key in keys if key.counts_at(time)]
    return is_signed_by_any(counting, signature, record, domain)


def what_came(signature: str | None) -> str:
    """What a fault says came in place of a signature that holds."""
    return "none" if signature is None else "one that does not hold"


def same_key(keys: Mapping[str, Sequence[Key]]) -> list[tuple[str, str]]:
    """Pairs of names that have one and the same key: who holds it speaks under both."""
    owners: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for name, listed in sorted(keys.items()):
        for public_key in sorted({one.public_key for one in listed}):
            if (other := owners.setdefault(public_key, name)) != name:
                found.append((other, name))
    return found
