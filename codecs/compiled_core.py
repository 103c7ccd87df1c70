"""Whether the compiled core is there, and may be used (native/README.md).

It is an addition: an install without a compiler, or a run with `SLUICE_PURE=1`, does all in Python, and every output is
the same byte for byte. A core of another version than this code's is not used either, nor one that was built from
another layout (`compiled_layout.py`): what was built before the sources changed would go by older rules, or read one
field for another.
"""

from __future__ import annotations

from types import ModuleType
from typing import Final

from .compiled_layout import LAYOUT

VERSION: Final = 37
"""Raised together with `native/version.h`, whenever what the compiled core does changes."""


def usable(found: ModuleType, layout: str) -> bool:
    """Whether a compiled module is the one that belongs to this code, and `SLUICE_PURE` does not forbid it.

    Args:
        found: the module.
        layout: the one that it must have been built from.
    """
    same = (getattr(found, "VERSION", None), getattr(found, "LAYOUT", None)) == (VERSION, layout)
    return same and not getattr(found, "PURE", True)


try:
    from . import _native as _found
except ImportError:
    codecs = None
else:
    codecs = _found if usable(_found, LAYOUT) else None
"""The compiled codecs, or None."""
