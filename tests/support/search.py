"""How long property tests search, and where: shortly in every run, deeply where that is asked for (`make test-deep`).

A property that fails is found by the first few dozen examples or by none of the next hundreds, but for the rare one:
that is what the deep run is for. `SLUICE_DEEP=1` sets it, before the tests are imported.

Each commit searches elsewhere: the seed is made of its hash. `SLUICE_SEED` sets another; a run prints its seed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

DEEP = os.environ.get("SLUICE_DEEP", "") not in ("", "0")
SHARE = 4
"""The deep run tries so many times more."""
LEAST = 20


def examples(deep: int) -> int:
    """How many examples to try, of a number that the deep run tries."""
    return deep if DEEP else max(min(deep, LEAST), deep // SHARE)


def _seed() -> int:
    """The seed that is set, or else the beginning of the commit's hash; 0 where there is no commit."""
    if given := os.environ.get("SLUICE_SEED"):
        return int(given)
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return int(subprocess.run(git, capture_output=True, text=True, check=True).stdout[:8], 16)
    except (OSError, subprocess.CalledProcessError):
        return 0


SEED = _seed()
