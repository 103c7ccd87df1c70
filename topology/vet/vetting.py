"""Vets an answer without a broker: statements, checks (also proposed ones), observations, and the fold's decisions."""

from __future__ import annotations

import base64
import posixpath
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from ...codecs.blocks import MAX_BYTES, MAX_EVENTS
from ...codecs.decode import assertion_text, decode_emission
from ...codecs.errors import Fault
from ...codecs.identifiers import span_key
from ...codecs.records import Assertion, Emission, Observation
from ...codecs.signatures import emission_digest, sign_proposal
from ...codecs.times import parse_time
from ...codecs.unicode_text import nfkc
from ...record import Recorded
from ...record.proposing import Context, FormProposer, Proposer
from ...streams.judging.checks import Check, canonical, parse_check
from ...streams.judging.claim_forms import claim
from ...streams.judging.terms import terms_of
from ...streams.policy.keys import Key
from ...streams.policy.policy import DEFAULT_POLICY, FloorOfCheck, PerEffect, Policy
from ...streams.policy.policy import Proposer as Listed
from ..audit.explanation_words import ABSENT, UNDECIDED
from ..engine.folds import FoldFilter
from ..engine.signing import new_signer
from ..observers.ask import BOUND, OWN_EDIT
from ..observers.look import EVERY_ROOT, look
from ..observers.observation_record import signing_of, written
from ..observers.observer_registry import ObserverRegistry, now
from ..observers.roots import Roots
from ..settings.settings import Settings, secrets_of
from ..settings.showing import HELD
from .agents import held_since
from .annotating import everywhere, widened
from .at_hand import AtHand
from .vetted_assertions import (
    NOT_LOOKED_AT,
    SESSION,
    SESSION_REASONS,
    UNSETTLED,
    Missing,
    Place,
    Verdict,
    session_line,
)

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
        """The emission with the proposals for its assertions, unsigned. `record` is the same emission as JSON."""
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
        checks = [self._at_home(check, said) for check in map(parse_check, proposal.checks) if isinstance(check, Check)]
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
        """Signs what was proposed for assertions, for this origin, and writes it into their members of `record`."""
        digest = emission_digest(record)
        for assertion, member in proposed:
            said = {**msgspec.to_builtins(assertion.proposal), "digest": digest}
            member["proposal"] = sign_proposal(said, assertion.span_key or "", self._signer, origin)


def context_of(emission: Emission, assertion: Assertion) -> Context:
    """What a proposer is told beside a statement: the last words that stand before it in the answer."""
    chars = None if assertion.span is None else assertion.span.chars
    before = "" if chars is None else (emission.text or "")[: chars[0]][-BEFORE:].strip()
    return Context((before,) if before else ())


SETTLING_MS: Final = 1_000
"""The horizon behind the last look: the fold is told that so much time passes, and settles everything."""
ASSERTIONS_A_LOOK: Final = 100
"""Assertions that one look takes, with five annotations each (`look.MAX_LOOKS`)."""
ALONE: Final = (
    "commit", "changed", "introduced", "removed", "last_changed", "modified", "peer", "absent", "missing", "count",
)  # fmt: skip
"""Checks that one kind of evidence alone can decide (docs/checks.md)."""
VETTING_POLICY: Final = replace(
    DEFAULT_POLICY,
    admissibility=replace(DEFAULT_POLICY.admissibility, k_by_check=dict.fromkeys(ALONE, FloorOfCheck(internal=1))),
)
"""The reference policy, but for the checks that only one kind of evidence can decide."""
_DECIDED: Final = ("admitted", "inadmissible")
_SHOWN: Final = PerEffect(internal="review", external="review")
NOT_SO: Final = "it is not so"
NOT_ANNOTATED: Final = "nothing that was looked at bears on it"

_encode = msgspec.json.Encoder().encode


def settling(policy: Policy, horizon: int = SETTLING_MS) -> Policy:
    """A policy as vetting uses it: nothing is discarded without a word, and everything settles `horizon` ms behind the
    first look."""
    return replace(
        policy,
        admissibility=replace(policy.admissibility, horizon=horizon, max_unseen=0),
        disposition=dict.fromkeys(policy.disposition, _SHOWN),
    )


