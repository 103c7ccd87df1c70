"""Who may attest, by example and by attack [V §3, §5], docs/security.md: one validator, one key, one vote."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from builders import attestation_value
from foreign_signing import key_of, public, sign

from sluice.codecs.blocks import Output
from sluice.codecs.times import format_time
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import Attestations, Policy

from .test_framing import Lane, T

DID = "did:web:university.example"
ANN, STRANGER = key_of(1), key_of(2)
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def listing(*, required: bool = False, did: str = DID, **time: int) -> Policy:
    """A policy in which one validator has a key."""
    keys = {did: [Key(public_key=public(ANN), **time)]}
    return Policy(attestations=Attestations(validators=keys, require_signatures=required))


def word(**fields: Any) -> dict[str, Any]:
    return attestation_value(issued_at=format_time(T), **fields)


def fate(policy: Policy, value: dict[str, Any]) -> str:
    """`grounded`, or why not."""
    output: Output = Lane(policy).one(value)
    return "grounded" if output.topic == "grounded" else dict(output.headers)["sluice-reason"].decode()


def did_key_of(number: int) -> str:
    """The `did:key` of a test's key, encoded by other code than ours decodes it with."""
    raw = b"\xed\x01" + base64.b64decode(public(key_of(number)))
    value, text = int.from_bytes(raw, "big"), ""
    while value:
        value, digit = divmod(value, 58)
        text = ALPHABET[digit] + text
    return f"did:key:z{text}"


def test_without_keys_any_validator_is_heard():
    """As before: the reference profile asks for no signature."""
    assert fate(Policy(), word()) == "grounded"


def test_a_validator_with_a_key_signs():
    """Unsigned and by a stranger's key it is refused, by its own it is taken."""
    assert fate(listing(), word()) == "unauthorised-validator"
    assert fate(listing(), sign(STRANGER, "attestations", word())) == "unauthorised-validator"
    assert fate(listing(), sign(ANN, "attestations", word())) == "grounded"


@pytest.mark.parametrize("did", ["DID:web:University.Example", "did:web:university%2Eexample"])
def test_another_spelling_is_no_way_round_the_key(did: str):
    """A name that is written otherwise is the same validator, in the policy and in the record."""
    assert fate(listing(), word(validator_did=did)) in ("unauthorised-validator", "mistyped")


def test_the_output_names_a_validator_in_one_spelling():
    """So that views count one vote."""
    (output,) = Lane(Policy()).block([Lane(Policy()).record(word(validator_did="did:web:university%2Eexample"))])

    assert b'"validator_did":"did:web:university.example"' in output.value


def test_a_signature_is_for_what_was_said():
    """Another verdict under it does not hold."""
    assert fate(listing(), sign(ANN, "attestations", word()) | {"verdict": "FALSE"}) == "unauthorised-validator"


def test_what_was_signed_for_another_topic_does_not_hold():
    assert fate(listing(), sign(ANN, "reviews", word())) == "unauthorised-validator"


@pytest.mark.parametrize("origin", ["sluice", "another"])
def test_a_validator_need_not_know_the_deployment(origin: str):
    assert fate(listing(), sign(ANN, "attestations", word(), origin)) == "grounded"


def test_where_signatures_are_required_nobody_else_is_heard():
    other = word(validator_did="did:web:else.example")

    assert fate(listing(required=True), sign(STRANGER, "attestations", other)) == "unauthorised-validator"
    assert fate(listing(), other) == "grounded"


def test_a_did_key_signs_with_its_own_key():
    """Without the network; only where the policy lists no validator."""
    policy = Policy(attestations=Attestations(require_signatures=True))
    mine = word(validator_did=did_key_of(1))

    assert fate(policy, sign(ANN, "attestations", mine)) == "grounded"
    assert fate(policy, sign(STRANGER, "attestations", mine)) == "unauthorised-validator"
    assert fate(listing(required=True), sign(ANN, "attestations", mine)) == "unauthorised-validator"


@pytest.mark.parametrize(("time", "expected"), [({"until": T}, "unauthorised-validator"), ({"since": T}, "grounded")])
def test_a_key_counts_in_its_time(time: dict[str, int], expected: str):
    assert fate(listing(**time), sign(ANN, "attestations", word())) == expected


def test_a_signed_word_says_when_it_was_issued():
    """And not in the future: who dates ahead would never be overtaken."""
    late = attestation_value(issued_at=format_time(T + 3_600_000))

    assert fate(listing(), sign(ANN, "attestations", attestation_value())) == "mistyped"
    assert fate(listing(), sign(ANN, "attestations", late)) == "clock-skew"


def test_an_earlier_canonical_form_is_taken_only_where_the_policy_says_so():
    old = attestation_value(canonicalisation_version="0.2")
    lenient = Policy(attestations=Attestations(min_canonicalisation="0.2"))

    assert fate(Policy(), old) == "mistyped"
    assert fate(lenient, old) == "grounded"
