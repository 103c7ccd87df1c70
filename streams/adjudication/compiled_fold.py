"""The compiled fold, where it is there and may be used (native/README.md); compiled.py and table.py use it."""

from __future__ import annotations

from ...codecs import compiled_core
from .fold_layout import LAYOUT

try:
    from .. import _native as _found
except ImportError:
    core = None
else:
    core = _found if compiled_core.codecs is not None and compiled_core.usable(_found, LAYOUT) else None
"""The compiled module, or None; also without the compiled codecs, whose outputs it makes."""
