"""Every branch retrieves."""

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
def choose(key: str, deep: bool) -> Grounded[str]:
    if deep:
        doc = summarise(fetch(key), "in depth")
    elif key == "index":
        doc = fetch("index")
    else:
        doc = fetch(key)
    return doc if deep else summarise(doc)


@agent
@grounded_pure
def matched(kind: str, key: str) -> Grounded[str]:
    match kind:
        case "full":
            return fetch(key)
        case "short" | "brief":
            return summarise(fetch(key))
        case _:
            raise ValueError(kind)
