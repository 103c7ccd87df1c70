"""What a decision's record says, as JSON: the members of `records.Decision`, written one behind the other.

Untrusted text stands in the frame, sanitised [V §4, §5]; outside it stand identifiers, enumerated values, numbers and
times only, and none of these has a character that JSON would escape. So they are put into the text as they are, and
only what strangers wrote goes through an encoder: 6 us a record, where filling the structs took 11 and encoding them 2.
The structs of `records.py` say what the members are; that a record is byte for byte what msgspec makes of its struct is
a property that the tests hold it to.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from ...codecs.blocks import Block
from ...codecs.canonical import assertion_hash
from ...codecs.errors import Fault
from ...codecs.json_decoding import decode_any
from ...codecs.records import AnyStep, Basis, Effect, Reason, RequestEnd, Status
from ...codecs.spans import Span, parse_span_key
from ...codecs.times import format_time
from ..policy.policy import Policy
from ..policy.privacy import RedactionPolicy, Secret
from ..sanitise import (
    WARNING,
    AttestationRules,
    Trace,
    Treatment,
    clean,
    clean_tree,
    frame_attestation,
    treatment_of,
)
from .checked_json import Shown, shown
from .emission_state import ALONE, CLASSES, AssertionState, ClassEvidence, steps_of, whole
from .fold_layout import RecordTexts
from .grounding import data_categories, is_matched
from .witnesses import Witness

_CHAIN_CAP = 2000
"""Bytes that any one string of a provenance chain keeps; the contract's cap for a rationale [V §4.1]."""


def to_json(value: Any) -> str:
    """Any value of a record; what a stranger wrote always goes through here."""
    return _encode(value).decode()


_encode = msgspec.json.Encoder().encode
_CLASS = attrgetter("substrate_class")
_FRAME = f'"_untrusted_text":{{"warning":{to_json(WARNING)},"assertion":'
_FRAME_TYPE = '"@type":"veritas:UntrustedValidatorText"'
_UNCHANGED = Trace().meta()
_META_UNCHANGED = to_json(_UNCHANGED)
_NO_TEXT = (f'{_FRAME}"",{_FRAME_TYPE},"attestations":[],"chain":[]}},', _META_UNCHANGED)


def decision_id(state: AssertionState, status: Status | RequestEnd) -> str:
    """The first 32 hex digits of SHA-256 over emission id, attempt, span key, status and revision."""
    named = f"{state.emission_id}\x1f{state.attempt}\x1f{state.span_key}\x1f{status}\x1f{state.revision}"
    return sha256(named.encode()).hexdigest()[:32]


class DecisionText(msgspec.Struct, frozen=True, gc=False):
    """A record but for its place among the block's outputs; requests share their record's.

    Attributes:
        id: its identifier.
        start, checks, head: what stands before the index: up to the member `checks`, that, and the rest.
        tail: what stands behind the index; the last brace is missing.
        counted: how many classes count.
    """

    id: str
    start: str
    checks: str
    head: str
    tail: str
    counted: int

    def with_checks(self, checks: str) -> DecisionText:
        """The same with another member `checks`, with a comma behind it."""
        return replace(self, checks=checks)

    def at(self, index: int, more: str = "") -> bytes:
        """The whole record, with more members behind."""
        return f"{self.start}{self.checks}{self.head}{index}{self.tail}{more}}}".encode()


