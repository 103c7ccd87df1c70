"""A tool of grounded data returns Grounded even when it is declared plain."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@tool(data="grounded")
def raw(key: str) -> str:
    return key


@agent(data={"grounded"})
@grounded_pure
def direct(key: str) -> Grounded[str]:
    return raw(key)


@agent(data={"grounded"})
@grounded_pure
def declared_plain(key: str) -> str:
    return raw(key)
