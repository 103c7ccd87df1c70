"""A sum over documents, and a list of them."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@agent(min_confidence=0.8, data={"grounded"})
@grounded_pure
def all_of(keys: list[str]) -> Grounded[str]:
    text = ""
    for key in keys:
        text = text + fetch(key)
    return text


@agent
@grounded_pure
def listed(keys: list[str]) -> Grounded[str]:
    docs: list[Grounded[str]] = []
    for key in keys:
        docs.append(fetch(key))
    first, *rest = docs
    for one in rest:
        first = first + one
    return first