class Vetter:
    """Judges emissions one by one. Who made the instruments closes them.

    Args:
        settings: the bounds of a look, the observer's name and key, and the secrets of privacy.
        roots: what is looked at.
        instruments: what observers look with.
        policy: decides.
        clock: the present in Unix milliseconds.
        stopped: asked before each look.
        proposed: asks for checks and signs them; without it an assertion has its own, or those that observers read.
        until: when all looks have to be done, on the clock of `time.monotonic`, where the user set a time: what is late
            is not looked at, alone. Without it nothing is bounded but the work of each look.
        since: the name of the kept tree that what was changed is held against (`agents.base_of`).
    """

    def __init__(
        self,
        settings: Settings,
        roots: Roots,
        instruments: ObserverRegistry,
        policy: Policy = VETTING_POLICY,
        clock: Callable[[], int] = now,
        stopped: Callable[[], bool] = lambda: False,
        until: float | None = None,
        proposed: ProposedChecks | None = None,
        since: str | None = None,
    ) -> None:
        self._settings = replace(settings, emission_bytes=sys.maxsize, public_roots=EVERY_ROOT)
        self._roots, self._instruments, self._until = roots, instruments, until
        self._policy = policy if proposed is None else proposed.listed(policy)
        self._proposed, self._clock, self._stopped, self._base = proposed, clock, stopped, since
        self._secrets, self._signing = secrets_of(settings), signing_of(settings)

    def vet(self, recorded: Recorded) -> list[Verdict]:
        """The verdict about each assertion of an emission, in their order.

        Args:
            recorded: as a sink of the recorder took it.

        Raises:
            UnreachableError: the one root is not there.
            StoppedError: `stopped` said so.
        """
        emission = decode_emission(recorded.value)
        if isinstance(emission, Fault):
            failure = f"{emission.reason}: {emission.detail}"
            return [Verdict(recorded.key, None, "", UNSETTLED, failure, [], [], [], None)]
        if self._base is not None:
            emission = held_since(emission, self._base)
        if self._proposed is not None:
            emission = self._proposed.attached(emission, msgspec.json.decode(recorded.value))
        began = self._clock()
        seen = [one for part in _parts(emission) for one in self._looked(part)]
        records, refused = self._folded(recorded, emission, began, counting(seen))
        by_span: dict[str, list[Observation]] = {}
        for one in seen:
            by_span.setdefault(span_key(one.subject.span), []).append(one)
        return [
            _verdict(emission, place, by_span.get(assertion.span_key or "", []), records, refused)
            for place, assertion in enumerate(emission.assertions or ())
        ]

    def _looked(self, emission: Emission) -> list[Observation]:
        settings, roots, until = self._settings, self._roots, self._until
        return look(emission, settings, roots, self._clock, self._stopped, self._instruments, until=until)

    def _folded(
        self, recorded: Recorded, emission: Emission, began: int, seen: Sequence[Observation]
    ) -> tuple[dict[str, dict[str, Any]], str]:
        """The last record of each span key, and why the emission was refused, if it was."""
        value = msgspec.json.decode(recorded.value)
        value["emitted_at"] = began
        for assertion, member in zip(emission.assertions or (), value.get("assertions", ()), strict=False):
            if assertion.checks and "checks" not in member:
                member |= {"checks": assertion.checks, "provenance": msgspec.to_builtins(assertion.annotations)}
        proposed = _with_proposals(emission, value)
        for assertion, member in proposed:
            member["provenance"] = msgspec.to_builtins(assertion.annotations)
        _no_later(value, began)
        if self._proposed is not None:
            self._proposed.sign(proposed, value, self._policy.origin)
        end = max([began, *(parse_time(one.observed_at) or 0 for one in seen)])
        horizon = SETTLING_MS + end - began
        filtering = FoldFilter(settling(self._policy, horizon), self._secrets)
        observations = [_encode(written(one, self._signing)) for one in seen]
        outputs = chain(
            filtering.together(began, "emissions", [_encode(value)]),
            *(filtering.together(end, "observations", several) for several in _blocks(observations)),
            filtering.end(began + horizon + 1),
        )
        records: dict[str, dict[str, Any]] = {}
        refused = ""
        for output in outputs:
            if output["topic"] in _DECIDED:
                record = msgspec.json.decode(output["value"])
                records[str(output["key"]).rpartition("#")[2]] = record
            elif output["topic"] == "dead-letters" and not refused:
                headers = output["headers"]
                refused = f"{headers.get('sluice-reason', '')}: {headers.get('sluice-detail', '')}"
        return records, refused


def counting(seen: Sequence[Observation]) -> list[Observation]:
    """The observations that count: of those that hold by what is not committed one class for each statement.

    Whose working tree it is may have made them so, and every class reads the same files [S §3]. A policy for which one
    class is enough (`k_by_check`, `k`) admits them.
    """
    first: dict[str, str] = {}
    return [
        one
        for one in seen
        if (one.detail or {}).get("reason") != OWN_EDIT
        or first.setdefault(span_key(one.subject.span), one.substrate_class) == one.substrate_class
    ]


def _with_proposals(emission: Emission, record: dict[str, Any]) -> list[tuple[Assertion, dict[str, Any]]]:
    """The assertions of an emission that have a proposal, each with its member of the emission's JSON."""
    pairs = zip(emission.assertions or (), record.get("assertions", ()), strict=False)
    return [(assertion, member) for assertion, member in pairs if assertion.proposal is not None]


