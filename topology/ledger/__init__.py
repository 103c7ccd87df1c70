"""One lane's history, however it is stored: the chain of blocks, its replay, its export, and the folds that it is
folded by.
"""

__all__ = [
    "adopting",
    "block_builder",
    "chain",
    "draining",
    "export",
    "export_files",
    "fold_filter",
    "folds",
    "interfaces",
    "ledger",
    "log_reader",
    "obligations",
    "policies",
    "replay",
    "retention",
]
