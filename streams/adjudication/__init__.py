"""Adjudication: the fold of the lane `adjudicate`. It joins emissions and observations and decides about each
assertion.
"""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "check_tally",
    "corroboration",
    "decision_json",
    "emission_state",
    "fold",
    "fold_layout",
    "grounding",
    "outputs",
    "snapshot",
    "state",
    "timers",
    "trace",
    "validation",
    "versions",
]
