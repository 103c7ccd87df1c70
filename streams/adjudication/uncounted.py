"""Why evidence does not count for or against an assertion, in a word: what `weigh` answers (fold.py).

Where several things stand against an observation, the word is that of the last rule that would have to give way.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Uncounted: TypeAlias = Literal[
    "class-unknown",
    "absent",
    "terms-present",
    "unavailable",
    "low-confidence",
    "judge-not-accepted",
    "checks-required",
    "writable-by-emitter",
    "contradicts-itself",
    "check-not-bound",
    "verifies-nothing",
    "too-old",
    "too-late",
    "not-newer",
    "not-declared",
    "declarations-only",
    "outweighed",
]
"""`docs/checks.md` and `sluice explain` say each in a sentence."""
