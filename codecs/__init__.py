"""Bytes to records and back: no I/O, no clock, no state."""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "blocks",
    "canonical",
    "check_notes",
    "compiled_core",
    "decode",
    "errors",
    "identifiers",
    "inline",
    "json_text",
    "ledger_statements",
    "merkle",
    "notes",
    "partition",
    "prose",
    "record_batches",
    "records",
    "signatures",
    "strict_schema",
    "times",
    "unicode_text",
    "vocabulary",
]
