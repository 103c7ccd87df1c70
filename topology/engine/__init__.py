"""A worker's lanes: from their inputs over blocks to the ledger and committed outputs, and back to a state.

`worker` starts and stops them. `replay` is the one way through a ledger, for who reads; `chain` for who writes.
`checkpointing` signs a lane's history. Nothing here knows the command line or audits.
"""

__all__ = [
    "app",
    "chain",
    "export_files",
    "folds",
    "installation",
    "intake",
    "interfaces",
    "policies",
    "probe_server",
    "replay",
    "signing",
    "stored_topics",
    "topic_repair",
    "trust",
    "worker",
]
