"""Judging: whether a text, a tree of code, a document or a history bears a check out, and what of a sentence the
checks cover.
"""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "check_texts",
    "checks",
    "claim_forms",
    "coverage",
    "documents",
    "facts",
    "index",
    "languages",
    "prose_literals",
    "terms",
    "verify",
]
