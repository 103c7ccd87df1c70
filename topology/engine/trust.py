"""Whose checkpoints count: those of the worker's own key, and of the keys that the policy lists (docs/security.md).

The keys that the strict profile needs are made at once, with a policy that lists them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec.structs import replace

from ...codecs.errors import DoesNotHoldError, UsageError
from ...codecs.notes import Checkpoint, Note, Verifier, signers_of
from ...codecs.signatures import did_of, normalised, public_key_of
from ...codecs.times import format_time
from ...streams.policy.keys import Key, Keys, standing
from ...streams.policy.policy import CheckpointKeys, Observer, Policy, policy_of_document
from .signing import load_or_make_signer, make_secret


class TrustedKey(NamedTuple):
    """A verifier, and the key with its time that a policy lists; None: it counts at any time."""

    verifier: Verifier
    key: Key | None

    def counts_at(self, time: int) -> bool:
        """Whether what it signs counts at that time (Unix ms)."""
        return self.key is None or self.key.counts_at(time)


def demand_counting(checkpoint: Checkpoint, note: Note, known: Iterable[TrustedKey]) -> None:
    """Demands that one of the `known` keys signed a checkpoint in its `note`, at a time at which the key counts.

    Raises:
        DoesNotHoldError: none did, or a signature under a known key's name and id does not hold.
    """
    keys = {(one.verifier.name, one.verifier.id): one for one in known}
    signers = signers_of(note, [one.verifier for one in keys.values()])
    if not any(keys[one.name, one.id].counts_at(checkpoint.time) for one in signers):
        names = ", ".join(f"{one.name}+{one.id.hex()}" for one in signers)
        raise DoesNotHoldError("a checkpoint is signed with a key whose time is over, or has not begun", got=names)


class Trust:
    """The keys that one worker knows: its `own`, and those that the newest policy lists.

    `policy` is what a new ledger starts with; `documents` those that were applied since, as they stand in the topic,
    the newest first; none that the one before it does not let follow.
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
    shown = {"worker": "checkpoint key", "operator": "policy key"}
    return [
        f"{shown.get(kind, kind)} {name}, {key.public_key}, revoked at {format_time(key.revoked)}"
        for kind, keys in _all_keys(policy).items()
        for name in sorted(keys)
        for key in keys[name]
        if key.revoked is not None
    ]


def _all_keys(policy: Policy) -> Mapping[str, Keys]:
    """The keys that a policy lists, by kind of party and name."""
    return {
        "observer": {name: one.all_keys for name, one in policy.observers.items()},
        "reviewer": policy.reviewers.keys,
        "role": policy.reviewers.roles,
        "emitter": policy.emitters.keys,
        "validator": policy.attestations.validators,
        "worker": policy.checkpoints.keys,
        "operator": policy.policies.keys,
    }


def _verifier(name: str, public_key: str) -> Verifier:
    return Verifier(name, Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key)))


_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_BLANKS: Final = re.compile(r"[\s+]+")


class Parties(NamedTuple):
    """The names of those that sign."""

    workers: Sequence[str] = ()  # as their keys are called in checkpoints
    observers: Sequence[str] = ()
    emitters: Sequence[str] = ()  # those whose effect the policy gives by `[effect]`
    internal_emitters: Sequence[str] = ()  # those whose effect is internal
    reviewers: Sequence[str] = ()  # people with a key of their own
    roles: Sequence[str] = ()  # services that sign for people
    validators: Sequence[str] = ()  # DIDs; a name that is none gets the `did:key` of its key
    operators: Sequence[str] = ()  # those who sign the policy that follows

    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The names by the first part of their files' names."""
        return {
            "worker": self.workers,
            "observer": self.observers,
            "emitter": (*self.emitters, *self.internal_emitters),
            "reviewer": self.reviewers,
            "role": self.roles,
            "validator": self.validators,
            "operator": self.operators,
        }


class Places(NamedTuple):
    """Where the files lie.

    Attributes:
        apart: each in a folder of its own, so that a program can be given its own alone: as a volume, for instance.
    """

    folder: Path  # of all of them
    apart: bool = False

    @property
    def policy(self) -> Path:
        """The policy that lists the keys."""
        return self.folder / "policy" / "policy.toml" if self.apart else self.folder / "policy.toml"

    @property
    def secret(self) -> Path:
        """What identifiers are hashed with."""
        return self.folder / "privacy" / "privacy-secret" if self.apart else self.folder / "privacy-secret"

    def key(self, kind: str, name: str) -> Path:
        """A party's private key: `KIND-NAME.key`; apart, `KIND-NAME/private.key`, where the kind stands only once."""
        safe = _FILE_NAME.sub("-", name)
        if not self.apart:
            return self.folder / f"{kind}-{safe}.key"
        return self.folder / (safe if safe.startswith(f"{kind}-") else f"{kind}-{safe}") / "private.key"


