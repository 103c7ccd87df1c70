"""Why evidence does not count for or against an assertion, in a word: what `weigh` answers (fold.py).

Where several rules stand against an observation, the word is that of the last one that would have to give way. Whether
it is newer than what counts is asked last, so what the emitter had to declare and did not is `not-declared`.
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
    "owned-by-vendor",
    "contradicts-itself",
    "check-not-bound",
    "verifies-nothing",
    "too-old",
    "too-late",
    "not-newer",
    "not-declared",
    "declarations-only",
    "outweighed",
    "repeated",
    "other-record",
    "other-checks",
    "not-as-signed",
]
"""topology/explain/why.py has a sentence for each."""
