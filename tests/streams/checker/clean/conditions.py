"""Outside a pure function a condition may take the truth of a grounded value."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@agent
def gate(key: str) -> Grounded[str]:
    doc = fetch(key)
    if doc == "draft":
        doc = fetch("final")
    while not doc:
        doc = fetch(key)
    print(f"about to answer on {key}")
    return doc
