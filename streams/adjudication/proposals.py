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

from collections.abc import Mapping, Sequence
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
    """Who signed of each assertion that its checks say all of it (`emission_state.Checking.proposed`).

    Args:
        checked: the policy in force, and at which time its keys have to count.
        emission: as it was read.
        value: the same as it came.

    Returns:
        For each assertion a proposer's name; empty where the proposal has no weight; None where there is none. An empty
        list where no assertion has one.
    """
    given = emission.assertions or ()
    if all(one.proposal is None for one in given):
        return ()
    known = checked.policy.judging.proposers
    found: list[str | None] = [None if one.proposal is None else "" for one in given]
    raw: list[Any] = []
    digest = ""
    for place, assertion in enumerate(given):
        proposal = assertion.proposal
        proposer = None if proposal is None else known.get(proposal.by)
        if proposal is None or proposer is None or not _says_all(assertion, proposal):
            continue
        if _is_emitter(checked.policy, emission, proposer):
            continue
        if not raw:
            try:
                record = cast("dict[str, Any]", parse_json(value or b""))
                raw, digest = record["assertions"], emission_digest(record)
            except CanonicalError:
                return found
        said = cast("Mapping[str, Any]", raw[place]["proposal"])
        origin = checked.policy.origin
        keys = [key.public_key for key in counted(proposal.by, proposer.keys, origin) if key.counts_at(checked.time)]
        if is_signed_proposal(keys, said, digest, assertion.span_key or "", origin):
            found[place] = proposal.by
    return found


def _says_all(assertion: Assertion, proposal: Proposal) -> bool:
    """Whether a proposal says that its checks are all of it, and they are among the assertion's checks."""
    if not proposal.whole or not proposal.checks:
        return False
    return not assertion.checks or _forms(proposal.checks) <= _forms(assertion.checks)


def _forms(texts: Sequence[str]) -> set[str]:
    checks = [parse_check(text) for text in texts]
    return {canonical(one) if isinstance(one, Check) else one.text for one in checks}


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
    return model is None or not {party(one) for one in proposer.models}.isdisjoint(map(party, [model, *vendors]))
