"""The compiled fold (native/streams_module.c)."""

from collections.abc import Callable, Sequence
from typing import Any

from .adjudication.compiled_layout import Moment, Rules, Tables, Writing

VERSION: int
PURE: int
LAYOUT: str

def timer(packed: bytes, order: int, /) -> tuple[int, int | None] | None: ...

class Folder:
    def __init__(self, tables: Tables, moment: Moment, rules: Rules, writing: Writing, /) -> None: ...
    def fire(self, most: int, mark: int, /) -> int: ...
    def renew(self, renewed: tuple[str, int, str], /) -> bool: ...
    def apply(self, events: Sequence[Any], topics: bytes, other: Callable[[Any], None], /) -> int: ...
