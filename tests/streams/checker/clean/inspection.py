"""Looking at a value without taking it out."""

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
def careful(key: str) -> Grounded[str]:
    doc = fetch(key)
    if doc.confidence < 0.5 or "pii" in doc.data:
        doc = fetch("public")
    steps = doc.sources()
    names = [step.type for step in doc.retrievals()]
    if len(steps) > 10 or not names or doc is None or not isinstance(doc, Grounded):
        raise ValueError(f"{len(steps)} steps, by {', '.join(names)}")
    return doc
