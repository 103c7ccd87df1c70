"""What was made of an object, kept as long as the same object is asked about: for objects that take long to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Of = TypeVar("Of")
Made = TypeVar("Made")


class MadeOnce(Generic[Of, Made]):
    """Makes something of an object, and gives the same again for the same object. One thread uses it at a time.

    Args:
        make: what is made; the object must not change.
        most: how many are kept.
    """

    def __init__(self, make: Callable[[Of], Made], most: int) -> None:
        self._make, self._most = make, most
        self._kept: dict[int, tuple[Of, Made]] = {}  # the object is held, so that no other one gets its id

    def of(self, one: Of) -> Made:
        """What is made of this very object."""
        known = self._kept.get(id(one))
        if known is None:
            if len(self._kept) >= self._most:
                self._kept.clear()
            known = self._kept[id(one)] = one, self._make(one)
        return known[1]
