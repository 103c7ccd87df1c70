"""Attestations: the fold of the lane `frame`. It types, sanitises and frames what attestations say, and sums up their
verdicts.
"""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "framing",
]
