"""Checks that a proposer says an answer's statements have: asked for, attached and signed (docs/vetting.md).

The key is made for one run, and the run's policy lists it under each name that the proposer has. So its word that
checks say all of a statement counts here and nowhere else. A statement that a claim form covers goes to no other.
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ...codecs.decode import assertion_text
from ...codecs.records import Assertion, Emission
from ...codecs.signatures import emission_digest, sign_proposal
from ...record.proposing import Context, FormProposer, Proposer
from ...streams.judging.checks import Check, canonical, parse_check
from ...streams.judging.claim_forms import claim
from ...streams.policy.keys import Key
from ...streams.policy.policy import Policy
from ...streams.policy.policy import Proposer as Listed
from ..checkpoints.signing import new_signer
from .annotating import everywhere, widened
from .at_hand import AtHand

BEFORE: Final = 300
"""Characters before a statement that the proposer is shown."""


class ProposedChecks:
    """What one proposer says in one run.

    Args:
        proposer: says which checks statements have.
        at_hand: the checkout. A check on a symbol that names no file gets the one that alone defines the symbol, and
            the files of all checks are looked at.
    """

    def __init__(self, proposer: Proposer, at_hand: AtHand) -> None:
        self._proposer, self._at_hand = proposer, at_hand
        self._signer = new_signer("proposer")

    def listed(self, policy: Policy) -> Policy:
        """The policy, with the key of this run under each of the proposer's names."""
        key = Key(public_key=base64.b64encode(self._signer.verifier.public_key).decode())
        proposers = dict(policy.judging.proposers)
        for name in self._proposer.names:
            former = proposers.get(name)
            proposers[name] = Listed(keys=[key]) if former is None else replace(former, keys=[*former.keys, key])
        return replace(policy, judging=replace(policy.judging, proposers=proposers))

    def goes(self, emission: Emission, assertion: Assertion) -> bool:
        """Whether the proposer is asked for an assertion's checks."""
        if isinstance(self._proposer, FormProposer):
            return True
        claimed = claim(assertion_text(emission, assertion), assertion.kind)
        return claimed is None or not claimed.whole

    def attached(self, emission: Emission, record: dict[str, Any]) -> Emission:
        """The emission with the proposals for its assertions, unsigned.

        Args:
            emission: as it was read.
            record: the same as JSON.
        """
        digest = emission_digest(record)
        asked = [self._asked(emission, assertion, digest) for assertion in emission.assertions or ()]
        return replace(emission, assertions=asked)

    def _asked(self, emission: Emission, assertion: Assertion, digest: str) -> Assertion:
        if not self.goes(emission, assertion):
            return assertion
        context = context_of(emission, assertion)
        (proposal,) = self._proposer.propose([assertion_text(emission, assertion)], context, digest)
        if proposal is None:
            return assertion
        said = assertion_text(emission, assertion)
        checks = [
            self._at_home(check, said) for text in proposal.checks if isinstance(check := parse_check(text), Check)
        ]
        looks = assertion.annotations
        if checks and not assertion.checks:
            # What has neither an id nor a time is no call: it is where `vet` itself would look.
            noted = [one if one.observation_id or one.ts else everywhere(one) for one in looks]
            looks = widened(noted, checks, self._at_hand)
            proposal = replace(proposal, checks=list(map(canonical, checks)))
        return replace(assertion, proposal=proposal, provenance=looks)

    def _at_home(self, check: Check, said: str) -> Check:
        """A check with the file that defines its symbol, where the sentence names none: a path that stands before the
        sentence may be that of another symbol."""
        if check.path is not None and posixpath.basename(check.path) in said:
            return check
        home = self._at_hand.home_of(check)
        if home is None or (
            check.path is not None and posixpath.splitext(check.path)[1] != posixpath.splitext(home)[1]
        ):
            return check
        named = (*((name, value) for name, value in check.named if name != "path"), ("path", home))
        return replace(check, named=named)

    def sign(self, proposed: Sequence[tuple[Assertion, dict[str, Any]]], record: dict[str, Any], origin: str) -> None:
        """Writes the proposals of an emission into the record that is decided, signed for it.

        Args:
            proposed: its assertions that have one, each with its member of the record.
            record: the emission as JSON; its assertions are changed.
            origin: the deployment's name.
        """
        digest = emission_digest(record)
        for assertion, member in proposed:
            said = {**msgspec.to_builtins(assertion.proposal), "digest": digest}
            member["proposal"] = sign_proposal(said, assertion.span_key or "", self._signer, origin)


def context_of(emission: Emission, assertion: Assertion) -> Context:
    """What a proposer is told beside a statement: the last words that stand before it in the answer."""
    chars = None if assertion.span is None else assertion.span.chars
    before = "" if chars is None else (emission.text or "")[: chars[0]][-BEFORE:].strip()
    return Context((before,) if before else ())
