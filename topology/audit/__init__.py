"""Audit: a lane's history held against itself, its outputs, and the checkpoints that were signed.

`divergences` is the closed list of what can be wrong. `ledger_checks` has what a ledger is held against on its way
through `ledger.replay`: `chain_check` finds the chain of blocks, `rules` holds each to the one before it.
`output_checks` compares what was written with what the fold gives, `checkpoint_check` reads the checkpoints;
`lane_audit` does all of that for one lane and `run` for all of them. `report` and `report_page` tell it.
"""

__all__ = ["divergences", "ledger_checks", "models", "report", "report_page", "run"]
