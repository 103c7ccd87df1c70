"""The gates that an input has to pass before it may speak: key, time, authority.

Each returns the `Fault` with which the input becomes a dead letter, or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from ...codecs.blocks import Event
from ...codecs.canonical import CanonicalError, assertion_hash, parse_json
from ...codecs.decode import decode_sighting
from ...codecs.errors import DeadLetterReason, Fault, schema_fault, too_many
from ...codecs.partition import PARTITIONERS, Partitioner
from ...codecs.records import (
    MAX_ASSERTIONS,
    Assertion,
    Emission,
    Emitter,
    Observation,
    Proposal,
    Retrieval,
    Review,
    Sighting,
)
from ...codecs.signatures import domain_of, emission_digest, is_signed_proposal
from ...codecs.times import format_time, parse_time
from ..judging.checks import Check, canonical, parse_check
from ..policy.keys import Key, counted, is_signed, looks_like, what_came
from ..policy.policy import Policy, Proposer
from . import corroboration, grounding
from .corroboration import party
from .emission_state import AssertionState, EmissionState, Phase, json_of
from .state import State


def misrouted(state: State, event: Event, emission_id: str) -> Fault | None:
    """Returns `misrouted` where a record is not on its emission's partition: the key of the `event` has to be
    `emission_id`, and hash to the lane of `state`. Otherwise evidence would never meet its emission."""
    if event.key != emission_id.encode():
        return wrong_key(event.key, "emission id", emission_id, state.partitioner)
    if emission_id in state:
        return None  # the partition of what was taken in has passed its test
    return wrong_partition(emission_id, state.lane, state.lanes, state.partitioner)


def wrong_key(key: bytes | None, what: str, wanted: str, partitioner: Partitioner) -> Fault | None:
    """Returns `misrouted` where a record's `key` is not the `wanted` one, by which its topic is partitioned
    (docs/reference/records.md). `what` names the wanted key in words, `partitioner` the lanes' partitioner."""
    if key is not None and key == wanted.encode():
        return None
    shown = "no key" if key is None else repr(key[:80].decode(errors="replace"))
    by = f"as key, which {partitioner} partitions by"
    return Fault("misrouted", f"expected the {what} {wanted!r} {by}, got {shown}")


def wrong_partition(key: str, lane: int, lanes: int, partitioner: Partitioner) -> Fault | None:
    """Returns `misrouted` where `key` belongs to the partition of another lane than `lane` of `lanes`, by the
    `partitioner`."""
    partition = PARTITIONERS[partitioner](key.encode(), lanes)
    if partition == lane:
        return None
    return Fault("misrouted", f"{partitioner} puts the key {key!r} into partition {partition} of {lanes}, got {lane}")


MAX_SPANNED: Final = 4_000_000
"""Characters that the assertions of one emission may have together: four times what a record holds."""

MAX_CHAINED: Final = 200_000
"""Bytes that the chains of one emission may have together, as JSON: each text of them is sanitised for every output."""


def too_much_text(emission: Emission) -> Fault | None:
    """`schema` where an emission would cost far more than its megabyte: spans that lie over one another become a
    gigabyte of state, sanitised chains an output that no broker takes, and quotations take minutes to compare."""
    total = chained = 0
    for assertion in emission.assertions or ():
        chars = None if assertion.span is None else assertion.span.chars
        total += chars[1] - chars[0] if chars is not None else len(assertion.assertion or "")
        chained += len(json_of(assertion.chain) or b"")
    if total > MAX_SPANNED:
        return schema_fault("$.assertions", f"spans of at most {MAX_SPANNED} characters together", str(total))
    if chained > MAX_CHAINED:
        return schema_fault("$.assertions", f"chains of at most {MAX_CHAINED} bytes together", str(chained))
    return grounding.too_much_cited(emission)


def skewed(state: State, path: str, instant: int | None) -> Fault | None:
    """Returns `clock-skew` where an `instant` (Unix ms; None where the member gives none) is further ahead of the time
    in `state` than `max_skew`: a date from the future would not age. `path` is the member's JSONPath."""
    if instant is None or state.policy is None:
        return None
    skew = state.policy.admissibility.max_skew
    if instant <= state.time + skew:
        return None
    latest = format_time(state.time + skew)
    return Fault("clock-skew", f"{path}: expected a time up to {latest}, got {format_time(instant)}")