def _no_later(emission: dict[str, Any], now: int) -> None:
    """Takes away the times of annotations that are still to come: the clock of whoever recorded them ran ahead."""
    for assertion in emission.get("assertions", ()):
        provenance: Any = assertion.get("provenance") or []
        annotations = cast("list[Any]", provenance) if isinstance(provenance, list) else [provenance]
        for annotation in annotations:
            at = parse_time(annotation.get("ts", 0))
            if at is None or at > now:
                del annotation["ts"]


def _parts(emission: Emission) -> Iterator[Emission]:
    """An emission in parts that one look may take: it goes to a bounded number of places, in a bounded time."""
    assertions = emission.assertions or []
    for start in range(0, len(assertions), ASSERTIONS_A_LOOK):
        yield replace(emission, assertions=assertions[start : start + ASSERTIONS_A_LOOK])


def _blocks(observations: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Observations as many at a time as a block takes."""
    several: list[bytes] = []
    size = 0
    for one in observations:
        if several and (size + len(one) > MAX_BYTES // 2 or len(several) >= MAX_EVENTS // 2):
            yield several
            several, size = [], 0
        several.append(one)
        size += len(one)
    if several:
        yield several


def _verdict(
    emission: Emission, place: int, seen: Sequence[Observation], records: dict[str, dict[str, Any]], refused: str
) -> Verdict:
    assertion = (emission.assertions or ())[place]
    text = assertion_text(emission, assertion)
    span = None if assertion.span is None else msgspec.to_builtins(assertion.span)
    record = records.get(assertion.span_key or "")
    unique: dict[Missing, Missing] = {}
    for one in (each for observation in seen for each in missing_of(observation)):
        key = one._replace(substrate_class="", found="")
        unique[key] = unique[key] if key in unique and unique[key].found else one
    missing = list(unique.values())
    if record is None:
        return Verdict(emission.emission_id, span, text, UNSETTLED, refused, [], places(seen), missing, None)
    status = "admitted" if record["status"] in HELD else str(record["status"])
    if assertion.session is not None and record.get("reason") in SESSION_REASONS:
        missing.append(Missing(SESSION, session_line(assertion.session, record["reason"])))
    elif not seen:
        names = tuple(term.text for term in terms_of(nfkc(text)).terms if term.kind != "word")
        missing.append(Missing("", NOT_ANNOTATED, None, names))
    elif status == "below-floor":
        count = len(record["classes"])
        missing.append(Missing("", f"{count} of {record['k']} kinds of evidence bear it out"))
    rendered = record["_untrusted_text"].get("rendered", [])
    reason = str(record.get("reason", ""))
    if seen and all(
        one.outcome == "unavailable" and BOUND in str((one.detail or {}).get("reason", "")) for one in seen
    ):
        reason = NOT_LOOKED_AT
    return Verdict(emission.emission_id, span, text, status, reason, rendered, places(seen), missing, record)


def places(seen: Sequence[Observation]) -> list[Place]:
    """Where observers looked: the place of each check that holds or is false there, else the file that was read."""
    found: dict[Place, None] = {}
    order = ("contradicts", "corroborates")
    for one in sorted(seen, key=lambda one: order.index(one.outcome) if one.outcome in order else len(order)):
        name, looked_at = one.substrate_class, one.looked_at
        tree = None if looked_at is None else looked_at.commit
        exact = [
            Place(name, one.outcome, check.get("path"), _lines(check), check.get("commit") or tree)
            for check in (one.detail or {}).get("checks", ())
            if check.get("path") or check.get("commit")
        ]
        if not exact and looked_at is not None:
            exact = [Place(name, one.outcome, looked_at.path, None, tree)]
        found |= dict.fromkeys(exact)
    return list(found)


def missing_of(one: Observation) -> Iterator[Missing]:
    """What one observation says was not found: checks that do not hold, words that are not there, or why nobody could
    look."""
    name, detail = one.substrate_class, one.detail or {}
    by_words = bool(detail.get("missing")) and one.outcome != "corroborates"
    for check in detail.get("checks", ()):
        if check["holds"] is not True and not (by_words and check["check"].startswith("contains(")):
            reason = check.get("reason", "")
            words = UNDECIDED.get(reason, reason or "it does not hold")
            if reason == "differs" and not _lines(check):
                words = NOT_SO  # by what is nowhere there, or by the tree: no line stands in its place
            found = check.get("found", "")
            yield Missing(name, words, check["check"], (), check.get("path"), _lines(check), found)
    if by_words:
        yield Missing(name, "its words are not there", None, tuple(detail["missing"]))
    if "reason" in detail and not detail.get("checks") and not by_words:
        yield Missing(name, ABSENT.get(detail["reason"], detail["reason"]))


def _lines(check: dict[str, Any]) -> tuple[int, int] | None:
    lines = check.get("lines")
    return None if lines is None else (lines[0], lines[-1])
