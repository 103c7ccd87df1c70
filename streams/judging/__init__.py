"""Judging: whether a text, a tree of code, a document or a history bears a check out, and what of a sentence the
checks cover.
"""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "checks",
    "cited",
    "claim_forms",
    "code",
    "coverage",
    "derivation",
    "documents",
    "facts",
    "index",
    "languages",
    "lexicon",
    "literals",
    "matching",
    "moments",
    "outcomes",
    "quotes",
    "refuting",
    "rendering",
    "results",
    "teaching",
    "terms",
    "text_checks",
    "verify",
    "writing",
]