class ProfileKey(NamedTuple):
    """One key that the profile has: whose, in which file, and whether it was made just now."""

    kind: str
    name: str
    path: Path
    verifier: Verifier
    is_new: bool


def make_keys(places: Places, parties: Parties) -> list[ProfileKey]:
    """The keys of these parties; those that are missing are made.

    Raises:
        UsageError: two parties would share a file; a validator's DID is none; or a file cannot be read or written, or
            holds no private key.
    """
    paths: dict[Path, tuple[str, str]] = {}
    for kind, names in parties.kinds().items():
        for name in dict.fromkeys(names):
            path = places.key(kind, name)
            if (other := paths.setdefault(path, (kind, name))) != (kind, name):
                raise UsageError(f"{other[1]!r} and {name!r} would have one key file", path=str(path))
            if _is_meant_as_did(kind, name) and normalised(name) is None:
                raise UsageError("the validator's DID is none", path="--validator", expected="did:METHOD:ID", got=name)
    return [_made(path, kind, name) for path, (kind, name) in paths.items()]


def _made(path: Path, kind: str, name: str) -> ProfileKey:
    is_new = not path.exists()
    verifier = load_or_make_signer(path, _BLANKS.sub("-", name)[:256]).verifier
    if kind == "validator":
        name = (normalised(name) or "") if _is_meant_as_did(kind, name) else did_of(verifier.public_key)
    return ProfileKey(kind, name, path, verifier, is_new)


def _is_meant_as_did(kind: str, name: str) -> bool:
    return kind == "validator" and name[:4].lower() == "did:"


def make_secret_for(places: Places, policy: Policy) -> bool | None:
    """Makes the secret that a policy hashes identifiers with: whether it is new, None where the policy hashes nothing.

    Raises:
        UsageError: the file cannot be written.
    """
    return make_secret(places.secret) if policy.privacy.hashes else None


def with_keys(policy: Policy, keys: Sequence[ProfileKey], origin: str, internal: Sequence[str] = ()) -> Policy:
    """Returns the policy (a profile, or one that lists keys already) with these `keys` beside those that it lists.

    `origin` is the deployment's name, `internal` are the emitters whose effect is internal.
    """
    observers = dict(policy.observers)
    for one in keys:
        if one.kind == "observer":
            before = observers.get(one.name, Observer())
            if _key(one).public_key not in {key.public_key for key in before.all_keys}:
                observers[one.name] = (
                    replace(before, keys=[*before.keys, _key(one)])
                    if before.all_keys
                    else replace(before, public_key=_key(one).public_key)
                )
    reviewers, emitters, attestations = policy.reviewers, policy.emitters, policy.attestations
    return replace(
        policy,
        origin=origin,
        observers=observers,
        effect=policy.effect | dict.fromkeys(internal, "internal"),
        reviewers=replace(
            reviewers, keys=_added(reviewers.keys, keys, "reviewer"), roles=_added(reviewers.roles, keys, "role")
        ),
        emitters=replace(emitters, keys=_added(emitters.keys, keys, "emitter")),
        attestations=replace(attestations, validators=_added(attestations.validators, keys, "validator")),
        checkpoints=CheckpointKeys(keys=_added(policy.checkpoints.keys, keys, "worker")),
        policies=replace(policy.policies, keys=_added(policy.policies.keys, keys, "operator")),
    )


def numbered(policy: Policy, before: Policy | None) -> Policy:
    """Returns the policy with a `sequence` that lets it follow upon the one written before, where the two differ."""
    if before is None or not before.policies.keys:
        return policy
    kept = max(policy.policies.sequence, before.policies.sequence)
    same = replace(policy, policies=replace(policy.policies, sequence=kept))
    return same if same == before else replace(policy, policies=replace(policy.policies, sequence=kept + 1))


def replaced(policy: Policy, keys: Sequence[ProfileKey]) -> list[ProfileKey]:
    """Keys that were made just now for parties to which a policy gives another key: their files were lost."""
    listed = _all_keys(policy)
    return [one for one in keys if one.is_new and listed[one.kind].get(_listed_name(one))]


def _added(before: Keys, keys: Sequence[ProfileKey], kind: str) -> Keys:
    added = dict(before)
    for one in keys:
        if one.kind == kind:
            known = added.get(_listed_name(one), [])
            if _key(one).public_key not in {key.public_key for key in known}:
                added[_listed_name(one)] = [*known, _key(one)]
    return added


def _listed_name(one: ProfileKey) -> str:
    # Checkpoints name the key itself, whose name has no blanks.
    return one.verifier.name if one.kind == "worker" else one.name


def _key(one: ProfileKey) -> Key:
    return Key(public_key=public_key_of(str(one.verifier)) or "")