def emission_skewed(state: State, emission: Emission) -> Fault | None:
    """`clock-skew` for the first time in an emission that lies too far ahead."""
    fault = skewed(state, "$.emitted_at", parse_time(emission.emitted_at))
    for place, assertion in enumerate(emission.assertions or ()):
        if fault is not None:
            return fault
        fault = _assertion_skewed(state, f"$.assertions[{place}]", assertion)
    return fault


def _assertion_skewed(state: State, path: str, assertion: Assertion) -> Fault | None:
    for at, annotation in enumerate(assertion.annotations):
        if annotation.ts is not None:
            fault = skewed(state, f"{path}.provenance[{at}].ts", parse_time(annotation.ts))
            if fault is not None:
                return fault
    for step in grounding.steps(assertion.chain) if assertion.chain else ():
        if isinstance(step, Retrieval) and step.timestamp is not None:
            fault = skewed(state, f"{path}.chain", parse_time(step.timestamp))
            if fault is not None:
                return fault
    return None


def too_old(state: State, emitted_at: int) -> Fault | None:
    """Nothing in an emission so old could be admitted, and whether it is a repetition is no longer known."""
    earliest = state.time - state.least_max_validity(emitted_at)
    if emitted_at >= earliest:
        return None
    got = format_time(emitted_at)
    return Fault("too-old", f"$.emitted_at: expected a time from {format_time(earliest)} on, got {got}")


class Checked(NamedTuple):
    """How the signatures of one block are checked.

    Attributes:
        policy: in force; what waits for its emission is not asked again.
        time: the block's, Unix ms; keys count in their own time.
    """

    policy: Policy
    time: int

    def is_signed(self, name: str, keys: Sequence[Key], topic: str, signature: str | None, value: bytes | None) -> bool:
        """Returns whether one of the `keys` of `name` signed the record `value` with this `signature`, and counts at
        the block's time. `topic` is the record's, by its logical name."""
        origin = self.policy.origin
        return is_signed(counted(name, keys, origin), self.time, signature, value, domain_of(topic, origin))


_REASONS: Final[dict[str, DeadLetterReason]] = {"emissions": "unauthorised-emitter", "reviews": "unauthorised-reviewer"}


def _refused(path: str, expected: str, got: str, topic: str = "observations") -> Fault:
    return Fault(_REASONS.get(topic, "unauthorised-observer"), f"$.{path}: expected {expected}, got {got}")


class _Party(NamedTuple):
    """Who has to answer for an input: `name`, in a sentence `shown`, at the member `path`. One of its `keys` has to
    sign; without keys it may speak unsigned, unless it is `required` to have what is `wanted` in the policy."""

    name: str
    shown: str
    path: str
    keys: Sequence[Key]
    required: bool
    wanted: str = "a key"


def _unsigned(checked: Checked, party: _Party, topic: str, signature: str | None, value: bytes | None) -> Fault | None:
    """Why an input is refused whose party has keys and none signed it, or needs one and has none."""
    if not party.keys:
        if not party.required:
            return None
        return _refused(party.path, f"one with {party.wanted} in the policy", party.shown, topic)
    if checked.is_signed(party.name, party.keys, topic, signature, value):
        return None
    return _refused("signature", f"the signature of {party.shown}", what_came(signature), topic)


def unauthorised(checked: Checked, seen: Observation | Sighting, value: bytes | None) -> Fault | None:
    """Returns why an observation or a sighting, `seen`, is refused under the policy in `checked` [S §11.1, §11.3].

    An observer with an entry speaks only for its classes, one with a key only under its signature, which has to hold
    for `value`; with `require_signatures` no other party may observe. Of an observation that a binding lane made, the
    sighting that it carries must be signed (`_unvouched`).
    """
    policy, name = checked.policy, seen.observer
    observer = policy.observers.get(name)
    if observer is not None and observer.classes and corroboration.class_of(seen) not in observer.classes:
        allowed = f"a class that {name!r} may speak for ({', '.join(observer.classes)})"
        return _refused("substrate_class", allowed, seen.substrate_class[:80])
    keys = observer.all_keys if observer is not None else []
    topic = "observations" if isinstance(seen, Observation) else "sightings"
    party = _Party(name, repr(name), "observer", keys, policy.require_signatures, "a public_key")
    fault = _unsigned(checked, party, topic, seen.signature, value)
    if fault is not None and keys and isinstance(seen, Observation) and seen.signature is None:
        sighting = carried(value)
        return fault if sighting is None else _unvouched(checked, keys, seen, sighting)
    return fault


