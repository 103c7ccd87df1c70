"""None where the declaration allows it."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@agent
@grounded_pure
def maybe(key: str) -> Grounded[str] | None:
    if not key:
        return None
    return fetch(key)


@agent
@grounded_pure
def surely(key: str) -> Grounded[str]:
    doc = maybe(key)
    if doc is None:
        raise LookupError(key)
    return doc


@agent
def with_optional(key: str) -> Grounded[str] | None:
    return fetch(key) if key else None
