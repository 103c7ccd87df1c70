"""Folding documents together."""

from __future__ import annotations

import functools
from collections import deque

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


def both(left: Grounded[str], right: Grounded[str]) -> Grounded[str]:
    return left + right


@agent
@grounded_pure
def reduced(keys: list[str]) -> Grounded[str]:
    docs = [fetch(key) for key in keys]
    return functools.reduce(both, docs)


@agent
@grounded_pure
def mapped(keys: list[str]) -> Grounded[str]:
    docs = list(map(fetch, keys))
    queue = deque(docs)
    doc = queue.popleft()
    while queue:
        doc = doc + queue.popleft()
    partial = functools.partial(summarise, question="What?")
    return partial(doc)