def unauthorised_emitter(checked: Checked, emission: Emission, value: bytes | None) -> Fault | None:
    """Returns why an emission is refused (docs/security.md): an emitter with a key must sign, and where signatures are
    required only emitters with a key may emit. The policy is in `checked`; the signature of `emission` has to hold for
    `value`."""
    rules = checked.policy.emitters
    name = emission.emitter.system if emission.emitter is not None else None
    keys = rules.keys.get(name, []) if name is not None else []
    shown = "none" if name is None else repr(name)
    party = _Party(name or "", shown, "emitter.system", keys, rules.require_signatures)
    return _unsigned(checked, party, "emissions", emission.signature, value)


def unauthorised_reviewer(checked: Checked, review: Review, value: bytes | None) -> Fault | None:
    """Returns why a review is refused (docs/security.md): a reviewer with a key must sign, or a role must sign for it;
    where signatures are required only reviewers with a key count; where several are needed each must have a name. The
    policy is in `checked`; the signature of `review` has to hold for `value`."""
    rules, keys = checked.policy.reviewers, _reviewer_keys(checked, review)
    if review.role is not None:
        owner, path, required = f"the role {review.role!r}", "role", True  # who claims a role has to have its key
    else:
        owner, path, required = repr(review.reviewer), "reviewer", rules.require_signatures
    if review.reviewer is None and (rules.authenticates or rules.min_reviewers.external > 1):
        return _refused("reviewer", "a name", "none", "reviews")
    party = _Party(review.role or review.reviewer or "", owner, path, keys, required)
    return _unsigned(checked, party, "reviews", review.signature, value)


def stale_review(checked: Checked, review: Review, decided_at: int | None, assertion: AssertionState) -> Fault | None:
    """Returns why a review is not of this `assertion`: an old one may be sent again, after its emission was forgotten
    and its id used for other words.

    A `review` that names what was reviewed (`canonical_hash`) counts for that text alone. One with a time counts only
    for what was there at `decided_at` (Unix ms), give or take `max_skew` of the policy in `checked`. A signed admission
    has to give its time, and counts only if it was asked for then.
    """
    reason = "unrequested-review" if review.decision == "admit" else "late-review"
    if review.canonical_hash is not None:
        own = assertion_hash(assertion.text, assertion.kind)
        if review.canonical_hash != own:
            return Fault(
                reason, f"$.canonical_hash: expected {own}, that of the assertion, got {review.canonical_hash}"
            )
    is_signed = bool(_reviewer_keys(checked, review))
    if decided_at is None:
        if review.decision == "refuse" or not is_signed:
            return None
        return _refused("decided_at", "the time at which it was signed", "nothing", "reviews")
    since = assertion.arrival
    if is_signed and review.decision == "admit" and assertion.phase == Phase.REVIEW:
        since = max(since, assertion.admitted_at)
    if decided_at + checked.policy.admissibility.max_skew >= since:
        return None
    expected = f"a time from {format_time(since)} on, since when it may be reviewed"
    return Fault(reason, f"$.decided_at: expected {expected}, got {format_time(decided_at)}")


def _reviewer_keys(checked: Checked, review: Review) -> Sequence[Key]:
    """The keys one of which has to sign a review: the role's, or else the reviewer's."""
    rules = checked.policy.reviewers
    if review.role is not None:
        return rules.roles.get(review.role, [])
    return rules.keys.get(review.reviewer, []) if review.reviewer is not None else []


def out_of_order(known: EmissionState | None, attempt: int, max_attempts: int) -> Fault | None:
    """Returns `attempt-out-of-order` where the number `attempt` is too high, or None. Otherwise a stranger could close
    an emission's assertions with a number that the emitter never reaches. The newest attempt in `known` allows the next
    number only; of an emission that is not known, `max_attempts` is the greatest."""
    most = known.newest() + 1 if known is not None and known.attempts else max_attempts
    if attempt <= most:
        return None
    return Fault("attempt-out-of-order", f"$.attempt: expected {most} at most, got {attempt}")


MAX_REMEMBERED: Final = 5 * MAX_ASSERTIONS
"""Attempts of one emission, and assertions of all of them: each record on `verdicts` tells all that are remembered."""


def too_many_remembered(known: EmissionState, emission: Emission) -> Fault | None:
    """Returns `too-many-annotations` where the attempts of an emission would hold so much together that its record on
    `verdicts` is larger than a broker takes. `known` is without the attempt that came."""
    held = sum(1 + len(attempt.assertions) + len(attempt.closed) for attempt in known.attempts)
    count = 1 + len(emission.assertions or ()) + held
    if not known.attempts or count <= MAX_REMEMBERED:
        return None
    return too_many("$.assertions", "attempts and assertions of all attempts", MAX_REMEMBERED, count)


