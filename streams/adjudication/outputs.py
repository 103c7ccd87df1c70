"""Output records: built, framed and named so that folding the same ledger again gives the same bytes
(docs/reference/records.md).

A lane writes decisions, verdicts, requests, dead letters, and citations: what the bind lane needs to join a sighting
with an assertion, which are its sentence, its checks, and the proposers of them. Nothing is read of the sentence here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal

import msgspec

from ...codecs.blocks import Block, Event, EventKind, Output
from ...codecs.decode import MAX_TEXT, assertion_text
from ...codecs.errors import Fault
from ...codecs.identifiers import Span
from ...codecs.records import Annotation, Assertion, Basis, Disposition, Emission, Reason, RequestEnd, Review, Status
from ...codecs.times import format_time
from ...codecs.vocabulary import recognise
from ..policy.policy import Policy
from ..policy.privacy import Secret, may_be_credentials
from . import check_tally, corroboration, follow_up_requests
from .decision_json import (
    DecisionText,
    DecisionWriter,
    VerdictWriter,
    asked_for,
    attestation_rules,
    decision_id,
    to_json,
)
from .decisions import Verdict
from .emission_state import AssertionState, EmissionState
from .fold_layout import RecordHeaders
from .follow_up_requests import re_emission_members
from .trace import UNTRACED, FoldTrace, RequestEnded

MAX_BYTES: Final = 1_000_000
"""Bytes of one emission's citations together: what it may hold itself."""
MAX_PATH: Final = 4096
"""Characters of a path that a citation repeats."""

_encode = msgspec.json.Encoder().encode


class Citing:
    """The citations of one emission, within its bounds.

    Args:
        emission: as it was read.
        classes: the bare classes that are cited.
        cited_at: the block's time, Unix ms.
        digest: of the emission's record.
    """

    def __init__(self, emission: Emission, classes: Collection[str], cited_at: int, digest: str) -> None:
        self._emission, self._classes, self._at = emission, classes, format_time(cited_at)
        self._digest = digest
        self._byte_count = 0
        self.left_out = 0  # annotations beyond the bounds

    def of(self, assertion: Assertion) -> Iterator[tuple[bytes, bytes]]:
        """Key and value of each citation of an assertion, in the order of its annotations, each once."""
        seen: set[bytes] = set()
        for annotation in assertion.annotations:
            name = _cited(annotation, self._emission.vocabulary, self._classes)
            cited = annotation.declared_id
            if name is None or cited is None or may_be_credentials(cited):
                continue
            value = self._citation(assertion, annotation, name, cited)
            if value is None:
                self.left_out += 1
            elif value not in seen:
                seen.add(value)
                yield cited.encode(), value

    def _citation(self, assertion: Assertion, annotation: Annotation, name: str, cited: str) -> bytes | None:
        text = assertion_text(self._emission, assertion)
        value = _encode(
            {
                "observation_id": cited,
                "substrate_class": name,
                "emission_id": self._emission.emission_id,
                "attempt": self._emission.attempt,
                "span": assertion.span or Span(path=""),
                "kind": assertion.kind,
                "cited_at": self._at,
                "digest": self._digest,
                **_judged_by(text, assertion, annotation.locator or {}),
            }
        )
        if self._byte_count + len(value) > MAX_BYTES:
            return None
        self._byte_count += len(value)
        return value


def _cited(annotation: Annotation, vocabulary: str, classes: Collection[str]) -> str | None:
    """The bare class of an annotation that is to be cited; None for any other, a terminal or an unknown one."""
    found = recognise(annotation.substrate_class, vocabulary)
    return found.name if found.name in classes and not (found.terminal or annotation.unknown) else None


def _judged_by(text: str, assertion: Assertion, locator: Mapping[str, Any]) -> dict[str, Any]:
    """What a sighting is judged by."""
    proposal, path = assertion.proposal, locator.get("path")
    members: dict[str, Any] = {}
    if len(text) <= MAX_TEXT:
        members["text"] = text
    checks = assertion.checks or (None if proposal is None else proposal.checks)
    if checks:
        members["checks"] = checks
    if proposal is not None:
        members |= {"proposer": proposal.by, "whole": proposal.whole}
    if isinstance(path, str) and 0 < len(path) <= MAX_PATH:
        members["path"] = path
    return members


