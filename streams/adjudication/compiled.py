"""The compiled core's share of a fold: what one block's fold has to know of the rules in force (native/README.md).

The compiled core takes in what is common: emissions with spans of characters and known classes, observations that
corroborate or verify checks, and the ends of waiting, validity, review and memory. Whatever else an input is, and under
whatever other rules, it leaves to `fold.py`, having changed nothing; so the Python stays the only definition of every
rule, and what the core does with it is held equal, byte for byte, by the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...codecs.blocks import Block
from ...codecs.canonical import assertion_hash
from ...codecs.decode import check_chain
from ...codecs.json_text import decoder_of
from ...codecs.records import EFFECTS, AnyStep, Assertion, Effect
from ...codecs.times import LATEST
from ..judging.checks import parse_check
from ..policy.keys import looks_like
from ..policy.policy import BUILT_IN, Observer, Policy
from . import check_tally, fold_layout, grounding
from .decision_json import DecisionWriter, pieces_of, said_grounding, shown_at
from .emission_state import CLASSES, AssertionState, Place, Terms
from .fold_layout import (
    CODES,
    Framed,
    Functions,
    KeptChain,
    Moment,
    ObserverEntry,
    RequestMembers,
    Rules,
    Tables,
    TermsInForce,
    Writing,
)
from .follow_up_requests import effects_reviewed, effects_with_looks
from .outputs import Writer
from .state import State, share_of
from .verdicts import Verdicts

if TYPE_CHECKING:
    from .._native import Folder

_TOPICS: Final = {"emissions": b"E", "observations": b"O"}
_REFUSED: Final[Mapping[tuple[str, ...], str]] = {(): "none", ("email",): "email"}
_encode = msgspec.json.Encoder().encode


def topics_of(block: Block, policy: Policy) -> bytes:
    """A byte for each source of a block: what the core may find there. Emissions that must be signed are Python's."""
    known = {name: byte for name, byte in _TOPICS.items() if name != "emissions" or not policy.emitters.authenticates}
    return b"".join(known.get(source.topic, b"-") for source in block.header.sources)


def is_common(state: State, policy: Policy) -> bool:
    """Whether the core knows the rules in force; other trust modes, rules by which a class may not count, and counting
    who has answered (corroboration.py) are Python's."""
    common = state.terms[state.terms_number].checks.counts_once and not policy.judging.require_checks
    common = common and not policy.admissibility.early_settle
    return common and policy.admissibility.trust == "observed" and 0 <= state.time <= LATEST


def folder_for(state: State, policy: Policy, block: Block, writer: Writer, verdicts: Verdicts) -> Folder | None:
    """What folds the common part of a block, or None where Python does all of it."""
    if fold_layout.core is None or not is_common(state, policy):
        return None
    packed, unpacked, crowds, held, counters, pending, expiring = state.tables()
    tables = Tables(
        state=state,
        packed=packed,
        open=unpacked,
        crowds=crowds,
        held=held,
        counters=counters,
        pending=pending,
        expiring=expiring,
        outputs=writer.outputs,
        renewed=verdicts.renewed,
        changed=verdicts.changed,
    )
    return fold_layout.core.Folder(
        tables,
        _moment(state, policy),
        _rules(policy),
        Writing(
            writer.decisions.texts(),
            writer.verdicts.texts,
            writer.headers(),
            _functions(policy, writer, state),
        ),
    )


def _moment(state: State, policy: Policy) -> Moment:
    return Moment(
        time=state.time,
        latest=state.time + policy.admissibility.max_skew,
        oldest=state.time - min(milliseconds for _, milliseconds in state.max_validities),
        watermark=state.watermark,
        lane=state.lane,
        lanes=state.lanes,
        crc32=state.partitioner == "crc32",
        terms=[_terms(one) for one in state.terms],
        max_validities=state.max_validities,
        terms_number=state.terms_number,
    )


def _terms(one: Terms) -> TermsInForce:
    return TermsInForce(
        windows=tuple([one.windows[name] for name in CLASSES]),
        horizon=one.horizon,
        late_horizon=one.late_horizon,
        max_validity=one.max_validity,
        min_observers=one.min_observers,
        min_coverage=one.checks.min_coverage,
        counts_once=one.checks.counts_once,
        has_k_by_check=bool(one.checks.k_by_check),
    )


def _rules(policy: Policy) -> Rules:
    rules, confusables, refused = policy.admissibility, policy.sanitation.confusables, policy.emitters.refuse
    dispositions = bytes(
        CODES["disposition"].index(chosen)
        for status in CODES["end"]
        for chosen in (policy.disposition[status].internal, policy.disposition[status].external)
    )
    return Rules(
        classes=CLASSES,
        k_internal=rules.k.internal,
        k_external=rules.k.external,
        min_confidence=rules.min_confidence,
        horizon=rules.horizon,
        review_window=rules.review_window,
        max_attempts=rules.max_attempts,
        effects={name: effect == "external" for name, effect in policy.effect.items()},
        external_default=policy.effect_default == "external",
        observers={name: _entry(observer, policy) for name, observer in policy.observers.items()},
        dispositions=dispositions,
        cap=policy.sanitation.caps["assertion"],
        reject_internal=confusables.internal == "reject",
        reject_external=confusables.external == "reject",
        shown_ids=CODES["shown_ids"].index(policy.privacy.observation_ids),
        refused_emitters=CODES["refused_emitters"].index(_REFUSED.get(tuple(refused), "more")),
        binds_sightings=bool(policy.sightings.classes),
        only_signed=policy.require_signatures,
        accepts_checks=BUILT_IN in policy.judging.accept,
        looks_kept=_bits(effects_with_looks(policy)) | _reviewed(policy),
        names_vendors=policy.emitters.asks_for_vendors,
        max_annotations=rules.max_annotations,
        max_waiting=rules.max_waiting,
        waiting_share=share_of(policy),
        verdicts=CODES["verdicts"].index(policy.verdicts),
        lone_reviewer=policy.reviewers.min_reviewers.external == 1,
        reviewed=_reviewed(policy),
    )


