"""How a lane gets its state back: from a snapshot, from a standby, or by folding its ledger again."""

__all__ = ["restore", "snapshot_schedule", "snapshots", "standby"]
