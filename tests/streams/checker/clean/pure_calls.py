"""Pure agents that call one another, by other names too."""

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
def first(key: str) -> Grounded[str]:
    return fetch(key)


@grounded_pure
@agent
def second(doc: Grounded[str]) -> Grounded[str]:
    return summarise(doc)


STEPS = {"one": first}


@agent
@grounded_pure
def both(key: str) -> Grounded[str]:
    step = STEPS["one"]
    again = second
    return again(step(key))


@agent
@grounded_pure
def descend(depth: int) -> Grounded[str]:
    if depth == 0:
        return fetch("root")
    return descend(depth - 1)
