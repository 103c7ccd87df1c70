"""The compiled fold, where it is there and may be used (native/README.md); folder.py and table.py use it."""

from __future__ import annotations

from ...codecs import compiled_core

try:
    from .. import _native as _found
except ImportError:
    core = None
else:
    core = _found if compiled_core.usable(_found) else None
"""The compiled module, or None."""
