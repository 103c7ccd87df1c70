"""The rule of before: an assertion is admitted when all of its words and literals stand where it says that it looked.

What docs/checks.md replaced, kept here so that the same corpus says what it was worth: the terms of the sentence
(`streams/judging/terms.py`), held against the text of each place that an annotation names, and k distinct classes.
"""

from __future__ import annotations

from typing import Any

from oracle import Package

from sluice.streams.judging.terms import Content, presence, terms_of

MAX_TERMS = 100


def classes_with_all_words(text: str, annotations: list[dict[str, Any]], package: Package) -> set[str]:
    """The classes where every term of the sentence stands."""
    found: set[str] = set()
    for one in annotations:
        name, locator = one["substrate_class"], one["locator"]
        region = _region(name, locator, package)
        terms = terms_of(text, name, locator).terms[:MAX_TERMS]
        if region is not None and presence(terms, region).whole:
            found.add(name)
    return found


def _region(name: str, locator: dict[str, Any], package: Package) -> Content | None:
    path = locator.get("path", "")
    text = package.text(path)
    if text is None:
        return None
    lines = text.splitlines()
    if name == "substrate.grep":
        wanted = locator.get("pattern", "")
        lines = [line for line in lines if wanted in line]
    elif name == "substrate.git.log":
        commits = [one for one in package.commits.values() if path in one["paths"]]
        said = [f"{one['subject']} {one['author']} {one['date'].date().isoformat()}" for one in commits]
        numbers = [number for number, one in package.commits.items() if path in one["paths"]]
        lines = [*lines, *said, *numbers]
    elif name == "substrate.fs.mtime":
        return None
    elif "lines" in locator:
        first, last = locator["lines"]
        lines = lines[first - 1 : last]
    return Content("\n".join(lines))
