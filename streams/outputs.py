"""Output records: built, framed and named so that folding the same ledger again gives the same bytes (records.md).

Untrusted text stands in the frame, sanitised [V §4, §5]; outside it stand identifiers, enumerated values, numbers and
times only. Dead letters are the exception: quarantine, raw by design. Identifiers are hashes of what they name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ..codecs import records
from ..codecs.blocks import Block, Event, EventKind, Output
from ..codecs.canonical import canonical_hash
from ..codecs.errors import Fault
from ..codecs.records import Basis, Disposition, Status
from ..codecs.spans import Span, parse_span_key
from ..codecs.times import format_time
from .decisions import Verdict
from .grounding import data_categories
from .lives import Life, Seen, steps_of
from .policy import Policy
from .sanitise import WARNING, AttestationRules, Trace, clean, clean_tree, frame_attestation

ADMITTED, INADMISSIBLE = "admitted", "inadmissible"
REVIEWS, REEMISSIONS = "review-requests", "re-emission-requests"
DEAD_LETTERS = "dead-letters"

_encode = msgspec.json.Encoder().encode
_SPECVERSION, _JSON = ("ce_specversion", b"1.0"), ("content-type", b"application/json")
_CHAIN_CAP = 2000
"""Octets that any one string of a provenance chain keeps; the contract's cap for a rationale [V §4.1]."""


def decision_id(life: Life, status: Status) -> str:
    """The first 32 hex digits of SHA-256 over emission id, attempt, span key, status and revision."""
    parts = (life.emission_id, str(life.attempt), life.span_key, status, str(life.revision))
    return sha256("\x1f".join(parts).encode()).hexdigest()[:32]


class Writer:
    """Collects the outputs of one block, in order. Reads the lives, never changes them."""

    def __init__(self, block: Block, policy: Policy, policy_hash: str) -> None:
        self.outputs: list[Output] = []
        self._block = block
        self._lane = block.header.lane
        self._policy = policy
        self._policy_hash = policy_hash
        self._source = ("ce_source", f"/sluice/lanes/{self._lane}".encode())
        self._time = ("ce_time", format_time(block.header.time).encode())

    # ------------------------------------------------------------ about assertions

    def admitted(
        self, life: Life, status: Status, basis: Basis, reason: records.Reason | None = None, *, text: bool
    ) -> None:
        """A word on `admitted`. The closing words and a policy's refusal carry no text."""
        record = records.Admitted(
            **self._decision(life, status, basis, reason, text=text),
            admitted_at=UNSET if life.admitted_at < 0 else format_time(life.admitted_at),
            valid_until=UNSET if life.valid_until < 0 else format_time(life.valid_until),
        )
        self._put(ADMITTED, life, record)

    def inadmissible(
        self, life: Life, verdict: Verdict, disposition: Disposition, quote: dict[str, Any] | None, request: bool
    ) -> None:
        """The record on `inadmissible`, and the request that the disposition asks for."""
        parts = self._decision(life, verdict.status, UNSET, verdict.reason, text=True)
        parts |= {"disposition": disposition, "citation": UNSET if quote is None else quote}
        self._put(INADMISSIBLE, life, records.Inadmissible(**parts))
        topic = {"review": REVIEWS, "re-emit": REEMISSIONS}.get(disposition)
        if request and topic:
            seen = sorted(seen.substrate_class for seen in life.seen if seen.latest >= 0 or seen.ts >= 0)
            missing = max(0, life.k - len(parts["classes"]))
            parts["ledger"] = self._place()
            self._put(topic, life, records.Request(**parts, missing_floor=missing, classes_seen=seen))

    def _decision(
        self, life: Life, status: Status, basis: Basis | UnsetType, reason: records.Reason | None, *, text: bool
    ) -> dict[str, Any]:
        trace, counted = Trace(), _counted(life)
        return {
            "id": decision_id(life, status),
            "emission_id": life.emission_id,
            "attempt": life.attempt,
            "span": _span(life.span_key),
            "kind": life.kind,
            "status": status,
            "basis": basis,
            "reason": reason or UNSET,
            "revision": life.revision,
            "effect": life.effect,
            "k": life.k,
            "classes": [seen.substrate_class for seen in counted],
            "evidence": [self._evidence(life, seen) for seen in counted],
            "grounded": life.grounded,
            "data": data_categories(life.grounded, steps_of(life)),
            "confidence": UNSET if life.confidence is None else life.confidence,
            "emitted_at": format_time(life.emitted_at),
            "untrusted_text": self._frame(life, counted, trace) if text else records.UntrustedAssertion(WARNING, ""),
            "canonical_hash": canonical_hash({"assertion": life.text, "kind": life.kind})[0],
            "canonicalisation_version": "0.3",
            "policy": self._policy_hash,
            "ledger": self._place(),
            "meta": trace.meta(),
        }

    def _place(self) -> records.LedgerPlace:
        return records.LedgerPlace(self._lane, self._block.header.height, len(self.outputs), self._block.hash)

    def _evidence(self, life: Life, seen: Seen) -> records.Evidence:
        return records.Evidence(
            seen.substrate_class, format_time(seen.ts), seen.observer, self._observation_id(life, seen) or UNSET
        )

    def _observation_id(self, life: Life, seen: Seen) -> str | None:
        """The id as far as privacy lets it out: of the identity-bound tier never in clear [S §12]."""
        clear = self._policy.privacy.observation_ids == "clear" and not seen.identity_bound
        return life.id_of(seen) if clear else None

    def _frame(self, life: Life, counted: Sequence[Seen], trace: Trace) -> records.UntrustedAssertion:
        rules = self._policy.sanitation
        given = rules.confusables.external if life.effect == "external" else rules.confusables.internal
        # What `reject` refuses is decided before this (decisions.py); a rejected text is still shown to a reviewer.
        confusables = "replace" if given == "reject" else given
        return records.UntrustedAssertion(
            warning=WARNING,
            assertion=clean(life.text, "assertion", rules.caps["assertion"], confusables, trace),
            attestations=self._attestations(counted, trace),
            chain=[*self._own_chain(life, confusables, trace), *self._evidence_chain(life, counted)],
        )

    def _own_chain(self, life: Life, confusables: Any, trace: Trace) -> list[dict[str, Any]]:
        steps = steps_of(life)
        if not steps:
            return []
        chain: list[dict[str, Any]] = msgspec.to_builtins(steps)
        if self._policy.privacy.chain_sources != "clear":
            for step in chain:
                _hide_sources(step)
        return clean_tree(chain, "chain", _CHAIN_CAP, confusables, trace)

    def _evidence_chain(self, life: Life, counted: Sequence[Seen]) -> list[dict[str, Any]]:
        """A retrieval for each counted evidence, then the hand-off from the emitter; identifiers only."""
        chain: list[dict[str, Any]] = []
        for seen in counted:
            metadata = {"observer": seen.observer}
            if observation_id := self._observation_id(life, seen):
                metadata["observation_id"] = observation_id
            chain.append(
                {
                    "step": "retrieval",
                    "source": seen.substrate_class,
                    "timestamp": format_time(seen.ts),
                    "metadata": metadata,
                }
            )
        chain.append({"step": "agent-handoff", "agent_name": life.emitter or "sluice"})
        return chain

    def _attestations(self, counted: Sequence[Seen], trace: Trace) -> list[dict[str, Any]]:
        framed: list[dict[str, Any]] = []
        for seen in counted:
            one = self._attestation(seen, len(framed), trace)
            if one is not None:
                framed.append(one)
        return framed

    def _attestation(self, seen: Seen, place: int, trace: Trace) -> dict[str, Any] | None:
        if seen.attestation is None:
            return None
        rules = attestation_rules(self._policy)
        body = msgspec.json.decode(seen.attestation, type=dict[str, Any])
        framed = frame_attestation(body, rules, trace=trace, within=f"attestations[{place}].")
        if isinstance(framed, Fault):  # mistyped: it is not returned [V §3]; the observation stands without it
            return None
        return framed["attestations"][0]

    def _put(self, topic: str, life: Life, record: records.Decision) -> None:
        headers = [
            _SPECVERSION,
            ("ce_id", f"{topic}/{record.id}".encode()),
            self._source,
            ("ce_type", f"sluice.{topic}.{record.status}".encode()),
            self._time,
            _JSON,
        ]
        if life.traceparent is not None:
            headers.append(("traceparent", life.traceparent))
        self.outputs.append(Output(topic, f"{life.emission_id}#{life.span_key}".encode(), _encode(record), headers))

    def dead_letter(self, event: Event, fault: Fault) -> None:
        """An input that was refused."""
        self.outputs.append(dead_letter(self._block, event, fault))


