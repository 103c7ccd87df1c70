"""Who may attest: a validator's word counts under its own signature, and in one spelling of its DID [V §3, §5],
docs/security.md.

Pure, and without memory: which word is a validator's newest is known to the lane's state (framing_state.py). A signed
word has to say when it was issued; no word may say that it was issued in the future, or it would never grow old.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

import msgspec

from ...codecs.dids import key_of, normalised
from ...codecs.errors import Fault
from ...codecs.records import Time
from ...codecs.signatures import ATTESTATION, DEFAULT_ORIGIN
from ...codecs.times import format_time, parse_time
from ..policy.keys import Key, counted, is_signed, what_came
from ..policy.policy import Attestations, Policy

WORD_BYTES: Final = 155
"""What a remembered word takes in memory (docs/capacity.md)."""


class _SignedBy(msgspec.Struct, gc=False):
    """What of an attestation says who speaks, and when."""

    validator_did: str
    signature: str | None = None
    issued_at: Time | None = None
    canonicalisation_version: str | None = None


_signers = msgspec.json.Decoder(_SignedBy)


class Validators(NamedTuple):
    """What a policy says about validators.

    Attributes:
        rules: the policy's table `attestations`.
        max_skew: how far ahead of the block's time a word may have been issued, milliseconds.
        origin: the deployment's, for which keys are succeeded.
        memory: bytes for the newest words of validators that the policy does not list (framing_state.py).
    """

    rules: Attestations = Attestations()
    max_skew: int = 30_000
    origin: str = DEFAULT_ORIGIN
    memory: int = 128 << 20

    @classmethod
    def of(cls, policy: Policy) -> Validators:
        """Those of a policy."""
        rules = policy.admissibility
        return cls(policy.attestations, rules.max_skew, policy.origin, rules.max_waiting_bytes)

    def most_words(self, did: str) -> int | None:
        """How many words of validators like this one are remembered; None, of one that the policy lists: all."""
        return None if self.rules.validators.get(did) else max(1, self.memory // WORD_BYTES)


def unauthorised_validator(validators: Validators, value: bytes, time: int) -> Fault | None:
    """Why an attestation is not its validator's word, or comes in a form that the policy does not take.

    Args:
        validators: the policy in force.
        value: the attestation as it came; it has its types already.
        time: the block's, Unix ms.
    """
    word, rules = _signers.decode(value), validators.rules
    given = word.canonicalisation_version
    if given is not None and given < rules.min_canonicalisation:
        expected = f"{rules.min_canonicalisation} or later"
        return Fault("mistyped", f"$.canonicalisation_version: expected {expected}, got {given!r}")
    did = normalised(word.validator_did)
    if did is None:
        return Fault("mistyped", f"$.validator_did: expected a DID, got {word.validator_did[:80]!r}")
    keys = _keys(rules, did)
    if not keys and rules.require_signatures:
        return Fault("unauthorised-validator", f"$.validator_did: expected one with a key in the policy, got {did!r}")
    counting = counted(did, keys, validators.origin)
    if keys and not is_signed(counting, time, word.signature, value, ATTESTATION):
        expected = f"the signature of {did!r}"
        return Fault("unauthorised-validator", f"$.signature: expected {expected}, got {what_came(word.signature)}")
    if keys and word.issued_at is None:
        return Fault("mistyped", "$.issued_at: expected the time at which it was signed, got nothing")
    issued, latest = _issued(word), time + validators.max_skew
    if issued is not None and issued > latest:
        return Fault("clock-skew", f"$.issued_at: expected a time up to {format_time(latest)}, got {word.issued_at}")
    return None


def issue_of(value: bytes) -> tuple[str, int | None]:
    """Whose word an attestation is, by the one spelling of its DID, and when it was issued (Unix ms), if it says so.

    Args:
        value: as it came; it is one that `unauthorised_validator` finds nothing against.
    """
    word = _signers.decode(value)
    return cast(str, normalised(word.validator_did)), _issued(word)


def _issued(word: _SignedBy) -> int | None:
    return None if word.issued_at is None else cast(int, parse_time(word.issued_at))


def _keys(rules: Attestations, did: str) -> list[Key]:
    """The keys of a validator: those that the policy lists; where it lists no validator, the one that a `did:key`
    holds."""
    if rules.validators:
        return rules.validators.get(did, [])
    own = key_of(did) if rules.require_signatures else None
    return [] if own is None else [Key(public_key=own)]