class DecisionWriter:
    """Writes the records of one block. Reads the assertions, never changes them."""

    def __init__(self, block: Block, policy: Policy, policy_hash: str, secret: Secret | None = None) -> None:
        header = block.header
        self._policy = policy
        self._redaction = RedactionPolicy(policy.privacy, secret)
        self._ledger = (
            f'"canonicalisation_version":"0.3","policy":"{policy_hash}",'
            f'"ledger":{{"partition":{header.lane},"height":{header.height},"index":'
        )
        self._behind = f',"block":"{block.hash}"}},"_meta":'

    def texts(self) -> RecordTexts:
        """What stands in each record of this block, for the compiled core (compiled.py)."""
        return RecordTexts(
            ledger=self._ledger.encode(),
            behind=self._behind.encode(),
            frame=_FRAME.encode(),
            frame_type=_FRAME_TYPE.encode(),
            no_text=_NO_TEXT[0].encode(),
            meta=_META_UNCHANGED.encode(),
            reviewing=f'"reviewing":{{"_untrusted_text":{{{_FRAME_TYPE},"warning":{to_json(WARNING)},"before":'.encode(),
        )

    def decision(
        self,
        type_: str,
        state: AssertionState,
        status: Status | RequestEnd,
        basis: Basis | None,
        reason: Reason | None,
        own: str = "",
        *,
        text: bool,
    ) -> DecisionText:
        """What a record says up to its `_meta`. Hot path: one text, in the order of the members.

        Args:
            own: members of this type that stand behind the reason, each with a comma behind it.
            text: whether there is anything in the frame.
        """
        id_, steps, counted = decision_id(state, status), steps_of(state), _counted(state)
        classes = [f'"{CLASSES[seen.number]}"' for seen in counted]
        evidence: list[str] = []
        retrievals: list[str] = []
        several = state.bounds.min_observers != ALONE and state.min_observers > 1
        for seen in _by_observer(state) if several else counted:
            name, at, who = CLASSES[seen.number], format_time(seen.ts), self._who(state, seen)
            evidence.append(f'{{"substrate_class":"{name}","observed_at":"{at}",{who}}}')
            retrievals.append(f'{{"step":"retrieval","source":"{name}","timestamp":"{at}","metadata":{{{who}}}}}')
        checked = shown(state, status, basis, commits=self._policy.privacy.observation_ids == "clear")
        frame, meta = self._frame(state, counted, retrievals, steps, checked) if text else _NO_TEXT
        based = f'"basis":"{basis}",' if basis else ""
        because = f'"reason":"{reason}",' if reason else ""
        observers = f'"min_observers":{state.min_observers},' if several else ""
        confidence = "" if state.confidence is None else f'"confidence":{to_json(state.confidence)},'
        start = (
            f'{{"@type":"sluice:{type_}","@version":"1.0","id":"{id_}","emission_id":"{state.emission_id}",'
            f'"attempt":{state.attempt},"span":{_span(state.span_key)},"kind":"{state.kind}","status":"{status}",'
            f'{based}{because}{own}"revision":{state.revision},"effect":"{state.effect}","k":{state.k},'
            f'{observers}"classes":[{",".join(classes)}],"evidence":[{",".join(evidence)}],'
            f"{checked.outside if checked else ''}"
        )
        head = (
            f'"grounded":{"true" if state.grounded else "false"},{self._grounding(state, steps, counted)}'
            f'"data":{_data(state, steps)},{confidence}'
            f'"emitted_at":"{format_time(state.emitted_at)}",{frame}'
            f'"canonical_hash":"{assertion_hash(state.text, state.kind)}",{self._ledger}'
        )
        return DecisionText(id_, start, checked.checks if checked else "", head, self._behind + meta, len(counted))

    def _grounding(self, state: AssertionState, steps: list[AnyStep] | None, counted: Sequence[ClassEvidence]) -> str:
        """What stands beside `grounded` where that is claimed: whether a retrieval of the chain was matched to what
        observers saw."""
        if not state.grounded:
            return ""
        names = [state.id_of(seen) for seen in counted]
        names += [place.path for place in state.checking.places] if state.checking is not None else []
        return said_grounding(steps, {name for name in names if name})

    def _who(self, state: AssertionState, seen: ClassEvidence | Witness) -> str:
        """Who saw it, and what, as far as privacy lets it out (privacy.py)."""
        observation_id = whole(seen.id) if isinstance(seen, Witness) else state.id_of(seen)
        if observation_id is not None:
            observation_id = self._redaction.observation_id(observation_id, identity_bound=seen.identity_bound)
        return f'"observer":"{seen.observer}"' + (f',"observation_id":"{observation_id}"' if observation_id else "")

    def shown(self, observation_id: str, identity_bound: bool) -> bytes:
        """An observation id as far as privacy lets it out, for the compiled core; empty where it does not."""
        return (self.shown_id(observation_id, identity_bound) or "").encode()

    def shown_id(self, observation_id: str, identity_bound: bool) -> str | None:
        """An observation id as far as privacy lets it out; None where it does not."""
        return self._redaction.observation_id(observation_id, identity_bound=identity_bound)

    def _frame(
        self,
        state: AssertionState,
        counted: Sequence[ClassEvidence],
        retrievals: Sequence[str],
        steps: list[AnyStep] | None,
        checked: Shown | None,
    ) -> tuple[str, str]:
        """The frame, and the `_meta` that says what sanitation changed in it."""
        given = [seen.attestation for seen in counted if seen.attestation is not None]
        prose = checked.prose if checked else state.text
        assertion, attestations, own, checks, meta = self.framed(prose, state.effect, steps, given, checked)
        # The emitter's own steps, a retrieval for each counted evidence, then the hand-off from the emitter.
        handoff = f'{{"step":"agent-handoff","agent_name":"{state.emitter or "sluice"}"}}'
        return (
            f'{_FRAME}{assertion},{_FRAME_TYPE},"attestations":{attestations},{checks}'
            f'"chain":[{",".join((*own, *retrievals, handoff))}]}},',
            meta,
        )

    def framed(
        self,
        text: str,
        effect: Effect,
        steps: list[AnyStep] | None,
        attestations: Sequence[bytes],
        checked: Shown | None,
    ) -> tuple[str, str, list[str], str, str]:
        """What strangers wrote, sanitised: the text, attestations, the chain's steps, what was checked with a comma
        behind each member, and the `_meta` that says what changed in them; each as JSON."""
        treatment, trace = self.treatment(effect), Trace()
        assertion = to_json(clean(text, "assertion", self._policy.sanitation.caps["assertion"], treatment, trace))
        framed = self._attestations(attestations, trace)
        own = [to_json(step) for step in self._own_chain(steps, treatment, trace)] if steps else []
        checks = checked.framed(treatment, trace) if checked else ""
        return assertion, to_json(framed) if framed else "[]", own, checks, _meta(trace)

    def treatment(self, effect: Effect) -> Treatment:
        """What becomes of confusable characters; what `reject` refuses is decided before this (decisions.py), and a
        rejected text is still shown to a reviewer."""
        return treatment_of(self._policy.sanitation.confusables.of(effect), "word")

    def _own_chain(self, steps: list[AnyStep], treatment: Treatment, trace: Trace) -> list[dict[str, Any]]:
        chain: list[dict[str, Any]] = msgspec.to_builtins(steps)
        if self._redaction.hides_sources:
            for step in chain:
                self._redaction.source(step)
        return clean_tree(chain, "chain", _CHAIN_CAP, treatment, trace)

    def _attestations(self, attestations: Sequence[bytes], trace: Trace) -> list[dict[str, Any]]:
        framed: list[dict[str, Any]] = []
        for attestation in attestations:
            one = self._attestation(attestation, len(framed), trace)
            if one is not None:
                framed.append(one)
        return framed

    def _attestation(self, attestation: bytes, place: int, trace: Trace) -> dict[str, Any] | None:
        rules = attestation_rules(self._policy)
        body = decode_any(attestation)
        framed = frame_attestation(body, rules, trace=trace, within=f"attestations[{place}].")
        if isinstance(framed, Fault):  # mistyped: it is not returned [V §3]; the observation stands without it
            trace.reject_attestation(framed.reason)
            return None
        return framed["attestations"][0]


