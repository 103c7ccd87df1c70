"""The compiled fold (native/streams_module.c)."""

from collections.abc import Callable, Sequence
from typing import Any

VERSION: int
PURE: int

def timer(packed: bytes, order: int, /) -> tuple[int, int | None] | None: ...

class Folder:
    def __init__(
        self, tables: tuple[Any, ...], numbers: tuple[Any, ...], rules: tuple[Any, ...], writing: tuple[Any, ...], /
    ) -> None: ...
    def fire(self, most: int, mark: int, /) -> int: ...
    def renew(self, renewed: tuple[str, int, str], /) -> bool: ...
    def apply(self, events: Sequence[Any], topics: bytes, other: Callable[[Any], None], /) -> int: ...
