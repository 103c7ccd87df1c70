"""A finding that its author knows of."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, grounded_pure, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@agent
def placeholder(key: str) -> Grounded[str]:
    return "not yet"  # sluice: ignore[ungrounded-return]


@agent
@grounded_pure
def logged(key: str) -> Grounded[str]:
    doc = fetch(key)
    print(doc)  # sluice: ignore[coercion, explicit-unwrap]
    return doc
