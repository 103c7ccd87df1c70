"""The status and reason that decisions tell, found without reading them as JSON: a worker counts all that it writes.

An emission id has no quotation mark and a span's pointer is percent-encoded, so the first status is the record's own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from . import compiled_core
from .blocks import Output

LOOKED_AT: Final = 4096
"""So many bytes of a record are looked at."""
_STATUS = re.compile(rb'"status":"([a-z-]+)"(?:,"basis":"[a-z-]+")?(?:,"reason":"([a-z-]+)")?')


class Told(NamedTuple):
    """What a record tells of its own decision; empty where it tells none."""

    status: bytes = b""
    reason: bytes = b""


def told_in(record: bytes) -> Told:
    """The status and the reason of a decision's record."""
    found = _STATUS.search(record, 0, LOOKED_AT)
    return Told() if found is None else Told(found[1], found[2] or b"")


def count_told(outputs: Sequence[Output]) -> dict[Told, int]:
    """How many outputs tell which status and reason, in the order of the first of each."""
    if compiled_core.codecs is not None and isinstance(outputs, list):
        found = compiled_core.codecs.count_told(outputs, LOOKED_AT)
        if found is not None:
            return {Told(*told.split(b'"')): count for told, count in found.items()}
    return dict(Counter(told_in(output.value) for output in outputs))
