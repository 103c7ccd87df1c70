"""The sanitiser [V]: text of third parties becomes data that no reader, renderer or parser takes for anything else.

`clean` takes one text through the ordered pipeline of [V §4], `clean_tree` every text inside a JSON value, and
`frame_attestation` types, cleans and frames a whole attestation [V §3–5, §7]. All are pure. Every change is recorded
in a `Trace`, which becomes the record's `_meta`.
"""

from ...codecs.unicode_text import CONFUSABLES_VERSION, UNICODE_VERSION
from ._attestation import WARNING, AttestationRules, frame_attestation
from ._steps import By, Confusables, Treatment, clean, clean_tree, treatment_of, unexpected_confusables
from ._trace import SANITATION_REVISION, SANITATION_VERSION, Trace

__all__ = [
    "CONFUSABLES_VERSION",
    "SANITATION_REVISION",
    "SANITATION_VERSION",
    "UNICODE_VERSION",
    "WARNING",
    "AttestationRules",
    "By",
    "Confusables",
    "Trace",
    "Treatment",
    "clean",
    "clean_tree",
    "frame_attestation",
    "treatment_of",
    "unexpected_confusables",
]
