"""Whose word it is that the proposed checks of an assertion say all of it (docs/checks.md).

A proposal counts where a proposer that the policy lists signed it for this assertion of this emission, with a key that
counts at the block's time. It never counts for what its proposer emitted itself: by the same key, the same model, or a
model of the same vendor. Where a proposer names its models, an emission that names none may be of one of them. Without
weight a proposal says no more than that its checks speak of a part.

An emitter's own checks stay what they are: a proposal beside them adds and replaces none, else whoever hands an
emission on could take a check away that fails. Its `whole` then counts only where all its checks are among the
emitter's. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ...codecs.canonical import CanonicalError, parse_json
from ...codecs.records import Assertion, Emission, Proposal
from ...codecs.signatures import emission_digest, is_signed_proposal
from ..judging.checks import Check, canonical, parse_check
from ..policy.keys import counted
from ..policy.policy import Policy, Proposer
from .corroboration import party
from .validation import Checked


def proposers_of(checked: Checked, emission: Emission, value: bytes | None) -> Sequence[str | None]:
    """Returns who signed of each assertion that its checks say all of it (`emission_state.Checking.proposed`).

    Args:
        checked: the policy in force, and at which time its keys have to count.
        emission: as it was read.
        value: the same as it came.

    Returns:
        For each assertion a proposer's name; empty where the proposal has no weight; None where there is none. An empty
        list where no assertion has one.
    """
    assertions, policy = emission.assertions or (), checked.policy
    if all(assertion.proposal is None for assertion in assertions):
        return ()
    names: list[str | None] = [None if assertion.proposal is None else "" for assertion in assertions]
    weighty = [
        (number, assertion, assertion.proposal)
        for number, assertion in enumerate(assertions)
        if assertion.proposal is not None and _may_count(policy, emission, assertion, assertion.proposal)
    ]
    if not weighty:
        return names
    try:
        record = cast("dict[str, Any]", parse_json(value or b""))
        digest = emission_digest(record)
    except CanonicalError:
        return names
    for number, assertion, proposal in weighty:
        keys = counted(proposal.by, policy.judging.proposers[proposal.by].keys, policy.origin)
        counting = [key.public_key for key in keys if key.counts_at(checked.time)]
        said = record["assertions"][number]["proposal"]
        if is_signed_proposal(counting, said, digest, assertion.span_key or "", policy.origin):
            names[number] = proposal.by
    return names


def _may_count(policy: Policy, emission: Emission, assertion: Assertion, proposal: Proposal) -> bool:
    """Whether a proposal has weight once its signature holds."""
    proposer = policy.judging.proposers.get(proposal.by)
    return proposer is not None and _says_all(assertion, proposal) and not _is_emitter(policy, emission, proposer)


def _says_all(assertion: Assertion, proposal: Proposal) -> bool:
    """Whether a proposal says that its checks are all of it, and they are among the assertion's checks."""
    if not proposal.whole or not proposal.checks:
        return False
    return not assertion.checks or _forms(proposal.checks) <= _forms(assertion.checks)


def _forms(texts: Sequence[str]) -> set[str]:
    checks = [parse_check(text) for text in texts]
    return {canonical(check) if isinstance(check, Check) else check.text for check in checks}


def _is_emitter(policy: Policy, emission: Emission, proposer: Proposer) -> bool:
    """Whether a proposer is, or may be, who emitted; an emitter that did not sign, where others do, may be anybody."""
    emitters, emitter = policy.emitters, emission.emitter
    name = emitter.system if emitter is not None else None
    is_anybody = not emitters.is_authenticated(name)
    keys = emitters.keys.values() if is_anybody else [emitters.keys.get(name or "", [])]
    own = {key.public_key for listed in keys for key in listed}
    if any(key.public_key in own for key in proposer.keys):
        return True
    if not proposer.models:
        return False
    model = emitter.model if emitter is not None else None
    vendors = list(emitters.vendor.values()) if is_anybody else [emitters.vendor.get(name or "", "")]
    return model is None or not set(map(party, proposer.models)).isdisjoint(map(party, [model, *vendors]))