def _meta(trace: Trace) -> str:
    meta = trace.meta()
    return _META_UNCHANGED if meta is _UNCHANGED else to_json(meta)


def said_grounding(chain: Sequence[AnyStep] | None, names: Collection[str]) -> str:
    """The member `grounding`, with a comma behind it (`grounding.is_matched`)."""
    return f'"grounding":"{"matched" if is_matched(chain, names) else "claimed"}",'


def attestation_rules(policy: Policy) -> AttestationRules:
    """What the policy says about attestations, as the sanitiser takes it."""
    registry = policy.attestations
    return AttestationRules(
        consensus_domains=tuple(registry.consensus_domains),
        confusables={name: domain.confusables for name, domain in registry.domains.items()},
        confusables_by={name: domain.confusables_by for name, domain in registry.domains.items()},
        caps=policy.sanitation.caps,
    )


def _span(key: str) -> str:
    """The span outside the frame: numbers and identifiers only. A pointer's names are the emitter's words, so it
    stands percent-encoded, as in the key (RFC 6901, section 6)."""
    if key.startswith("c:"):
        return _characters(key)
    return to_json(Span(path=key[2:]) if key.startswith("p:") else parse_span_key(key))


@lru_cache(maxsize=4096)  # they are short, few and repeat: 0.1 us instead of 1.1
def _characters(key: str) -> str:
    return to_json(parse_span_key(key))


def _data(state: AssertionState, steps: list[AnyStep] | None) -> str:
    if not steps:
        return '["grounded"]' if state.grounded else "[]"
    return to_json(data_categories(state.grounded, steps))


def _counted(state: AssertionState) -> Sequence[ClassEvidence]:
    counted = [seen for seen in state.seen if seen.ts >= 0]
    counted.sort(key=_CLASS)
    return counted


def _by_observer(state: AssertionState) -> Sequence[Witness]:
    """Where several observers are needed: what each has seen of each class."""
    return sorted(state.witnesses, key=lambda one: (CLASSES[one.number], one.observer))
