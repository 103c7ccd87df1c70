"""Outside a pure function a discard is on record, and fails nothing."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@agent
def count(key: str) -> int:
    doc = fetch(key)
    text = doc.unwrap_discarding_sources()
    print(text, str(doc), len(text))
    return len(text)


def report(doc: Grounded[str]) -> str:
    return doc.unwrap_discarding_sources().upper()
