"""Grounded values [C]: values that carry where they came from, and lose it only on record.

A `@tool` whose data is `grounded` retrieves, a `@prompt` transforms, an `@agent` composes; what comes back is a
`Grounded` value with its `ProvenanceChain`. Operators keep it; `emission` turns answers into what the lanes take. The
lane believes none of it (streams/adjudication/grounding.py): a chain can only make its verdict stricter.
"""

from ..adjudication.grounding import steps
from .citations import Answer
from .decorators import agent, grounded_pure, prompt, tool
from .emissions import Asserted, dec_hook, emission, enc_hook, from_record, to_record
from .provenance_chain import ProvenanceChain
from .retrieval_clock import using_clock
from .scope import (
    CitationViolation,
    GroundedError,
    MinConfidenceViolation,
    MissingDataCategory,
    PurityViolation,
    UndeclaredDiscard,
    UngroundedReturn,
    discarding,
    discards,
)
from .value import Grounded, template

__all__ = [
    "Answer",
    "Asserted",
    "CitationViolation",
    "Grounded",
    "GroundedError",
    "MinConfidenceViolation",
    "MissingDataCategory",
    "ProvenanceChain",
    "PurityViolation",
    "UndeclaredDiscard",
    "UngroundedReturn",
    "agent",
    "dec_hook",
    "discarding",
    "discards",
    "emission",
    "enc_hook",
    "from_record",
    "grounded_pure",
    "prompt",
    "steps",
    "template",
    "to_record",
    "tool",
    "using_clock",
]
