"""Whose checkpoints count: those of the worker's own key, and of the keys that the policy lists (docs/security.md).

Anybody who can write to the topic `checkpoints` can put a note there. A worker that took a stranger's note for another
lane's would sign a tip that never was; one that took it for its own lane's would refuse a ledger that is whole. So a
note counts only where a key signed it that the worker knows, in that key's time.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ...codecs.checkpoints import Checkpoint
from ...codecs.errors import DoesNotHoldError
from ...codecs.notes import Note, Verifier, signers_of
from ...streams.policy.keys import Key
from ...streams.policy.policy import Policy, policy_of_document


class Known(NamedTuple):
    """A verifier, and the key with its time that the policy lists; None: the worker's own, at any time."""

    verifier: Verifier
    key: Key | None


class Trust:
    """The keys that one worker knows.

    Args:
        own: the worker's.
        policy: the policy that a new ledger starts with.
        documents: every document that was applied since, as it stands in the topic `policies`.
    """

    def __init__(
        self, own: Verifier, policy: Policy | None = None, documents: Callable[[], Sequence[bytes]] = lambda: ()
    ) -> None:
        self._own, self._policy, self._documents = own, policy, documents

    def demand(self, checkpoint: Checkpoint, note: Note) -> None:
        """That a known key signed a checkpoint, at a time at which it counts.

        Raises:
            DoesNotHoldError: none did, or a signature under a known key's name and id does not hold.
        """
        known = {(one.verifier.name, one.verifier.id): one for one in self.known()}
        signers = signers_of(note, [one.verifier for one in known.values()])
        keys = [known[one.name, one.id].key for one in signers]
        if not any(key is None or key.counts_at(checkpoint.time) for key in keys):
            names = ", ".join(f"{one.name}+{one.id.hex()}" for one in signers)
            raise DoesNotHoldError("a checkpoint is signed with a key whose time is over, or has not begun", got=names)

    def known(self) -> list[Known]:
        """The worker's own key, and those that the newest policy lists."""
        policy = self._newest() or self._policy
        listed = [] if policy is None else _listed(policy)
        own = (self._own.name, self._own.id)
        return [Known(self._own, None), *(one for one in listed if (one.verifier.name, one.verifier.id) != own)]

    def _newest(self) -> Policy | None:
        for document in reversed(self._documents()):
            if (policy := _policy_of(document)) is not None:
                return policy
        return None


@lru_cache(maxsize=16)
def _policy_of(document: bytes) -> Policy | None:
    try:
        return policy_of_document(document)
    except msgspec.MsgspecError:
        return None


def _listed(policy: Policy) -> list[Known]:
    return [
        Known(Verifier(name, Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public_key))), key)
        for name, keys in policy.checkpoints.keys.items()
        for key in keys
    ]
