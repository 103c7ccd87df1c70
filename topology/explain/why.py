"""Why an observation did not count for an assertion, in a sentence for each of the fold's words.

The word is the fold's own (streams/adjudication/uncounted.py), from its trace of the block in which it was weighed.
"""

from __future__ import annotations

from typing import Final, get_args

from ...streams.adjudication.uncounted import Uncounted
from ..terminal.showing_checks import WORDS_ALONE

SENTENCES: Final[dict[str, str]] = {
    "class-unknown": "its class is of no loaded vocabulary, or a terminal",
    "absent": "the observer looked, and found nothing that bears it out",
    "terms-present": WORDS_ALONE,
    "unavailable": "the observer could not look",
    "low-confidence": "its confidence is below the policy's floor",
    "judge-not-accepted": "this policy does not take the word of whoever judged it",
    "checks-required": "it names no check, and this policy counts nothing without one",
    "writable-by-emitter": "the emitter can write to that substrate",
    "owned-by-vendor": "the emitter's vendor owns that state, or nobody says who does",
    "contradicts-itself": "it finds a check false and bears the assertion out all the same",
    "check-not-bound": "its checks speak of nothing in the sentence",
    "verifies-nothing": "it verifies no check of the assertion",
    "too-old": "older than the window of its class at emission",
    "too-late": "later than the horizon, and nothing was admitted yet",
    "not-newer": "the same class again, and no newer than what counts already",
    "not-declared": "the emitter declared no such observation",
    "declarations-only": "this policy counts declarations, not observations",
    "outweighed": "an observer has corroborated since",
    "repeated": "the same record waits already",
    "other-record": "the observer looked at another record with the same id and attempt",
    "other-checks": "the checks that the observer decided are not the assertion's",
    "not-as-signed": "the signed sighting that it carries does not bear it out",
}
assert set(SENTENCES) == set(get_args(Uncounted))
