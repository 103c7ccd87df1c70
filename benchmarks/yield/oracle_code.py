"""What the oracle knows of one source file, whatever its language."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Definition(NamedTuple):
    """One definition and what is in its body, nested definitions left out.

    Attributes:
        name: with what it lies in, as `Context.invoke`.
        kind: function, method, type, constant, variable.
        first, last: its lines, from 1.
        calls: what is called, as it is written (`ctx.invoke`).
        names: every identifier that is used.
        returns: the texts of what is returned.
    """

    name: str
    kind: str
    first: int
    last: int
    calls: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    returns: tuple[str, ...] = ()


class Module(NamedTuple):
    """One file.

    Attributes:
        definitions: in the order of the file.
        values: names with what they are worth; `...` for what is no literal.
        imports: the modules that are imported, as they are written.
    """

    definitions: list[Definition]
    values: list[tuple[str, Any]]
    imports: frozenset[str]


def named(full: str, symbol: str) -> bool:
    """Whether a name is meant: the whole, or its last parts; `self.name` is a name of whatever it is."""
    symbol = re.sub(r"\A(?:self|this|cls)\.(?=\w)", "", symbol.replace("::", "."))
    return full == symbol or full.endswith("." + symbol)