def _reviewed(policy: Policy) -> int:
    """The effects of which something may be put up for review, a bit for each."""
    return _bits(effects_reviewed(policy))


def _bits(effects: Iterable[Effect]) -> int:
    return sum(1 << EFFECTS.index(effect) for effect in effects)


def _requester(writer: Writer, state: State, policy: Policy) -> Callable[[bytes, bytes, int, int], RequestMembers]:
    """What gives the members of a request for a review, of an assertion as it lies packed."""

    def request_of(packed: bytes, emission_id: bytes, attempt: int, emitted_at: int) -> RequestMembers:
        found = _assertions.decode(packed)
        found.emission_id, found.attempt, found.emitted_at = emission_id.decode(), attempt, emitted_at
        found.terms = state.terms[found.terms_number]
        checks, more = writer.request_members(found, state.time + policy.admissibility.review_window)
        return RequestMembers((checks or "").encode(), more.encode())

    return request_of


_assertions = msgspec.msgpack.Decoder(AssertionState)


def _functions(policy: Policy, writer: Writer, state: State) -> Functions:
    decisions = writer.decisions
    return Functions(
        framed=_framer(decisions),
        claim_hash=_claim_hash,
        number_json=_encode,
        data_of=_data_of,
        chain_of=_chain_of,
        attestation_of=_attestation_of,
        shown_id=decisions.shown,
        refuses=_refuses(policy),
        k_of=_k_of(state),
        pieces_of=pieces_of,
        request_of=_requester(writer, state, policy),
    )


def _entry(observer: Observer, policy: Policy) -> ObserverEntry:
    # Python looks at what is signed, and at who may have written to what was looked at where emitters sign.
    is_pythons = observer.all_keys or (observer.writable_by and policy.emitters.authenticates)
    allowed = () if is_pythons else observer.classes or CLASSES
    classes = [number for number, name in enumerate(CLASSES) if name in allowed]
    return ObserverEntry(sum(1 << number for number in classes), tuple(observer.writable_by))


def _refuses(policy: Policy) -> Callable[[bytes], bool]:
    """Whether a name looks like what the policy has no emitter look like."""
    refuse = tuple(policy.emitters.refuse)
    return lambda name: looks_like(name.decode(), refuse) is not None


def _claim_hash(text: str, kind: str) -> bytes:
    return assertion_hash(text, kind).encode()


_chains = decoder_of(list[AnyStep])
_objects = decoder_of(dict[str, Any])


def _chain_of(raw: bytes) -> KeptChain | None:
    """A chain as it is kept; None where the strict decoder is to say what it is."""
    try:
        chain = _chains.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    claim = Assertion(chain=chain, grounded=True)
    if check_chain("", chain) is not None:
        return None
    return KeptChain(
        chain=_encode(chain),
        latest=grounding.latest_retrieval(chain),
        confidence=grounding.least_confidence(claim),
        grounds=not grounding.is_ungrounded(claim),
    )


def _attestation_of(raw: bytes) -> bytes:
    return _encode(_objects.decode(raw))


def _data_of(chain: bytes, grounded: bool, names: list[bytes]) -> bytes:
    """The members behind `grounded` where there is a chain; the names are what observers saw."""
    steps = _chains.decode(chain)
    said = said_grounding(steps, {name.decode() for name in names}) if grounded else ""
    return said.encode() + b'"data":' + _encode(grounding.data_categories(grounded, steps))


def _k_of(state: State) -> Callable[[str, bool], int]:
    """What gives the k that the terms in force set for a check of an external effect, or of an internal one; 0 where
    they set none."""
    by_check = state.terms[state.terms_number].checks.k_by_check

    def k_of(text: str, external: bool) -> int:
        check = parse_check(text)
        return check_tally.k_by_check(by_check, check, external=external)

    return k_of


_Verified = tuple[str, tuple[str, int, int, str]]
"""A check, and where it was seen to hold: path, first and last line, commit."""
_Framer = Callable[[str, bool, bytes | None, list[bytes], list[_Verified] | None], Framed]


def _framer(writer: DecisionWriter) -> _Framer:
    """What sanitises all that strangers wrote where it is not a plain text."""

    def framed(
        text: str, external: bool, chain: bytes | None, attestations: list[bytes], checks: list[_Verified] | None
    ) -> Framed:
        steps = None if chain is None else _chains.decode(chain)
        effect = "external" if external else "internal"
        shown = None if checks is None else shown_at((check, Place(*place)) for check, place in checks)
        assertion, framed_attestations, own, said, meta = writer.framed(text, effect, steps, attestations, shown)
        return Framed(
            text=assertion.encode(),
            attestations=framed_attestations.encode(),
            steps="".join(f"{step}," for step in own).encode(),
            meta=meta.encode(),
            checks=said.encode(),
        )

    return framed