class _Carrier(msgspec.Struct, gc=False):
    """What of a bound observation its sighting is: the bytes as they were signed, member for member."""

    sighting: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_carriers = msgspec.json.Decoder(_Carrier)


def carried(value: bytes | None) -> bytes | None:
    """The signed sighting that an observation carries (binding.py), as JSON; None where it carries none."""
    try:
        sighting = _carriers.decode(value or b"").sighting
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return None if isinstance(sighting, msgspec.UnsetType) else bytes(sighting)


def _unvouched(checked: Checked, keys: Sequence[Key], bound: Observation, value: bytes) -> Fault | None:
    """Why a bound observation is not what its observer signed: what it says of the substrate must be the sighting's.

    The observer never knew of the assertion, so subject and outcome are nobody's signature: they are the binding lane's
    word, which counts only for classes that the policy has bound at all, and never for an invented id, which no
    sighting can tell. That nobody else says them is for the ACLs of `observations` (docs/observing.md).
    """
    cls = corroboration.class_of(bound)
    if cls not in checked.policy.sightings.classes:
        return _refused("substrate_class", "a class whose sightings the policy binds", bound.substrate_class[:80])
    if bound.outcome == "unknown-observation":
        return _refused("outcome", "what a sighting can say", bound.outcome)
    sighting = decode_sighting(value)  # the id and the observer are those of what it vouches for
    if isinstance(sighting, Fault):
        return _refused("sighting", "a sighting", f"one that is none ({sighting.detail})")
    if not checked.is_signed(bound.observer, keys, "sightings", sighting.signature, value):
        return _refused("sighting.signature", f"the signature of {bound.observer!r}", what_came(sighting.signature))
    signed = (sighting.observer, sighting.observation_id, sighting.tier, sighting.confidence)
    if (
        signed != (bound.observer, bound.observation_id, bound.tier, bound.confidence)
        or corroboration.class_of(sighting) != cls
        or parse_time(sighting.observed_at) != parse_time(bound.observed_at)
    ):
        return _refused("sighting", "the same observer, id, class, time, tier and confidence as signed", "others")
    return None


def identified(emitter: Emitter, refuse: tuple[str, ...]) -> Fault | None:
    """Returns a fault for a field of the emitter that looks like an identifier of an end-user [S §12]; the sentence
    does not repeat it. `refuse` is the policy's `emitters.refuse`."""
    for field, name in (("system", emitter.system), ("model", emitter.model), ("prompt", emitter.prompt)):
        if name is not None and (seen := looks_like(name, refuse)) is not None:
            expected = f"a name of a {field} that identifies no end-user"
            return Fault("schema", f"$.emitter.{field}: expected {expected}, got what looks like {seen}")
    return None


def proposers_of(checked: Checked, emission: Emission, value: bytes | None) -> Sequence[str | None]:
    """Returns by which proposer each assertion's checks are signed to be all of it
    (`emission_state.Checking.proposed`): a name; empty where the proposal has no weight; None where there is none. An
    empty list where no assertion has one. `checked` has the policy, `value` is the `emission` as it came.

    A proposal counts where a listed proposer signed it for this assertion of this emission (docs/checks.md). It never
    counts for what its proposer emitted itself: by the same key, the same model, or a model of the same vendor. An
    emitter's own checks stay: a proposal beside them adds and replaces none, and its `whole` counts only where all its
    checks are among theirs.
    """
    assertions, policy = emission.assertions or (), checked.policy
    if all(assertion.proposal is None for assertion in assertions):
        return ()
    names: list[str | None] = [None if assertion.proposal is None else "" for assertion in assertions]
    weighty = [
        (number, assertion, assertion.proposal)
        for number, assertion in enumerate(assertions)
        if assertion.proposal is not None and _proposal_counts(policy, emission, assertion, assertion.proposal)
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


def _proposal_counts(policy: Policy, emission: Emission, assertion: Assertion, proposal: Proposal) -> bool:
    """Whether a proposal has weight once its signature holds."""
    proposer = policy.judging.proposers.get(proposal.by)
    return proposer is not None and _says_all(assertion, proposal) and not _is_emitter(policy, emission, proposer)


def _says_all(assertion: Assertion, proposal: Proposal) -> bool:
    """Whether a proposal says that its checks are all of it, and they are among the assertion's checks."""
    if not proposal.whole or not proposal.checks:
        return False
    return not assertion.checks or _canonical_checks(proposal.checks) <= _canonical_checks(assertion.checks)


def _canonical_checks(texts: Sequence[str]) -> set[str]:
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
