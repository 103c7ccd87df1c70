"""The keys that the strict profile needs, and a policy that lists them (docs/security.md).

Each party has a private key in a file of its own. A key that is there stays; so the same call may be made at every
start, and makes only what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from ...codecs.errors import UsageError
from ...codecs.notes import Verifier
from ...codecs.signatures import public_key_of
from ...streams.policy.keys import Key, Keys
from ...streams.policy.policy import CheckpointKeys, Observer, Policy
from .signing import load_or_make_signer

_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Parties(NamedTuple):
    """The names of those that sign.

    Attributes:
        workers: as their keys are called in checkpoints.
        reviewers: people with a key of their own.
        roles: services that sign for people.
    """

    workers: Sequence[str] = ()
    observers: Sequence[str] = ()
    emitters: Sequence[str] = ()
    reviewers: Sequence[str] = ()
    roles: Sequence[str] = ()

    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The names by the first part of their files' names."""
        return {
            "worker": self.workers,
            "observer": self.observers,
            "emitter": self.emitters,
            "reviewer": self.reviewers,
            "role": self.roles,
        }


class ProfileKey(NamedTuple):
    """One key that the profile has: whose, in which file, and whether it was made just now."""

    kind: str
    name: str
    path: Path
    verifier: Verifier
    is_new: bool


def make_keys(folder: Path, parties: Parties) -> list[ProfileKey]:
    """The keys of these parties, in `folder/KIND-NAME.key`; those that are missing are made.

    Raises:
        UsageError: two parties of one kind would share a file; or a file cannot be read or written, or holds no
            private key.
    """
    made: list[ProfileKey] = []
    paths: dict[Path, str] = {}
    for kind, names in parties.kinds().items():
        for name in dict.fromkeys(names):
            path = folder / f"{kind}-{_FILE_NAME.sub('-', name)}.key"
            if (other := paths.setdefault(path, name)) != name:
                raise UsageError(f"{other!r} and {name!r} would have one key file", path=str(path))
            is_new = not path.exists()
            signer = load_or_make_signer(path, re.sub(r"[\s+]+", "-", name)[:256])
            made.append(ProfileKey(kind, name, path, signer.verifier, is_new))
    return made


def with_keys(policy: Policy, keys: Sequence[ProfileKey], origin: str) -> Policy:
    """The policy with these keys beside those that it lists, for the deployment of that name."""
    observers = dict(policy.observers)
    for one in keys:
        if one.kind == "observer":
            before = observers.get(one.name, Observer())
            observers[one.name] = replace(before, public_key=_listed(one)[0].public_key)
    reviewers, emitters = policy.reviewers, policy.emitters
    return replace(
        policy,
        origin=origin,
        observers=observers,
        reviewers=replace(
            reviewers, keys=_added(reviewers.keys, keys, "reviewer"), roles=_added(reviewers.roles, keys, "role")
        ),
        emitters=replace(emitters, keys=_added(emitters.keys, keys, "emitter")),
        checkpoints=CheckpointKeys(keys=_added(policy.checkpoints.keys, keys, "worker")),
    )


def _added(before: Keys, keys: Sequence[ProfileKey], kind: str) -> Keys:
    # Checkpoints name the key itself, whose name has no blanks.
    return before | {
        one.verifier.name if kind == "worker" else one.name: _listed(one) for one in keys if one.kind == kind
    }


def _listed(one: ProfileKey) -> list[Key]:
    return [Key(public_key=public_key_of(str(one.verifier)) or "")]
