"""Loops that try again, and give up by raising."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@agent
def stubborn(key: str) -> Grounded[str]:
    for _ in range(3):
        try:
            return fetch(key)
        except OSError:
            continue
    raise LookupError(key)


@agent
def patient(key: str) -> Grounded[str]:
    doc = None
    while doc is None:
        try:
            doc = fetch(key)
        except TimeoutError:
            pass
    return doc


@agent
def searching(keys: list[str]) -> Grounded[str]:
    found: Grounded[str] | None = None
    for key in keys:
        candidate = fetch(key)
        if key.startswith("a"):
            found = candidate
            break
    if found is None:
        raise LookupError("none of them")
    return found
