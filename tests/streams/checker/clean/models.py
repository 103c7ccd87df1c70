"""Messages, rows and models that hold grounded values where they say so."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import msgspec

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


class Entry(msgspec.Struct):
    title: str
    doc: Grounded[str]


class Pair(NamedTuple):
    left: Grounded[str]
    right: int


class Row(TypedDict):
    title: str
    doc: Grounded[str]


@agent
@grounded_pure
def filled(key: str) -> Grounded[str]:
    entry = Entry(title=key, doc=fetch(key))
    changed = msgspec.structs.replace(entry, doc=summarise(entry.doc))
    pair = Pair(changed.doc, 1)
    row: Row = {"title": key, "doc": pair.left}
    left, right = pair
    record = {"id": key, "doc": row["doc"], "place": (key, left, right)}
    return record["doc"]
