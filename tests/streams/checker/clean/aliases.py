"""The library under other names."""

from __future__ import annotations

import sluice.streams.grounded as g
from sluice.streams.grounded import agent as a

Doc = g.Grounded[str]
Docs = list[Doc]


@g.tool(data="grounded")
def look(key: str) -> g.Grounded[str]:
    return key


@a(data={"grounded"})
@g.grounded_pure
def aliased(key: str) -> Doc:
    return look(key)


@a
def several(keys: list[str]) -> g.Grounded[list[str]]:
    docs: Docs = [look(key) for key in keys]
    return docs
