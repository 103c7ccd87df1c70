"""Dataclasses that hold grounded values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@dataclass(frozen=True)
class Finding:
    title: Grounded[str]
    body: Grounded[str]
    tags: tuple[str, ...] = ()
    notes: list[Grounded[str]] = field(default_factory=list)
    other: Grounded[str] | None = None


@tool(data="grounded")
def fetch(k: str) -> Grounded[str]:
    return k.upper()


@prompt(cites="doc", strictly=True)
def explain(doc: str) -> Grounded[str]:
    return "It says so."


@agent(data="grounded")
@grounded_pure
def research(k: str) -> Grounded[str]:
    doc = fetch(k)
    found = Finding(title=doc[:10], body=doc, tags=("a", "b"))
    found.notes.append(doc)
    found = replace(found, title=explain(doc), other=doc)
    if found.other is None:
        return found.title
    return found.title + ": " + found.body


@agent
@grounded_pure
def collect(ks: list[str]) -> Grounded[str]:
    found = [Finding(fetch(k), fetch(k)) for k in ks]
    return Grounded.join("; ", [f.title for f in found])
