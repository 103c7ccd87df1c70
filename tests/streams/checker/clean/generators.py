"""Generators of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


def documents(keys: Iterable[str]) -> Iterator[Grounded[str]]:
    for key in keys:
        yield fetch(key)


@agent
@grounded_pure
def first_of(keys: list[str]) -> Grounded[str]:
    for doc in documents(keys):
        return doc
    raise LookupError("no keys")


@agent
@grounded_pure
def enumerated(keys: list[str]) -> Grounded[str]:
    chosen = [doc for number, doc in enumerate(documents(keys)) if number < 3]
    by_key = {key: doc for key, doc in zip(keys, chosen, strict=False) if key}
    for key, doc in by_key.items():
        if key == "index":
            return doc
    return chosen[-1]