def dead_letter(block: Block, event: Event, fault: Fault) -> Output:
    """The input's raw bytes, untouched, with the reason; of an oversize one its hash, length and source."""
    source = source_of(block, event)
    value = event.value or b""
    if event.kind == EventKind.OVERSIZE:
        value = _encode({**msgspec.json.decode(value), "source": source})
    headers = [
        ("sluice-reason", fault.reason.encode()),
        ("sluice-detail", fault.detail.encode()),
        ("sluice-source", source.encode()),
        *event.headers,
    ]
    return Output(DEAD_LETTERS, event.key, value, headers)


_TRACEPARENT = re.compile(rb"[0-9A-Za-z-]{1,256}")


def traceparent_of(event: Event) -> bytes | None:
    """An input's `traceparent`, to be passed on as it stands; None where it holds what no trace context ever may.

    W3C Trace Context lets later versions be longer, so only the characters are judged: a stranger may write anything.
    """
    for name, value in event.headers:
        if name == "traceparent":
            return value if _TRACEPARENT.fullmatch(value) else None
    return None


def source_of(block: Block, event: Event) -> str:
    """`topic/partition/offset` of the input that an event is."""
    header = block.header
    return f"{header.sources[event.source].topic}/{header.lane}/{event.offset}"


def attestation_rules(policy: Policy) -> AttestationRules:
    """What the policy says about attestations, as the sanitiser takes it."""
    registry = policy.attestations
    return AttestationRules(
        consensus_domains=tuple(registry.consensus_domains),
        confusables={name: domain.confusables for name, domain in registry.domains.items()},
        caps=policy.sanitation.caps,
    )


def _span(key: str) -> Span | None:
    """The span outside the frame: numbers and identifiers only. A pointer's names are the emitter's words, so it
    stands percent-encoded, as in the key (RFC 6901, section 6)."""
    return Span(path=key[2:]) if key.startswith("p:") else parse_span_key(key)


def _counted(life: Life) -> Sequence[Seen]:
    return sorted((seen for seen in life.seen if seen.ts >= 0), key=lambda seen: seen.substrate_class)


def _hide_sources(step: dict[str, Any]) -> None:
    """Privacy `chain_sources`: what was retrieved is left out, that something was retrieved stays [S §12]."""
    step.pop("source", None)
    step.pop("metadata", None)
    for side in ("left", "right"):
        for inner in step.get(side, ()):
            _hide_sources(inner)
