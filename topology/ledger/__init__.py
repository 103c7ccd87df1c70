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
    "installation",
    "interfaces",
    "ledger",
    "log_names",
    "log_reader",
    "obligations",
    "policies",
    "replay",
    "retention",
]
