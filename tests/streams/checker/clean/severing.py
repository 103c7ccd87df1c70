"""A severed chain claims nothing."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@agent
def synthesis(key: str) -> str:
    mixed = fetch(key).sever("mixed with the caller's own words")
    return mixed.unwrap_discarding_sources()
