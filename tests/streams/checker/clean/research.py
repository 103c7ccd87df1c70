"""The example of the design."""

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
def research(key: str) -> Grounded[str]:
    doc = fetch(key)
    return summarise(doc, "What changed?")
