"""The table of sites at which a grounded value loses its wrapper [C §9.3], as data.

The proof that nothing is laundered rests on this table being whole: `tests/streams/checker/test_constructs.py` goes
through every class of syntax tree node that Python has and demands a row, a program and a finding for each.
"""

from __future__ import annotations

from typing import Final

SITES: Final[dict[str, str]] = {
    # [C §9.3], in its order
    "return": "a grounded value is returned from a function that is declared with a plain type",
    "yield": "a grounded value is yielded from a function that is declared with a plain type",
    "binding": "a grounded value is bound to a name or attribute that is annotated with a plain type",
    "argument": "a grounded value is passed to what neither takes a Grounded nor gives one back",
    "field": "a grounded value initialises a field of a plain type",
    "optional": "a grounded value flows into an optional slot of a plain type",
    "element": "a grounded value becomes an element of a container with a plain element type",
    "arm": "one arm of a conditional expression is grounded, the other plain",
    "condition": "a grounded value decides a condition: its truth is taken, its sources are not",
    # Python's own
    "formatting": "a grounded value is formatted into a plain string",
    "constructor": "a grounded value is converted to a plain type",
    "iteration": "a grounded value is iterated over",
    "unpacking": "a grounded value is unpacked",
    "membership": "a grounded value is tested for membership",
    "index": "a grounded value is used as an index or key",
    "with": "a grounded value is entered as a context manager",
    "global": "a grounded value is assigned to a global or an enclosing function's name",
    "attribute": "an attribute is taken of a grounded value that is not part of its face",
    "call": "a grounded value is called",
    "raise": "a grounded value is raised",
    "await": "a grounded value is awaited",
    "pattern": "a grounded value is compared with a pattern",
}
"""Site: what happens there. The names stand in the JSON and SARIF output."""

GROUNDED_FACE: Final = frozenset(
    {"sources", "chain", "retrievals", "grounded", "confidence", "data", "map", "sever", "format", "join"}
    | {"unwrap_discarding_sources", "__class__", "__doc__"}
)
"""What may be taken of a `Grounded` without losing its wrapper (grounded.md); the unwrap has a rule of its own."""

UNWRAP: Final = "unwrap_discarding_sources"
