"""Reading that begins at once: the first answers of several partitions are on their way while the others are asked for.

A reading opens a connection and waits for its first answer, some 10 ms in which nobody has anything to do; one behind
another they were a quarter of a short audit.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

T = TypeVar("T")


class Begun(Generic[T]):
    """A generator whose first item is asked for at once, in a task of its own. To be closed."""

    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items
        self._first: asyncio.Task[T | None] | None = asyncio.create_task(self._ask())

    async def _ask(self) -> T | None:
        return await anext(self._items, None)

    async def next(self) -> T | None:
        """The next item; None at the end.

        Raises:
            Exception: what the generator raises, where the item would come.
        """
        first, self._first = self._first, None
        return await (self._ask() if first is None else first)

    async def aclose(self) -> None:
        """Ends it, whether the first item has come or not."""
        first, self._first = self._first, None
        if first is not None:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        await self._items.aclose()
