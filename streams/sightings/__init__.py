"""Sightings: the fold of the lane `bind`. It joins what was sighted with the assertions that cite it, and makes
observations.
"""

# pyright: reportUnsupportedDunderAll=false
__all__ = [
    "binding",
]
