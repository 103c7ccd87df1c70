"""Audit: a lane's history held against itself, its outputs, and the checkpoints that were signed (ARCHITECTURE.md).

`files` is the format of an export, `exporting` writes one; `divergences` is the closed list of what can be wrong.
`links` follows the chain of blocks, `rules` holds each to the one before it, `outputs` compares what was written with
what the fold gives, `signed` reads the checkpoints; `lane` does all of that for one lane and `run` for all of them.
`report` and `page` tell it.
"""

__all__ = ["chain_check", "divergences", "models", "page", "report", "rules", "run"]