ADMITTED, INADMISSIBLE = "admitted", "inadmissible"
REVIEWS, REEMISSIONS = "review-requests", "re-emission-requests"
DEAD_LETTERS = "dead-letters"
CITATIONS = "citations"
VERDICTS = "verdicts"

_SETTLED, _UNSETTLED = ("ce_type", b"sluice.verdicts.settled"), ("ce_type", b"sluice.verdicts.pending")
_ENDED: Final = b'{"@type":"sluice:EndedReviewRequest"'
_SPECVERSION, _JSON = ("ce_specversion", b"1.0"), ("content-type", b"application/json")


class Writer:
    """Collects the outputs of one block, in order. Reads the assertions, never changes them.

    Args:
        block: whose outputs these are.
        policy: that the block is folded under.
        policy_hash: of that policy; every decision names it.
        secret: under which the policy has observation ids hashed; None where there is none.
        trace: notes each decision.
    """

    def __init__(
        self,
        block: Block,
        policy: Policy,
        policy_hash: str,
        secret: Secret | None = None,
        trace: FoldTrace = UNTRACED,
    ) -> None:
        self.outputs: list[Output] = []
        self._block, self._policy, self._trace = block, policy, trace
        self._decisions = DecisionWriter(block, policy, policy_hash, secret)
        self.verdicts = VerdictWriter(block, policy_hash)
        self._source = ("ce_source", f"/sluice/lanes/{block.header.lane}".encode())
        self._time = ("ce_time", format_time(block.header.time).encode())

    @property
    def decisions(self) -> DecisionWriter:
        """What writes the decisions of this block."""
        return self._decisions

    def headers(self) -> RecordHeaders:
        """The headers that each record of this block has, for the compiled core (compiled.py)."""
        return RecordHeaders(_SPECVERSION, self._source, self._time, _JSON)

    # ------------------------------------------------------------ about assertions

    def admitted(
        self, state: AssertionState, status: Status, basis: Basis, reason: Reason | None = None, *, text: bool
    ) -> None:
        """Writes a record on `admitted` about `state` with this `status`, its `basis` and `reason`. The records that
        close an assertion and a policy's refusal carry no `text`."""
        decision = self._decisions.decision("AdmittedAssertion", state, status, basis, reason, text=text)
        more = "" if state.admitted_at < 0 else f',"admitted_at":"{format_time(state.admitted_at)}"'
        if state.valid_until >= 0:
            more += f',"valid_until":"{format_time(state.valid_until)}"'
        self._put(ADMITTED, state, (status, reason), decision, more)

    def inadmissible(
        self,
        state: AssertionState,
        verdict: Verdict,
        disposition: Disposition,
        quote: dict[str, Any] | None,
        request: bool,
        again: tuple[int, int] | None = None,
        assertion: Assertion | None = None,
    ) -> None:
        """Writes the record on `inadmissible`, and where `request` is set the request that the `disposition` asks for.

        `quote` is the one that violates a citation. `again` is, of another attempt that is told how to mend this one,
        how many are left, and until when (Unix ms). The `verdict` is on `state`; `assertion` is as its emission makes
        it, where it has just come.
        """
        status, reason = verdict
        own = f'"disposition":"{disposition}",'
        if quote is not None:
            own += f'"citation":{to_json(quote)},'
        decision = self._decisions.decision("InadmissibleAssertion", state, status, None, reason, own, text=True)
        self._put(INADMISSIBLE, state, verdict, decision, disposition=disposition)
        topic = {"review": REVIEWS, "re-emit": REEMISSIONS}.get(disposition)
        if request and topic == REVIEWS:
            deadline = self._block.header.time + self._policy.admissibility.review_window
            self._ask(state, verdict, decision, deadline, assertion)
        elif request and topic:
            more = _missing(state)
            if topic == REEMISSIONS and again is not None:
                commits = self._policy.privacy.observation_ids == "clear"
                more += re_emission_members(state, *again, self._decisions.treatment(state.effect), commits=commits)
            self._put(topic, state, verdict, decision, more, disposition)

    def _ask(
        self,
        state: AssertionState,
        verdict: Verdict,
        decision: DecisionText,
        deadline: int,
        assertion: Assertion | None,
    ) -> None:
        """The request for a review of a decision; `deadline` in Unix ms."""
        checks, more = self.request_members(state, deadline, assertion)
        self._put(REVIEWS, state, verdict, decision.with_checks(checks), more, "review")

    def request_members(
        self, state: AssertionState, deadline: int, assertion: Assertion | None = None
    ) -> tuple[str, str]:
        """Returns what a request for a review has beyond the record on `inadmissible`: the member `checks` as JSON, and
        the members that follow the record's, as JSON with a comma before each. The review of `state` ends at `deadline`
        (Unix ms); `assertion` is as in `inadmissible`."""
        more = _missing(state) + self._reviewers(state)
        return follow_up_requests.checks_json(state), more + follow_up_requests.review_members(
            state,
            assertion,
            deadline,
            self._decisions.shown_id,
            self._decisions.treatment(state.effect),
            commits=self._policy.privacy.observation_ids == "clear",
        )

    def asked_again(self, state: AssertionState, deadline: int) -> None:
        """The request for a review once more, after one of several reviewers: it takes the place of the one before."""
        status, reason = asked_for(state)
        own = '"disposition":"review",'
        decision = self._decisions.decision("InadmissibleAssertion", state, status, None, reason, own, text=True)
        self._ask(state, Verdict(status, reason), decision, deadline, None)

    def _reviewers(self, state: AssertionState) -> str:
        """Where several reviewers have to admit an assertion: how many, and who has."""
        needed = self._policy.reviewers.needed(state.effect)
        return "" if needed == 1 else f',"reviewers_needed":{needed},"admitted_by":{to_json(state.admitted_by)}'

    def request_ended(
        self, state: AssertionState, status: RequestEnd, review: Review | None, by_attempt: int | None
    ) -> None:
        """Writes the record that ends the request for a review of `state`: its last word on that topic. `status` says
        how it ends; a `review` may have ended it, or the newer attempt `by_attempt`."""
        reason = asked_for(state)[1]
        decision = self._decisions.decision(
            "EndedReviewRequest", state, status, None, reason, '"disposition":"review",', text=False
        )
        more = f'{_missing(state)},"ended_at":"{format_time(self._block.header.time)}"'
        if review is not None:
            more += f',"decision":"{review.decision}"'
            more += "" if review.reviewer is None else f',"reviewer":"{review.reviewer}"'
        if by_attempt is not None:
            more += f',"superseded_by":{by_attempt}'
        self._output(REVIEWS, state, status, decision, more)
        self._trace.note_of(RequestEnded, state, output=self.outputs[-1], status=status)

    def discarded(self, state: AssertionState, verdict: Verdict, quote: dict[str, Any] | None, request: bool) -> None:
        """Notes a decision that is discarded. No output is written: the trace gets the record that would have asked a
        reviewer. `state`, `verdict`, `quote` and `request` are as in `inadmissible`."""
        outputs, trace = self.outputs, self._trace
        self.outputs, self._trace = [], UNTRACED
        self.inadmissible(state, verdict, "review", quote, request)
        trace.decided(state, self.outputs[-1], *verdict, "discard")
        self.outputs, self._trace = outputs, trace

    def _put(
        self,
        topic: str,
        state: AssertionState,
        verdict: tuple[Status, Reason | None],
        decision: DecisionText,
        more: str = "",
        disposition: Disposition | Literal[""] = "",
    ) -> None:
        status, reason = verdict
        self._output(topic, state, status, decision, more)
        self._trace.decided(state, self.outputs[-1], status, reason, disposition)

    def _output(
        self, topic: str, state: AssertionState, status: Status | RequestEnd, decision: DecisionText, more: str
    ) -> None:
        headers = [
            _SPECVERSION,
            ("ce_id", f"{topic}/{decision.id}".encode()),
            self._source,
            _type_header(topic, status),
            self._time,
            _JSON,
        ]
        if state.traceparent is not None:
            headers.append(("traceparent", state.traceparent))
        key, value = f"{state.emission_id}#{state.span_key}".encode(), decision.at(len(self.outputs), more)
        self.outputs.append(Output(topic, key, value, headers))

    def citation(self, key: bytes, value: bytes, traceparent: bytes | None) -> None:
        """Writes an annotation that cites an observation id, an input of the binding lanes: `key` and `value` of the
        record, and the `traceparent` of its emission."""
        headers: list[tuple[str, bytes]] = [_JSON]
        if traceparent is not None:
            headers.append(("traceparent", traceparent))
        self.outputs.append(Output(CITATIONS, key, value, headers))

    def verdict(self, emission_id: str, emitter: str | None, known: EmissionState) -> None:
        """Writes what became of the assertions of an emission, without their texts. `emission_id` is the record's key,
        `emitter` the name that the emission gives, `known` its state."""
        index = len(self.outputs)
        value, settled = self.verdicts.record(emission_id, emitter, known, index)
        headers = [
            _SPECVERSION,
            ("ce_id", self.verdicts.texts.id + str(index).encode()),
            self._source,
            _SETTLED if settled else _UNSETTLED,
            self._time,
            _JSON,
        ]
        self.outputs.append(Output(VERDICTS, emission_id.encode(), value, headers))

    def dead_letter(self, event: Event, fault: Fault) -> None:
        """An input that was refused."""
        self.outputs.append(dead_letter(self._block, event, fault))


