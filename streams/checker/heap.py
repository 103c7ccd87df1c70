"""The heap: one cell for each place in the source that makes a container, written to weakly.

What was once put in stays in, so aliases need no care, and passes repeated until no cell changes come to an end.
"""

from __future__ import annotations

from typing import Any

from .model import Cell
from .value_lattice import MAX_REFS, NOTHING, Value, join, of


class Heap:
    """The cells of one run. Invariant: they only grow.

    Attributes:
        dirty: something was put into a cell that had been read before in this pass, so another pass is due.
    """

    def __init__(self) -> None:
        self._cells: dict[Any, Cell] = {}
        self.dirty = False

    def cell(self, key: Any, kind: str) -> Cell:
        """The cell for a place in the source."""
        found = self._cells.get(key)
        if found is None:
            found = self._cells[key] = Cell(kind)
        return found

    def put(self, cell: Cell, key: Any, value: Value) -> None:
        """Puts something into a cell: under a key, or anywhere if it is None."""
        old = cell.rest if key is None else cell.items.get(key, NOTHING)
        new = join(old, value)
        if new != old and len(new.refs) <= MAX_REFS:
            self.dirty = self.dirty or cell.read
            if key is None:
                cell.rest = new
            else:
                cell.items[key] = new

    def holding(self, key: Any, kind: str, element: Value) -> Value:
        """A container made here that holds `element`."""
        cell = self.cell(key, kind)
        self.put(cell, None, element)
        return of(cell)
