"""The compiled core's share of a fold: what one block's fold has to know of the rules in force (native/README.md).

The compiled core takes in what is common: emissions with spans of characters and known classes, observations that
corroborate or verify checks, and the ends of waiting, validity, review and memory. Whatever else an input is, and under
whatever other rules, it leaves to `fold.py`, having changed nothing; so the Python stays the only definition of every
rule, and what the core does with it is held equal, byte for byte, by the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...codecs.blocks import Block, Output
from ...codecs.canonical import assertion_hash
from ...codecs.decode import check_chain
from ...codecs.records import AnyStep, Assertion, Kind
from ...codecs.times import LATEST
from ..judging.derivation import checks_of
from ..policy.identifiers import looks_like
from ..policy.policy import BUILT_IN, Observer, Policy
from . import compiled_core, grounding
from .checked_json import pieces_of, shown_at
from .decision_json import DecisionWriter
from .emission_state import CLASSES, Place
from .mending import effects_with_looks
from .outputs import Writer
from .state import State
from .verdicts import Renewed
from .versions import MENDING

if TYPE_CHECKING:
    from .._native import Folder

_TOPICS: Final = {"emissions": b"E", "observations": b"O"}
_DISPOSITIONS: Final = ("discard", "review", "re-emit", "refuse")
_SHOWN: Final = ("omitted", "clear", "hashed")
_ENDS: Final = ("below-floor", "decayed-to-uncertainty", "unverified-inference", "unannotated")
_encode = msgspec.json.Encoder().encode


def topics_of(block: Block, policy: Policy) -> bytes:
    """A byte for each source of a block: what the core may find there. Emissions that must be signed are Python's."""
    known = {name: byte for name, byte in _TOPICS.items() if name != "emissions" or not policy.emitters.authenticates}
    return b"".join(known.get(source.topic, b"-") for source in block.header.sources)


def is_common(state: State, policy: Policy) -> bool:
    """Whether the core knows the rules in force; other trust modes, and rules that ask more of a check than k classes,
    are Python's."""
    plain = state.terms[state.terms_number].checks.counts_plainly and not policy.judging.require_checks
    return plain and policy.admissibility.trust == "observed" and 0 <= state.time <= LATEST


def folder_for(
    state: State, policy: Policy, block: Block, writer: Writer, renewed: list[Renewed], version: int
) -> Folder | None:
    """What folds the common part of a block, or None where Python does all of it; `version`: by whose rules."""
    if compiled_core.core is None or not is_common(state, policy):
        return None
    rules, sanitation = policy.admissibility, policy.sanitation
    oldest = state.time - min(milliseconds for _, milliseconds in state.max_validities)
    terms = [
        (
            *(one.windows[name] for name in CLASSES),
            one.horizon,
            one.max_validity,
            *one.min_observers,
            *one.checks.min_coverage,
            one.checks.counts_plainly,
        )
        for one in state.terms
    ]
    dispositions = bytes(
        _DISPOSITIONS.index(chosen)
        for status in _ENDS
        for chosen in (policy.disposition[status].internal, policy.disposition[status].external)
    )
    confusables = sanitation.confusables
    return compiled_core.core.Folder(
        (state, *state.tables(), writer.outputs, Output, renewed),
        (
            state.time,
            state.time + rules.max_skew,
            oldest,
            state.watermark,
            state.lane,
            state.lanes,
            state.partitioner == "crc32",
            terms,
            state.max_validities,
            state.terms_number,
        ),
        (
            CLASSES,
            rules.k.internal,
            rules.k.external,
            rules.min_confidence,
            rules.horizon,
            rules.review_window,
            rules.max_attempts,
            {name: effect == "external" for name, effect in policy.effect.items()},
            policy.effect_default == "external",
            {name: _entry(observer) for name, observer in policy.observers.items()},
            dispositions,
            sanitation.caps["assertion"],
            confusables.internal == "reject",
            confusables.external == "reject",
            _SHOWN.index(policy.privacy.observation_ids),
            min(len(policy.emitters.refuse), 1) if policy.emitters.refuse in ([], ["email"]) else 2,
            bool(policy.sightings.classes),
            policy.require_signatures,
            BUILT_IN in policy.judging.accept,
            _mending(policy, version),
        ),
        (
            *writer.constants(),
            (
                _framer(writer.decisions),
                _claim_hash,
                _encode,
                _data_of,
                _chain_of,
                _attestation_of,
                writer.decisions.shown,
                _refuses(policy),
                _derived,
                pieces_of,
            ),
        ),
    )


