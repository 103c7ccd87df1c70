"""How long property tests search: shortly in every run, deeply where that is asked for (`make test-deep`).

A property that fails is found by the first few dozen examples or by none of the next hundreds, but for the rare one:
that is what the deep run is for. `SLUICE_DEEP=1` sets it, before the tests are imported.
"""

from __future__ import annotations

import os

DEEP = os.environ.get("SLUICE_DEEP", "") not in ("", "0")
SHARE = 4
"""The deep run tries so many times more."""
LEAST = 20


def examples(deep: int) -> int:
    """How many examples to try, of a number that the deep run tries."""
    return deep if DEEP else max(min(deep, LEAST), deep // SHARE)
