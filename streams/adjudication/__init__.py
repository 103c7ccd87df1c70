"""Adjudication: the fold of the lane `adjudicate`. It joins emissions and observations and decides about each
assertion.
"""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "checked_json",
    "compiled_fold",
    "corroboration",
    "emission_state",
    "fold",
    "grounding",
    "outputs",
    "session_reasons",
    "snapshot",
    "standing",
    "state",
    "timers",
    "trace",
    "uncounted",
    "validation",
    "versions",
    "waiting",
]