def dead_letter(block: Block, event: Event, fault: Fault) -> Output:
    """Returns the dead letter of an input: its raw bytes, untouched, and headers with the reason, the detail and the
    source.

    An oversize input's value is its hash, length and source instead. A batch that could not be read has what the ledger
    has of it, and the source of its first offset. The `block` holds the `event`; the `fault` says why it was refused.
    """
    source = source_of(block, event)
    value = event.value or b""
    if event.kind in (EventKind.OVERSIZE, EventKind.QUARANTINE):
        value = _encode({**msgspec.json.decode(value), "source": source})
    headers = [
        ("sluice-reason", fault.reason.encode()),
        ("sluice-detail", fault.detail.encode()),
        ("sluice-source", source.encode()),
        *event.headers,
    ]
    return Output(DEAD_LETTERS, event.key, value, headers)


def ends_request(output: Output) -> bool:
    """Whether an output is the end of a request for a review, which says nothing new about its assertion."""
    return output.topic == REVIEWS and output.value.startswith(_ENDED)


_TRACEPARENT = re.compile(rb"[0-9A-Za-z-]{1,256}")


def traceparent_of(event: Event) -> bytes | None:
    """Returns an input's `traceparent`, to be passed on as it stands; None where it holds what no trace context may
    hold. W3C Trace Context lets later versions be longer, so only the characters are judged."""
    for name, value in event.headers:
        if name == "traceparent":
            return value if _TRACEPARENT.fullmatch(value) else None
    return None


def source_of(block: Block, event: Event) -> str:
    """`topic/partition/offset` of the input that an event is."""
    header = block.header
    return f"{header.sources[event.source].topic}/{header.lane}/{event.offset}"


def _missing(state: AssertionState) -> str:
    """What an assertion would have needed, as members with a comma before each."""
    seen = sorted(seen.substrate_class for seen in state.seen if seen.latest >= 0 or seen.ts >= 0)
    said = f',"missing_floor":{check_tally.missing(state)},"classes_seen":{to_json(seen)}'
    if state.min_observers > 1:
        said += f',"missing_observers":{corroboration.missing_observers(state)}'
    return said


@cache  # topics times statuses
def _type_header(topic: str, status: str) -> tuple[str, bytes]:
    return "ce_type", f"sluice.{topic}.{status}".encode()


__all__ = ["Writer", "attestation_rules", "dead_letter", "decision_id", "ends_request", "source_of", "traceparent_of"]
