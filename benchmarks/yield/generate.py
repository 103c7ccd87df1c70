"""Writes `corpus/generated.jsonl`: statements made from the sources by turns of phrase, each verified by the oracle.

    .venv/bin/python benchmarks/yield/generate.py

The rest of the corpus is written by hand. What is made here depends on the pinned sources and this file only. A false
statement is a near miss: another value, callee, file or line that also occurs there, and the oracle says that it is
false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from annotating import annotated
from choosing import number, pick, shuffled
from facts import FINDERS, Fact, word
from oracle import Package, package
from sources import roots
from statements import CORPUS, write

TRUE_BY_KIND = {"value": 40, "call": 34, "definition": 28, "config key": 22, "import": 14, "return": 10, "section": 10}
FALSE_BY_KIND = {"value": 20, "call": 18, "definition": 10, "config key": 12, "import": 8}
TRUE_BY_KIND |= {"line": 12, "count": 8, "absence": 8}
FALSE_BY_KIND |= {"line": 6, "count": 4}
MOST_OF_A_FILE = 2
"""Statements of one kind about one file, true and false each."""
OWN = re.compile(r"(^|/)(tests?|docs?|doc|examples?|archive|project|fuzz|ui-tests|astgen|requirements)(/|$)|\.egg-info")
MIXED = ("jpype1", "pythonnet", "gojsonnet", "rpds-py", "markupsafe", "jupyterlab-execute-time")
"""Packages of which what is not Python comes first: there is Python enough."""
LANGUAGES = {
    "py": "python", "pyi": "python", "go": "go", "rs": "rust", "c": "c", "h": "cpp", "cpp": "cpp", "cs": "csharp",
    "java": "java", "js": "javascript", "ts": "typescript", "toml": "toml", "lock": "toml", "json": "json",
    "yml": "yaml", "yaml": "yaml", "ini": "ini", "cfg": "ini", "md": "markdown", "sh": "shell", "mk": "makefile",
}  # fmt: skip
STYLES = {
    "value": {
        "plain": "`{name}` in `{path}` is {value}.",
        "file and line": "`{path}:{line}` sets `{name}` to {value}.",
        "defaults": "`{name}` defaults to {value}.",
        "checked": "I checked `{path}`: `{name}` is {value}.",
        "list item": "`{name}`: {value} (see `{path}`)",
        "equals": "In `{path}`, `{name}` equals {value}.",
    },
    "call": {
        "call form": "`{caller}()` calls `{callee}()`.",
        "in file": "In `{path}`, `{caller}` calls `{callee}`.",
        "passive": "`{callee}` is called by `{caller}` (`{path}:{line}`).",
        "body": "The body of `{caller}` has a call of `{callee}`.",
        "looking": "Looking at `{path}`, `{caller}` calls `{callee}` at some point, so changes to the latter reach it.",
    },
    "definition": {
        "defined": "`{name}` is defined in `{path}`.",
        "defines": "`{path}` defines `{name}`.",
        "lives": "The {kind} `{name}` lives in `{path}`.",
        "starts": "`{name}` is a {kind} in `{path}`, from line {line} on.",
    },
    "config key": {
        "set": "`{path}` sets `{name}` to {value}.",
        "is": "`{name}` in `{path}` is {value}.",
        "according": "According to `{path}`, `{name}` is {value}.",
    },
    "import": {
        "imports": "`{path}` imports `{module}`.",
        "dependency": "`{module}` is imported in `{path}`, so that dependency is a real one.",
    },
    "return": {"returns": "`{name}` returns `{quote}`.", "in file": "In `{path}`, `{name}()` returns `{quote}`."},
    "section": {"section": "`{path}` has a section `{name}`.", "heading": "There is a heading \"{name}\" in `{path}`."},
    "line": {"at": "`{path}:{line}` reads `{quote}`.", "line": "Line {line} of `{path}` is `{quote}`."},
    "count": {
        "occurs": "`{quote}` occurs {count} times in `{path}`.",
        "has": "`{path}` has {count} occurrences of `{quote}`.",
    },
    "absence": {"no": "There is no `{name}` in `{path}`.", "contains": "`{path}` does not contain `{name}`."},
}  # fmt: skip


# ---------------------------------------------------------------- near misses


def missed(one: Package, fact: Fact, others: list[Fact]) -> tuple[Fact, str] | None:
    """The fact with one thing in it replaced by something else that also occurs, and what is true; None for none."""
    said = dict(fact.said)
    same_file = [other for other in others if other.path == fact.path and other.check != fact.check]
    if fact.kind in ("value", "config key"):
        like = [one for one in same_file if one.said["type"] is said["type"] and one.said["value"] != said["value"]]
        if not like:
            return None
        other = pick(like, "miss", fact.check)
        head = fact.check[: fact.check.index(", ")]
        rest = other.check[other.check.index(", ") :]
        return Fact(
            fact.kind, fact.path, fact.look, head + rest, {**said, "value": other.said["value"]}
        ), f"it is {said['value']}"
    if fact.kind == "call" and same_file:
        callee = pick(same_file, "miss", fact.check).said["callee"]
        return Fact(
            "call",
            fact.path,
            fact.look,
            f"calls({said['caller']}, {callee}, path={word(fact.path)})",
            {**said, "callee": callee},
        ), "it does not"
    if fact.kind in ("definition", "import"):
        paths = sorted(
            {other.path for other in others if other.path.rpartition(".")[2] == fact.path.rpartition(".")[2]}
            - {fact.path}
        )
        if not paths:
            return None
        path = pick(paths, "miss", fact.check)
        check = fact.check[: fact.check.rindex(", path=")] + f", path={word(path)})"
        return Fact(fact.kind, path, (1, 20), check, said), f"in {fact.path}"
    if fact.kind == "line":
        line = said["line"] + (number("off", fact.check) % 7 - 3 or 4)
        return Fact(
            "line",
            fact.path,
            fact.look,
            f"line({word(fact.path)}, {line}, {word(said['quote'])})",
            {**said, "line": line},
        ), f"line {said['line']}"
    if fact.kind == "count":
        count = said["count"] + 1 + number("off", fact.check) % 3
        check = fact.check.replace(f", =, {said['count']},", f", =, {count},")
        return Fact("count", fact.path, fact.look, check, {**said, "count": count}), f"{said['count']} times"
    return None


# ---------------------------------------------------------------- the corpus


def made(found: dict[str, Package]) -> Iterator[dict[str, Any]]:
    """Every generated statement, the true ones first."""
    facts = {
        (kind, name): [fact for path in sorted(one.tracked) if not OWN.search(path) for fact in finder(one, path)]
        for kind, finder in FINDERS.items()
        for name, one in found.items()
    }
    for label, wanted in ((True, TRUE_BY_KIND), (False, FALSE_BY_KIND)):
        for kind, most in wanted.items():
            yield from _of_kind(found, facts, kind, label, most)


def _of_kind(
    found: dict[str, Package], facts: dict[tuple[str, str], list[Fact]], kind: str, label: bool, most: int
) -> Iterator[dict[str, Any]]:
    queues = {name: shuffled(facts[kind, name], label, kind, name) for name in found}
    for name in MIXED:
        queues[name].sort(key=lambda fact: not fact.path.endswith((".py", ".toml")))  # taken from the end
    taken: dict[tuple[str, str], int] = {}
    seen: set[str] = set()
    count = 0
    while count < most and any(queues.values()):
        for name, one in found.items():
            while queues[name] and count < most:
                fact, why = queues[name].pop(), ""
                if not label:
                    miss = missed(one, fact, facts[kind, name])
                    if miss is None:
                        continue
                    fact, why = miss
                said = fact.said.get("name", fact.said.get("caller", fact.check))
                if (
                    one.truth(fact.check) is not label
                    or taken.get((name, fact.path), 0) >= MOST_OF_A_FILE
                    or said in seen
                ):
                    continue
                record = _record(name, fact, label, why, count + 1)
                if label and not all(map(one.truth, record["checks"])):
                    continue
                taken[name, fact.path] = taken.get((name, fact.path), 0) + 1
                seen.add(said)
                count += 1
                yield annotated(record, one)
                break


def _record(name: str, fact: Fact, label: bool, why: str, count: int) -> dict[str, Any]:
    styles = [style for style in sorted(STYLES[fact.kind]) if style != "defaults" or fact.said["parameter"]]
    style = pick(styles, "style", label, count, fact.check)
    checks = [fact.check]
    if "{line}" in STYLES[fact.kind][style] and fact.kind != "line":  # who names a line has it checked as well
        about = str(fact.said.get("name", fact.said.get("caller"))).rpartition(".")[2]
        checks.append(f"line({word(fact.path)}, {fact.said['line']}, {word(about)})")
    identifier = f"made-{'t' if label else 'f'}-{fact.kind.replace(' ', '-')}-{count:02}"
    return {
        "id": identifier,
        "package": name,
        "kind": fact.kind,
        "language": language_of(fact.path),
        "label": label,
        "why": why,
        "wrong": [] if label else [wrong_of(fact)],
        "text": STYLES[fact.kind][style].format(path=fact.path, **fact.said),
        "style": f"{fact.kind}: {style}",
        "path": fact.path,
        "look": [max(1, fact.look[0] - 4), fact.look[1] + 4],
        "checks": checks,
        "beside": False,
        "verified": "oracle",
    }


def wrong_of(fact: Fact) -> str:
    """The words that a near miss put in the place of what is true."""
    said = {"value": "value", "config key": "value", "call": "callee", "line": "line", "count": "count"}
    return str(fact.said[said[fact.kind]]).strip("`") if fact.kind in said else fact.path


def language_of(path: str) -> str:
    """The language of a file, by its name."""
    name = path.rpartition("/")[2]
    return "makefile" if name == "Makefile" else LANGUAGES.get(name.rpartition(".")[2], "text")


if __name__ == "__main__":
    write(CORPUS / "generated.jsonl", made({name: package(root) for name, root in roots().items()}))
