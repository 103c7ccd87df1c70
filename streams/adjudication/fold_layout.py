"""The tuples that the fold's Python and the compiled core hand each other, field by field (native/README.md).

`codecs/compiled_core.py` says how this declaration is used. What the core reads of a packed emission
(`emission_state.py`) belongs to it as well: the structs lie as arrays, field by field in their order. `core` is the
compiled fold, where it is there and may be used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

import msgspec

from ...codecs import compiled_core
from ...codecs.compiled_core import EVENT, HEADER, OUTPUT, Fields, fingerprint
from ...codecs.records import EFFECTS
from ..judging.checks import HeldReason
from ..judging.verify import AbsentReason
from . import emission_state
from .check_tally import NotCountedReason

if TYPE_CHECKING:
    from ...codecs.blocks import Output

# ---------------------------------------------------------------- what a block's fold is made of


class Tables(NamedTuple):
    """The lane's own tables, and what the block adds to.

    Attributes:
        state: the lane's; the core takes `STATE_NUMBERS` of it and gives them back.
        packed, open: emissions at rest, and those that Python has unpacked.
        crowds: emissions for which so much waits that all about them is Python's (state.py).
        held: the bytes that wait, by slot.
        counters: the fates that leave no record.
        pending, expiring: the keys of the timers by the watermark and by time.
        outputs: of the block so far.
        renewed: `RENEWED` of each assertion whose validity moved on in the block.
        changed: the emissions of which `verdicts` may have to tell, with their emitters, in order.
    """

    state: Any
    packed: dict[str, bytes]
    open: dict[str, Any]
    crowds: dict[str, Any]
    held: dict[str, int]
    counters: dict[str, int]
    pending: list[bytes]
    expiring: list[bytes]
    outputs: list[Output]
    renewed: list[tuple[str, int, str]]
    changed: dict[str, str | None]


class TermsInForce(NamedTuple):
    """The bounds that assertions begin with, milliseconds.

    Attributes:
        windows: how old evidence may be, by the class's number (`CODES["class"]`).
        horizon, late_horizon, max_validity: as in the policy.
        min_observers, min_coverage: of internal and of external assertions (`CODES["effect"]`).
        counts_once: whether every class counts once, whatever it looked at.
        has_k_by_check: whether single checks have a k of their own.
    """

    windows: tuple[int, ...]
    horizon: int
    late_horizon: int
    max_validity: int
    min_observers: tuple[int, int]
    min_coverage: tuple[int, int]
    counts_once: bool
    has_k_by_check: bool


class Moment(NamedTuple):
    """When and where the block is folded.

    Attributes:
        time, latest, oldest, watermark: of the block, and between which an emission's own time may lie, Unix ms.
        lane, lanes, crc32: which lane of how many, and whether CRC-32 spreads the keys.
        terms: all that the state knows, by number.
        max_validities: `MAX_VALIDITY` of each policy that may still hold, oldest first.
        terms_number: of the terms in force.
    """

    time: int
    latest: int
    oldest: int
    watermark: int
    lane: int
    lanes: int
    crc32: bool
    terms: list[TermsInForce]
    max_validities: list[tuple[int, int]]
    terms_number: int


class ObserverEntry(NamedTuple):
    """What the policy says of one observer.

    Attributes:
        classes: those that it may speak for, a bit for each number.
        writable_by: the emitters that can write to what it looks at.
    """

    classes: int
    writable_by: tuple[str, ...]


class Rules(NamedTuple):
    """The policy in force, as far as the core knows its rules.

    Attributes:
        classes: the names of all classes, by number.
        k_internal, k_external, min_confidence, horizon, review_window, max_attempts: as in the policy, milliseconds.
        effects: of an intent, whether it is external.
        external_default: whether an intent that the policy does not name is external.
        observers: by name.
        dispositions: a byte (`CODES["disposition"]`) for each end (`CODES["end"]`), internal and external.
        cap: the bytes of an assertion's text that are shown.
        reject_internal, reject_external: whether look-alike characters refuse an assertion.
        shown_ids: how observation ids leave (`CODES["shown_ids"]`).
        refused_emitters: what a name may not look like (`CODES["refused_emitters"]`).
        binds_sightings: whether emissions are cited.
        only_signed: whether an observation needs a signature.
        accepts_checks: whether the built-in judge's word counts.
        looks_kept: the effects of which it is kept what was seen instead of evidence, a bit for each.
        names_vendors: whether it matters who owns what a service says.
        max_annotations: how many assertions an emission may have, and annotations of all of them.
        max_waiting: how much evidence of one slot may wait for an emission.
        waiting_share: the bytes of one slot that may wait in the lane.
        verdicts: what is told on the topic `verdicts` (`CODES["verdicts"]`).
    """

    classes: tuple[str, ...]
    k_internal: int
    k_external: int
    min_confidence: float
    horizon: int
    review_window: int
    max_attempts: int
    effects: dict[str, bool]
    external_default: bool
    observers: dict[str, ObserverEntry]
    dispositions: bytes
    cap: int
    reject_internal: bool
    reject_external: bool
    shown_ids: int
    refused_emitters: int
    binds_sightings: bool
    only_signed: bool
    accepts_checks: bool
    looks_kept: int
    names_vendors: bool
    max_annotations: int
    max_waiting: int
    waiting_share: int
    verdicts: int
    lone_reviewer: bool
    reviewed: int


class RecordTexts(NamedTuple):
    """What stands in each record of a block, as JSON (`decision_json.py`).

    Attributes:
        reviewing: how the last member of a request for a review begins, up to the text before the assertion
            (`follow_up_requests.py`).
    """

    ledger: bytes
    behind: bytes
    frame: bytes
    frame_type: bytes
    no_text: bytes
    meta: bytes
    reviewing: bytes


class VerdictTexts(NamedTuple):
    """What stands in each record of `verdicts` of a block, as JSON, and its identifier up to the index
    (`decision_json.py`)."""

    at: bytes
    ledger: bytes
    behind: bytes
    id: bytes


class RecordHeaders(NamedTuple):
    """The headers that each record of a block has (`outputs.py`)."""

    specversion: tuple[str, bytes]
    source: tuple[str, bytes]
    time: tuple[str, bytes]
    content_type: tuple[str, bytes]


# ---------------------------------------------------------------- what the core asks of Python


class Framed(NamedTuple):
    """What strangers wrote, sanitised, as JSON: the text, the attestations, the chain's steps with a comma behind each,
    what was changed, and the checks that were verified."""

    text: bytes
    attestations: bytes
    steps: bytes
    meta: bytes
    checks: bytes


class KeptChain(NamedTuple):
    """A provenance chain as it is kept.

    Attributes:
        chain: its JSON.
        latest: its latest time, Unix ms.
        confidence: its least; None where it says none.
        grounds: whether it grounds what claims to be grounded.
    """

    chain: bytes
    latest: int
    confidence: float | None
    grounds: bool


class Pieces(NamedTuple):
    """What is the same in every word about one check in one file (`decision_json.py`).

    The sentence ends with ` (` or, where it has named the place already, with `, `: lines and commit follow, then `).`.
    It is empty where sanitation would change or mention anything in it or in the canonical form.

    Attributes:
        name: of the check.
        commit: the commit that it asks for, in lower case.
        checked: its canonical form with the path, as JSON up to the lines.
        sentence: as the inside of a JSON string up to the lines.
    """

    name: bytes
    commit: bytes
    checked: bytes
    sentence: bytes


class RequestMembers(NamedTuple):
    """What a request for a review says beside its record, as JSON: its member `checks` with a comma behind it, and what
    stands behind the record with a comma before each (`follow_up_requests.py`)."""

    checks: bytes
    more: bytes


class Functions(NamedTuple):
    """What the core calls. Each is pure."""

    framed: Callable[[str, bool, bytes | None, list[bytes], list[tuple[str, tuple[str, int, int, str]]] | None], Framed]
    claim_hash: Callable[[str, str], bytes]
    number_json: Callable[[Any], bytes]
    data_of: Callable[[bytes, bool, list[bytes]], bytes]
    chain_of: Callable[[bytes], KeptChain | None]
    attestation_of: Callable[[bytes], bytes]
    shown_id: Callable[[str, bool], bytes]
    refuses: Callable[[bytes], bool]
    k_of: Callable[[str, bool], int]
    pieces_of: Callable[[str, str | None], Pieces | None]
    request_of: Callable[[bytes, bytes, int, int], RequestMembers]


class Writing(NamedTuple):
    """What records are written with."""

    texts: RecordTexts
    verdicts: VerdictTexts
    headers: RecordHeaders
    functions: Functions


# ---------------------------------------------------------------- all of it

RENEWED: Final[Fields] = ("emission_id", "attempt", "span_key")
"""`verdicts.Renewed`."""
MAX_VALIDITY: Final[Fields] = ("since", "milliseconds")
LOOKED: Final[Fields] = ("root", "content")
"""What evidence looked at (`check_tally.looked_at`)."""
HELD_CHECK: Final[Fields] = ("check", "place")
"""A check that was verified, and `emission_state.Place` as a tuple."""
TIMER: Final[Fields] = ("clock", "due")
STATE_NUMBERS: Final[Fields] = ("order", "live", "asides")
"""Attributes of the state that the core takes at the beginning of a call and gives back."""

_STRUCTS: Final[tuple[type[msgspec.Struct], ...]] = (
    *(emission_state.EmissionState, emission_state.Attempt, emission_state.AssertionState, emission_state.Closed),
    *(emission_state.Declared, emission_state.ClassEvidence, emission_state.Checking, emission_state.Verified),
    *(emission_state.Covered, emission_state.Place, emission_state.Looks, emission_state.Look, emission_state.Miss),
    *(emission_state.Material, emission_state.NotCounted, emission_state.PendingEvidence),
)
PACKED: Final[Mapping[str, Fields]] = {
    re.sub(r"(?<=.)(?=[A-Z])", "_", struct.__name__).lower(): struct.__struct_fields__ for struct in _STRUCTS
}
"""The structs of `emission_state.py` as they lie packed, by their names in C."""

TUPLES: Final[Mapping[str, Fields]] = {
    "tables": Tables._fields,
    "moment": Moment._fields,
    "terms": TermsInForce._fields,
    "observer": ObserverEntry._fields,
    "rules": Rules._fields,
    "writing": Writing._fields,
    "text": RecordTexts._fields,
    "verdict_text": VerdictTexts._fields,
    "record_header": RecordHeaders._fields,
    "function": Functions._fields,
    "framed": Framed._fields,
    "kept_chain": KeptChain._fields,
    "pieces": Pieces._fields,
    "request_members": RequestMembers._fields,
    "renewed": RENEWED,
    "max_validity": MAX_VALIDITY,
    "looked": LOOKED,
    "held_check": HELD_CHECK,
    "timer": TIMER,
    "state_number": STATE_NUMBERS,
}
"""Every tuple that goes between Python and `streams._native`, by its name in C."""

CODES: Final[Mapping[str, Sequence[str]]] = {
    "class": emission_state.CLASSES,
    "effect": EFFECTS,
    "disposition": emission_state.DISPOSITIONS,
    "end": ("below-floor", "decayed-to-uncertainty", "unverified-inference", "unannotated"),
    "shown_ids": ("omitted", "clear", "hashed"),
    "refused_emitters": ("none", "email", "more"),
    "phase": tuple(phase.name.lower() for phase in emission_state.Phase),
    "clock": ("watermark", "time"),
    "coverage": emission_state.COVERAGE,
    "outcome": emission_state.OUTCOMES,
    "absent_reason": get_args(AbsentReason),
    "held_reason": get_args(HeldReason),
    "uncounted": get_args(NotCountedReason),
    "verdicts": ("none", "settled", "all"),
    "kind": emission_state.KINDS,
    "status": emission_state.STATUSES,
    "reason": emission_state.REASONS,
}
"""Numbers that stand for words: each word's place in its list."""

LAYOUT: Final = fingerprint(TUPLES, PACKED, CODES, {"output": OUTPUT, "header": HEADER, "event": EVENT})
"""The layout that `streams._native` must have been built from."""


try:
    from .. import _native as _found
except ImportError:
    core = None
else:
    core = _found if compiled_core.codecs is not None and compiled_core.usable(_found, LAYOUT) else None
"""The compiled module, or None; also without the compiled codecs, whose outputs it makes."""
