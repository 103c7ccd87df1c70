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
        size: of an object with what is made of it; it counts from when it was made.
        room: the sizes of all that is kept, together. What is larger by itself is made each time. Without `size` there
            is no such bound.
    """

    def __init__(
        self, make: Callable[[Of], Made], most: int, size: Callable[[Of], int] = lambda _: 0, room: int = 0
    ) -> None:
        self._make, self._most, self._size, self._room = make, most, size, room
        self._kept: dict[int, tuple[Of, Made]] = {}  # the object is held, so that no other one gets its id
        self._used = 0

    def of(self, one: Of) -> Made:
        """What is made of this very object."""
        known = self._kept.get(id(one))
        if known is not None:
            return known[1]
        size = self._size(one)
        if size > self._room:
            return self._make(one)
        if len(self._kept) >= self._most or self._used + size > self._room:
            self._kept.clear()
            self._used = 0
        made = self._make(one)
        self._kept[id(one)] = one, made
        self._used += size
        return made
