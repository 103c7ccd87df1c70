"""Whose checkpoints count: those of the worker's own key, and of the keys that the policy lists (docs/security.md).

Anybody who can write to the topic `checkpoints` can put a note there. A worker that took a stranger's note for another
lane's would sign a tip that never was; one that took it for its own lane's would refuse a ledger that is whole. So a
note counts only where a key signed it that the worker knows, in that key's time.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ...codecs.checkpoints import Checkpoint
from ...codecs.errors import DoesNotHoldError
from ...codecs.notes import Note, Verifier, signers_of
from ...codecs.signatures import public_key_of
from ...codecs.times import format_time
from ...streams.policy.keys import Key, standing
from ...streams.policy.policy import Policy, policy_of_document


class TrustedKey(NamedTuple):
    """A verifier, and the key with its time that a policy lists; None: it counts at any time."""

    verifier: Verifier
    key: Key | None

    def counts_at(self, time: int) -> bool:
        """Whether what it signs counts at that time (Unix ms)."""
        return self.key is None or self.key.counts_at(time)


def demand_counting(checkpoint: Checkpoint, note: Note, known: Iterable[TrustedKey]) -> None:
    """Demands that one of these keys signed a checkpoint, at a time at which the key counts.

    Args:
        checkpoint: the note's.
        note: with the signatures.
        known: the keys that are believed, each in its own time.

    Raises:
        DoesNotHoldError: none did, or a signature under a known key's name and id does not hold.
    """
    keys = {(one.verifier.name, one.verifier.id): one for one in known}
    signers = signers_of(note, [one.verifier for one in keys.values()])
    if not any(keys[one.name, one.id].counts_at(checkpoint.time) for one in signers):
        names = ", ".join(f"{one.name}+{one.id.hex()}" for one in signers)
        raise DoesNotHoldError("a checkpoint is signed with a key whose time is over, or has not begun", got=names)


class Trust:
    """The keys that one worker knows.

    Args:
        own: the worker's.
        policy: the policy that a new ledger starts with.
        documents: the policies that were applied since, as they stand in the topic, the newest first; none that the
            one before it does not let follow.
    """

    def __init__(
        self, own: Verifier, policy: Policy | None = None, documents: Callable[[], Iterable[bytes]] = lambda: ()
    ) -> None:
        self._own, self._documents = own, documents
        self._first = () if policy is None else listed(policy)

    def demand(self, checkpoint: Checkpoint, note: Note) -> None:
        """That a known key signed a checkpoint, at a time at which it counts.

        Raises:
            DoesNotHoldError: none did, or a signature under a known key's name and id does not hold.
        """
        demand_counting(checkpoint, note, self.known())

    def known(self) -> list[TrustedKey]:
        """The worker's own key, and those that the newest policy lists."""
        newest = next((keys for one in self._documents() if (keys := _listed_by(one)) is not None), self._first)
        own = (self._own.name, self._own.id)
        return [TrustedKey(self._own, None), *(one for one in newest if (one.verifier.name, one.verifier.id) != own)]


@lru_cache(maxsize=16)  # asked for each checkpoint; successors are signatures to verify
def _listed_by(document: bytes) -> Sequence[TrustedKey] | None:
    """The keys that a document lists; None for what is no policy."""
    try:
        return listed(policy_of_document(document))
    except msgspec.MsgspecError:
        return None


def listed(policy: Policy) -> Sequence[TrustedKey]:
    """The keys that a policy lists for checkpoints, without successors that do not count (docs/security.md)."""
    found = [
        (name, key, public_key_of(key.public_key))
        for name, keys in policy.checkpoints.keys.items()
        for key in standing(name, keys, policy.origin)
    ]
    # A document that no file was made into can list what is no key.
    return [TrustedKey(_verifier(name, text), key) for name, key, text in found if text is not None]


def revoked_keys(policy: Policy) -> list[str]:
    """Every key that a policy lists as revoked, of whatever party, a few words each.

    What such a key signed before may not be its owner's word (streams/policy/keys.py); lanes have taken it.
    """
    parties: dict[str, Mapping[str, Sequence[Key]]] = {
        "observer": {name: one.all_keys for name, one in policy.observers.items()},
        "reviewer": policy.reviewers.keys,
        "role": policy.reviewers.roles,
        "emitter": policy.emitters.keys,
        "validator": policy.attestations.validators,
        "checkpoint key": policy.checkpoints.keys,
        "policy key": policy.policies.keys,
    }
    return [
        f"{kind} {name}, {key.public_key}, revoked at {format_time(key.revoked)}"
        for kind, keys in parties.items()
        for name in sorted(keys)
        for key in keys[name]
        if key.revoked is not None
    ]


def _verifier(name: str, public_key: str) -> Verifier:
    return Verifier(name, Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key)))
