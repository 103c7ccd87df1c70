"""How deep a JSON text is nested, told before anything decodes it.

msgspec gives up where the interpreter's stack does, so one and the same record would decode in a shallow call and not
in a deep one: the fold and the audit of it could differ. A bound far below any stack makes the answer depend on the
bytes alone (docs/decisions/0006-what-is-refused.md).
"""

from __future__ import annotations

import re
from typing import Final

MAX_NESTING: Final = 128
"""Arrays and objects inside one another in a record: twice what a chain of thirty derivations needs."""

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)  # one that never closes runs to the end
_ALL_BUT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


def deeper_than(levels: int, data: bytes) -> bool:
    """Whether arrays and objects are nested deeper than `levels`; linear time, for bytes that are no JSON as well."""
    if data.count(b"[") + data.count(b"{") <= levels:
        return False  # almost every record: two passes of memchr
    depth = 0
    for byte in _STRING.sub(b"", data).translate(None, _ALL_BUT_BRACKETS):
        if byte in b"[{":
            depth += 1
            if depth > levels:
                return True
        else:
            depth -= 1
    return False
