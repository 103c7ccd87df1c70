"""Audits, proofs and explanations: what a third party checks of a lane's history, and what people are told of it.

`run` audits all lanes, `lane_audit` one; `report` tells what they found. `proving` makes proofs, `proofs` verifies
them. `explain` tells how an emission was decided, `what_if` how the past would be decided under another policy.
"""

__all__ = [
    "divergences",
    "explain",
    "explanation",
    "explanation_view",
    "explanation_words",
    "ledger_checks",
    "proofs",
    "proving",
    "report",
    "report_page",
    "run",
    "what_if",
    "what_if_view",
]
