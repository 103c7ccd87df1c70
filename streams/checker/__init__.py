"""The static checker of grounded values: proves, before anything runs, what the library enforces [C §2, §6, §7, §9].

`check` takes sources and gives findings; it imports nothing that it checks and does no I/O. An abstract interpreter
follows every function over a small lattice (`model.py`), each construct of Python by a row of a table.
"""

from .analysis import Source, check
from .findings import RULES, SITES, Finding, Report, as_json, as_sarif

__all__ = [
    "RULES",
    "SITES",
    "Finding",
    "Report",
    "Source",
    "as_json",
    "as_sarif",
    "check",
]
