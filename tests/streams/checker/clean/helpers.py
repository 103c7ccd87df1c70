"""Helpers that are annotated, nested, generic, or lambdas."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


def tidy(doc: Grounded[str]) -> Grounded[str]:
    return doc.map(str.strip)


def keyed(name: str, number: int) -> str:
    return f"{name}-{number:03}"


@agent
@grounded_pure
def helped(name: str) -> Grounded[str]:
    def again(number: int) -> Grounded[str]:
        return fetch(keyed(name, number))

    steps = {"again": lambda number: again(number)}
    return tidy(steps["again"](1)) + again(2)
