"""Categories composed over several calls."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@tool(data="pii")
def person(key: str) -> str:
    return key


@tool(data=["grounded", "medical"])
def record(key: str) -> Grounded[str]:
    return key


def gather(key: str) -> Grounded[str]:
    return record(key)


@agent(data={"grounded", "medical", "pii"})
@grounded_pure
def brief(key: str) -> Grounded[str]:
    name = person(key)
    return summarise(gather(key), name)


@agent(data={"grounded", "medical"})
@grounded_pure
def second(doc: Grounded[str]) -> Grounded[str]:
    return summarise(doc)
