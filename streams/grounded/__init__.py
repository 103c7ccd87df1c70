"""Grounded values [C]: values that carry where they came from, and lose it only on record.

A `@tool` whose data is `grounded` retrieves, a `@prompt` transforms, an `@agent` composes; what comes back is a
`Grounded` value with its `ProvenanceChain`. Operators keep it; `emission` turns answers into what the lanes take. The
lane believes none of it (streams/adjudication/grounding.py): a chain can only make its verdict stricter.
"""

from ..adjudication.grounding import steps
from .answers import Answer
from .decorators import agent, grounded_pure, prompt, tool
from .emissions import Asserted, emission
from .errors import (
    CitationViolation,
    GroundedError,
    MinConfidenceViolation,
    MissingDataCategory,
    PurityViolation,
    UndeclaredDiscard,
    UngroundedReturn,
)
from .provenance_chain import ProvenanceChain
from .retrieval_clock import using_clock
from .scope import discarding, discards
from .value import Grounded, template
from .wire import dec_hook, enc_hook, from_record, to_record

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