def _mending(policy: Policy, version: int) -> int:
    """0: requests for another attempt say no more than others. Else they are Python's; 2: and so are looks, which the
    policy may have need of (mending.py)."""
    if version < MENDING:
        return 0
    return 2 if effects_with_looks(policy) else 1


def _entry(observer: Observer) -> tuple[int, tuple[str, ...]]:
    """The classes that an observer may speak for, a bit each, and who can write to what it looks at."""
    allowed = () if observer.all_keys else observer.classes or CLASSES  # what is signed, Python looks at
    classes = [number for number, name in enumerate(CLASSES) if name in allowed]
    return sum(1 << number for number in classes), tuple(observer.writable_by)


def _refuses(policy: Policy) -> Callable[[bytes], bool]:
    """Whether a name looks like what the policy has no emitter look like."""
    refuse = tuple(policy.emitters.refuse)
    return lambda name: looks_like(name.decode(), refuse) is not None


def _claim_hash(text: str, kind: str) -> bytes:
    return assertion_hash(text, kind).encode()


_chains = msgspec.json.Decoder(list[AnyStep])
_objects = msgspec.json.Decoder(dict[str, Any])


def _chain_of(raw: bytes) -> tuple[bytes, int, float | None, bool] | None:
    """A chain as it is kept, its latest time, its least confidence, and whether it grounds what claims to be grounded;
    None where the strict decoder is to say what it is."""
    try:
        chain = _chains.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    claim = Assertion(chain=chain, grounded=True)
    if check_chain("", chain) is not None:
        return None
    return (
        _encode(chain),
        grounding.latest(chain),
        grounding.least_confidence(claim),
        not grounding.is_ungrounded(claim),
    )


def _attestation_of(raw: bytes) -> bytes:
    return _encode(_objects.decode(raw))


def _data_of(chain: bytes, grounded: bool) -> bytes:
    steps = _chains.decode(chain)
    return _encode(grounding.data_categories(grounded, steps))


def _derived(text: str, kind: Kind) -> str | None:
    """The check that an assertion's words give; None where they give none."""
    found = checks_of(text, kind, None).checks
    return found[0] if found else None


_Verified = tuple[str, tuple[str, int, int, str]]
"""A check, and where it was seen to hold: path, first and last line, commit."""
_Framer = Callable[[str, bool, bytes | None, list[bytes], list[_Verified] | None], tuple[bytes, ...]]


def _framer(writer: DecisionWriter) -> _Framer:
    """What sanitises all that strangers wrote where it is not a plain text: JSON of the text, the attestations, the
    chain's steps with a comma behind each, of what was changed, and of the checks that were verified."""

    def framed(
        text: str, external: bool, chain: bytes | None, attestations: list[bytes], checks: list[_Verified] | None
    ) -> tuple[bytes, ...]:
        steps = None if chain is None else _chains.decode(chain)
        effect = "external" if external else "internal"
        shown = None if checks is None else shown_at((check, Place(*place)) for check, place in checks)
        assertion, framed_attestations, own, said, meta = writer.framed(text, effect, steps, attestations, shown)
        framed_steps = "".join(f"{step}," for step in own)
        return assertion.encode(), framed_attestations.encode(), framed_steps.encode(), meta.encode(), said.encode()

    return framed
