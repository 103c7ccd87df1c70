"""Signed checkpoints and proofs: what a lane signs about its history, and what a third party can check of it."""

__all__ = [
    "checkpointing",
    "other_ledgers",
    "profile_keys",
    "proof_files",
    "proofs",
    "proving",
    "retentions",
    "signing",
    "trust",
    "worker_key",
]
