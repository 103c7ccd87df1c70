"""Texts that keep their sources."""

from __future__ import annotations

from sluice.streams.grounded import Grounded, agent, grounded_pure, template, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@agent
@grounded_pure
def letter(key: str, name: str) -> Grounded[str]:
    doc = fetch(key)
    text = template("Dear {name}, {doc}", name=name, doc=doc)
    other = fetch("pattern").format(doc, name)
    return text + other


@agent
@grounded_pure
def lines(keys: list[str]) -> Grounded[str]:
    return fetch("separator").join([fetch(key) for key in keys])
