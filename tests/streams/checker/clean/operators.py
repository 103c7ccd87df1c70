"""Operators keep the wrapper."""

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
def combine(key: str, count: int) -> Grounded[str]:
    doc = fetch(key)
    doc += "\n"
    head = doc[:10]
    total = "Summary: " + head + doc * count
    return summarise(total)


@agent
@grounded_pure
def longer(left: str, right: str) -> Grounded[bool]:
    return fetch(left) > fetch(right)
