"""Programs for the tests: a prelude with tools, prompts and agents, and bodies that are put under `@grounded_pure`."""

from __future__ import annotations

import textwrap

from sluice.streams.checker import Report, Source, check

PRELUDE = """\
from __future__ import annotations
import asyncio, copy, dataclasses, functools, itertools, operator, typing
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional, TypedDict
import msgspec
from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, template, tool

@tool(data="grounded")
def fetch(key: str) -> Grounded[str]: return key
@tool(data="grounded")
async def afetch(key: str) -> Grounded[str]: return key
@tool(data={"pii"})
def lookup(key: str) -> str: return key
@tool
def store(doc: str) -> None: ...
@tool
def passages(doc: str) -> list[Grounded[str]]: return []
@prompt(model="m")
def is_polite(doc: str) -> bool: return True
@prompt(model="m")
def summarise(doc: str, question: str = "") -> Grounded[str]: return doc
@prompt(model="m", confidence=0.6)
def guess(doc: str) -> Grounded[str]: return doc
@agent
def impure(key: str) -> Grounded[str]: return fetch(key)
@agent
@grounded_pure
def pure(key: Grounded[str]) -> Grounded[str]: return key
def keep(doc: Grounded[str]) -> Grounded[str]: return doc
def plain(doc: str) -> str: return doc
def bare(doc): return doc
def many(docs: list[str]) -> int: return len(docs)
@dataclass
class Card:
    text: str
    doc: Optional[Grounded[str]] = None
    tags: list[str] = field(default_factory=list)
class Pair(NamedTuple):
    left: str
    right: Grounded[str]
class Entry(msgspec.Struct):
    text: str
class Row(TypedDict):
    text: str
class Box:
    text: str
    def __init__(self, text: str) -> None: self.text = text
TOTAL = ""
unknown: Any = object()
"""
LINES = PRELUDE.count("\n")


def run(text: str, path: str = "program.py") -> Report:
    """A whole program."""
    return check([Source(path, textwrap.dedent(text))])


def found(text: str) -> list[tuple[int, str]]:
    """The findings of a whole program, as line and rule."""
    report = run(text)
    assert not report.errors, report.errors
    return [(one.line, one.rule) for one in report.findings]


def under_pure(body: str, returns: str = "", asynchronous: bool = False, arguments: str = "g: Grounded[str]") -> Report:
    """A body in a `@grounded_pure` agent, behind the prelude; `g` is a grounded parameter."""
    arrow = f" -> {returns}" if returns else ""
    head = f"@agent\n@grounded_pure\n{'async ' if asynchronous else ''}def subject({arguments}, key: str){arrow}:\n"
    return check([Source("program.py", PRELUDE + head + textwrap.indent(textwrap.dedent(body), "    ") + "\n")])


def sites(body: str, returns: str = "", asynchronous: bool = False) -> list[str]:
    """The coercion sites found in a body, other rules by their names, each once, in order of the source."""
    report = under_pure(body, returns, asynchronous)
    assert not report.errors, report.errors
    return list(dict.fromkeys(one.site or one.rule for one in report.findings))
