"""Agents as methods, documents as attributes."""

from __future__ import annotations

from dataclasses import dataclass, field

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@dataclass
class Card:
    title: str
    doc: Grounded[str]
    notes: list[Grounded[str]] = field(default_factory=list)


class Library:
    def __init__(self, root: str) -> None:
        self.root = root
        self.cache: dict[str, Grounded[str]] = {}
        self.last = None

    @tool(data="grounded")
    def read(self, key: str) -> Grounded[str]:
        return self.root + key

    @agent
    @grounded_pure
    def cached(self, key: str) -> Grounded[str]:
        if key not in self.cache:
            self.cache[key] = self.read(key)
        return self.cache[key]

    @agent
    def remember(self, key: str) -> Grounded[str]:
        self.last = self.read(key)
        return self.last

    @property
    def newest(self) -> Grounded[str]:
        return self.read("newest")

    @agent
    def latest(self) -> Grounded[str]:
        return summarise(self.newest)


@agent
@grounded_pure
def card(key: str) -> Grounded[str]:
    made = Card(title=key, doc=fetch(key))
    made.notes.append(fetch("notes"))
    return made.doc + made.notes[0]
