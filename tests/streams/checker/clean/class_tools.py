"""Tools, prompts and agents that are methods."""

from __future__ import annotations

from typing import Protocol

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


class Model(Protocol):
    def complete(self, text: str) -> str: ...


class Library:
    def __init__(self, pages: dict[str, str]) -> None:
        self.pages = pages
        self.reads = 0

    @tool(data="grounded", source="library/{key}")
    def page(self, key: str) -> Grounded[str]:
        self.reads += 1
        return self.pages[key]


class Writer:
    def __init__(self, library: Library, model: Model) -> None:
        self.library = library
        self.model = model

    @prompt(cites="page", strictly="normalised")
    def summarise(self, page: str, question: str = "why") -> Grounded[str]:
        return self.model.complete(page + question)

    @agent(data={"grounded"})
    @grounded_pure
    def write(self, key: str) -> Grounded[str]:
        page = self.library.page(key)
        return self.summarise(page, question="how")

    def show(self, key: str) -> str:
        return self.write(key).unwrap_discarding_sources()
