"""Each rule finds what it is for, where it is, and nothing beside it: small programs behind the same tools."""

from __future__ import annotations

import pytest

from sluice.streams.checker import Report, Source, check

TOOLS = """\
from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool
@tool(data="grounded")
def fetch(k: str) -> Grounded[str]: return k
@tool(data="grounded", confidence=0.9)
def fetch9(k: str) -> Grounded[str]: return k
@tool(data=["grounded","financial"])
def ledger(k: str) -> Grounded[str]: return k
@tool(data="pii")
def person(k: str) -> Grounded[str]: return k
@tool(data={"grounded"})
def plainsrc(k: str) -> str: return k
@prompt(confidence=0.7)
def summ(d: str, q: str = "") -> Grounded[str]: return d
@prompt
def word(d: str) -> str: return d
"""
CASES: list[tuple[str, str, list[tuple[int, str]]]] = [
    (
        "a literal",
        """
@agent
def a(x: str) -> Grounded[str]:
    return "x"
""",
        [(3, "ungrounded-return")],
    ),
    (
        "a plain parameter",
        """
@agent
def a(x: str) -> Grounded[str]:
    return x
""",
        [(3, "ungrounded-return")],
    ),
    (
        "what a container holds that is declared plain",
        """
STORE: dict[str, str] = {}
@agent
def a(x: str) -> Grounded[str]:
    return STORE[x]
""",
        [(4, "ungrounded-return")],
    ),
    (
        "the weakest step is that of what is iterated over",
        """
@tool(data="grounded", confidence=0.5)
def some(k: str) -> Grounded[list[str]]: return [k]
@agent(min_confidence=0.8)
def a(x: str) -> Grounded[str]:
    first, *rest = some(x)
    return first
""",
        [(6, "unreachable-confidence")],
    ),
    (
        "an answer of nothing retrieved",
        """
from sluice.streams.grounded import Answer
@agent
def a(x: str) -> Grounded[str]:
    return Answer("x", confidence=0.9)
""",
        [(4, "ungrounded-return")],
    ),
    (
        "an answer is as sure as it says",
        """
from sluice.streams.grounded import Answer
@agent(min_confidence=0.8)
def a(x: str) -> Grounded[str]:
    return Answer(fetch(x), confidence=0.5)
@agent(min_confidence=0.8)
def b(x: str) -> Grounded[str]:
    return Answer(fetch(x))
""",
        [(4, "unreachable-confidence")],
    ),
    (
        "a Grounded parameter",
        """
@agent
def a(x: Grounded[str]) -> Grounded[str]:
    return x
""",
        [],
    ),
    (
        "a tool without grounded data",
        """
@agent
def a(x: str) -> Grounded[str]:
    return person(x)
""",
        [(3, "ungrounded-return")],
    ),
    (
        "a source that is declared plain",
        """
@agent
def a(x: str) -> Grounded[str]:
    return plainsrc(x)
""",
        [],
    ),
    (
        "a severed chain",
        """
@agent
def a(x: str) -> Grounded[str]:
    return fetch(x).sever("mix")
""",
        [(3, "ungrounded-return")],
    ),
    (
        "a map that reads nothing of its input",
        """
@agent
def a(x: str) -> Grounded[str]:
    return fetch(x).map(lambda _: "made up")
""",
        [(3, "ungrounded-return")],
    ),
    (
        "a map that reads the default of another parameter",
        """
@agent
def a(x: str) -> Grounded[str]:
    return fetch(x).map(lambda _, more="made up": more)
""",
        [(3, "ungrounded-return")],
    ),
    (
        "a map that reads its input beside a default",
        """
@agent
def a(x: str) -> Grounded[str]:
    return fetch(x).map(lambda text, more="x": text + more)
""",
        [],
    ),
    (
        "a map that reads what it gets as a tuple",
        """
@agent
def a(x: str) -> Grounded[str]:
    return fetch(x).map(lambda *texts, more="x": texts[0] + more)
""",
        [],
    ),
    (
        "an unwrapped value",
        """
@agent
def a(x: str) -> Grounded[str]:
    return fetch(x).unwrap_discarding_sources()
""",
        [(3, "ungrounded-return")],
    ),
    (
        "operators around a retrieval",
        """
@agent
def a(x: str) -> Grounded[str]:
    return "a" + fetch(x) + "b"
""",
        [],
    ),
    (
        "an f-string",
        """
@agent
def a(x: str) -> Grounded[str]:
    return f"{fetch(x)}"
""",
        [(3, "ungrounded-return")],
    ),
    (
        "one plain branch",
        """
@agent
def a(x: str) -> Grounded[str]:
    if x: r = fetch(x)
    else: r = "no"
    return r
""",
        [(5, "ungrounded-return")],
    ),
    (
        "the end of the body",
        """
@agent
def a(x: str) -> Grounded[str]:
    if x: return fetch(x)
""",
        [(1, "ungrounded-return")],
    ),
    (
        "a None that is declared",
        """
@agent
def a(x: str) -> Grounded[str] | None:
    if x: return fetch(x)
    return None
""",
        [],
    ),
    (
        "a search that raises when it finds nothing",
        """
@agent
def a(xs: list[str]) -> Grounded[str]:
    doc = None
    for x in xs:
        try:
            doc = fetch(x)
            break
        except OSError:
            continue
    if doc is None:
        raise LookupError
    return doc
""",
        [],
    ),
    (
        "a sum in a loop",
        """
@agent
def a(xs: list[str]) -> Grounded[str]:
    out = ""
    for x in xs:
        out += fetch(x)
    return out
""",
        [],
    ),
    (
        "a weak prompt",
        """
@agent(min_confidence=0.8)
def a(x: str) -> Grounded[str]:
    return summ(fetch(x))
""",
        [(3, "unreachable-confidence")],
    ),
    (
        "a bound that is a constant",
        """
M = 0.8
@agent(min_confidence=M)
def a(x: str) -> Grounded[str]:
    d = fetch9(x)
    return summ(d, "q")
""",
        [(5, "unreachable-confidence")],
    ),
    (
        "a bound that is just reached",
        """
@agent(min_confidence=0.7)
def a(x: str) -> Grounded[str]:
    return summ(fetch9(x))
""",
        [],
    ),
    (
        "a weak step in another agent",
        """
@agent
def b(x: str) -> Grounded[str]:
    return summ(fetch(x))
@agent(min_confidence=0.8)
def a(x: str) -> Grounded[str]:
    return b(x)
""",
        [(6, "unreachable-confidence")],
    ),
    (
        "an operator with a weak operand",
        """
@agent(min_confidence=0.8)
def a(x: str) -> Grounded[str]:
    return fetch9(x) + summ(fetch(x))
""",
        [(3, "unreachable-confidence")],
    ),
    (
        "a weak step that is not returned",
        """
@agent(min_confidence=0.8)
def a(x: str) -> Grounded[str]:
    y = summ(fetch(x))
    return fetch9(x)
""",
        [],
    ),
    (
        "a category that nobody brings",
        """
@agent(data={"grounded","financial"})
def a(x: str) -> Grounded[str]:
    return fetch(x)
""",
        [(1, "missing-data-category")],
    ),
    (
        "a category through a prompt",
        """
@agent(data={"grounded","financial"})
def a(x: str) -> Grounded[str]:
    return summ(ledger(x))
""",
        [],
    ),
    (
        "categories that are a constant",
        """
D = frozenset({"grounded", "financial"})
@agent(data=D)
def a(x: str) -> Grounded[str]:
    return fetch(x)
""",
        [(2, "missing-data-category")],
    ),
    (
        "a category through a helper",
        """
def h(x: str) -> Grounded[str]:
    return ledger(x)
@agent(data={"grounded","financial"})
def a(x: str) -> Grounded[str]:
    return h(x)
""",
        [],
    ),
    (
        "an impure agent behind a helper",
        """
@agent
def b(x: str) -> Grounded[str]:
    return fetch(x)
def h(x: str) -> Grounded[str]:
    return b(x)
@agent
@grounded_pure
def a(x: str) -> Grounded[str]:
    return h(x)
""",
        [(5, "impure-call")],
    ),
    (
        "the decorators the other way round",
        """
@agent
def b(x: str) -> Grounded[str]:
    return fetch(x)
@grounded_pure
@agent
def a(x: str) -> Grounded[str]:
    return b(x)
""",
        [(7, "impure-call")],
    ),
    (
        "an impure agent in a dictionary",
        """
@agent
def b(x: str) -> Grounded[str]:
    return fetch(x)
@agent
@grounded_pure
def a(x: str) -> Grounded[str]:
    fs = {"b": b}
    return fs["b"](x)
""",
        [(8, "impure-call")],
    ),
    (
        "an impure agent that is defined later",
        """
@agent
@grounded_pure
def a(x: str) -> Grounded[str]:
    return b(x)
@agent
def b(x: str) -> Grounded[str]:
    return fetch(x)
""",
        [(4, "impure-call")],
    ),
    (
        "a helper that formats",
        """
def h(d: Grounded[str]) -> str:
    return f"{d}"
@agent
@grounded_pure
def a(x: str) -> Grounded[str]:
    h(fetch(x))
    return fetch(x)
""",
        [(2, "coercion")],
    ),
    (
        "an attribute set by another method",
        """
class S:
    def __init__(self) -> None:
        self.doc = None
    def load(self, k: str) -> None:
        self.doc = fetch(k)
    @agent
    def get(self, x: str) -> Grounded[str]:
        self.load(x)
        return self.doc
""",
        [],
    ),
    (
        "a plain attribute",
        """
class S:
    @agent
    def get(self, x: str) -> Grounded[str]:
        return self.name
    def __init__(self, name: str) -> None:
        self.name = name
""",
        [(4, "ungrounded-return")],
    ),
    (
        "an agent that calls itself",
        """
@agent
def a(n: int) -> Grounded[str]:
    if n == 0:
        return fetch("x")
    return a(n - 1)
""",
        [],
    ),
    (
        "a helper that calls itself",
        """
def h(n: int):
    if n == 0:
        return fetch("x")
    return h(n - 1) + "x"
@agent
def a(n: int) -> Grounded[str]:
    return h(n)
""",
        [],
    ),
    (
        "gathered coroutines",
        """
import asyncio
@tool(data="grounded")
async def af(k: str) -> Grounded[str]: return k
@agent
async def a(xs: list[str]) -> Grounded[str]:
    docs = await asyncio.gather(*[af(x) for x in xs])
    return summ(docs)
""",
        [],
    ),
    (
        "a comment",
        """
@agent
def a(x: str) -> Grounded[str]:
    return "x"  # sluice: ignore[coercion, ungrounded-return]
""",
        [],
    ),
    (
        "a lambda that retrieves",
        """
h = lambda k: fetch(k)
@agent
def a(x: str) -> Grounded[str]:
    return h(x)
""",
        [],
    ),
    (
        "a lambda that computes",
        """
h = lambda k: k + "a"
@agent
def a(x: str) -> Grounded[str]:
    return h(x)
""",
        [(4, "ungrounded-return")],
    ),
    (
        "one plain case",
        """
@agent
def a(x: str) -> Grounded[str]:
    match x:
        case "a":
            return fetch(x)
        case _:
            return "no"
""",
        [(7, "ungrounded-return")],
    ),
    (
        "a with statement",
        """
import contextlib
@agent
def a(x: str) -> Grounded[str]:
    with open(x) as f:
        return summ(fetch(f.read()))
""",
        [],
    ),
    (
        "a finally",
        """
@agent
def a(x: str) -> Grounded[str]:
    try:
        return fetch(x)
    finally:
        print("x")
""",
        [],
    ),
    (
        "a stranger",
        """
import other
@agent(min_confidence=0.9, data={"grounded", "z"})
def a(x: str) -> Grounded[str]:
    return other.get(x)
""",
        [],
    ),
    (
        "a comparison",
        """
@agent
def a(x: str) -> Grounded[bool]:
    return fetch(x) == "a"
""",
        [],
    ),
    (
        "a not",
        """
@agent
def a(x: str) -> Grounded[bool]:
    return not fetch(x)
""",
        [(3, "ungrounded-return")],
    ),
    (
        "a prompt that is declared plain",
        """
@agent
def a(x: str) -> Grounded[str]:
    return word(fetch(x))
""",
        [(3, "ungrounded-return")],
    ),
    (
        "an alias of the type",
        """
Doc = Grounded[str]
@agent
def a(x: str) -> Doc:
    return "x"
""",
        [(4, "ungrounded-return")],
    ),
    (
        "a function inside a pure one",
        """
@agent
@grounded_pure
def a(x: str) -> Grounded[str]:
    def inner(d: Grounded[str]) -> None:
        print(d)
    return fetch(x)
""",
        [(5, "coercion")],
    ),
    (
        "an or with a literal",
        """
@agent
def a(x: str) -> Grounded[str]:
    return fetch(x) or "none"
""",
        [(3, "ungrounded-return")],
    ),
    (
        "a print outside a pure function",
        """
@agent
def a(x: str) -> Grounded[str]:
    d = fetch(x)
    print(d)
    return d
""",
        [],
    ),
    (
        "a decorator of the user",
        """
import functools
def retry(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k)
    return w
@retry
@agent
def b(x: str) -> Grounded[str]:
    return fetch(x)
@agent
def a(x: str) -> Grounded[str]:
    return b(x)
""",
        [],
    ),
    (
        "an endless loop",
        """
@agent
def a(x: str) -> Grounded[str]:
    while True:
        try:
            return fetch(x)
        except OSError:
            pass
""",
        [],
    ),
    (
        "a partial of a tool",
        """
import functools
@agent
def a(x: str) -> Grounded[str]:
    f = functools.partial(fetch, x)
    return f()
""",
        [],
    ),
    (
        "a partial of an impure agent",
        """
import functools
@agent
def b(x: str) -> Grounded[str]:
    return fetch(x)
@agent
@grounded_pure
def a(x: str) -> Grounded[str]:
    f = functools.partial(b, x)
    return f()
""",
        [(8, "impure-call"), (9, "impure-call")],
    ),
    (
        "an agent that is decorated by a call",
        """
@agent
@grounded_pure
def a(x: str) -> Grounded[str]:
    return c(x)
def body(x: str) -> Grounded[str]:
    return fetch(x)
c = agent(body)
""",
        [(4, "impure-call")],
    ),
    (
        "a generator of documents",
        """
from typing import Iterator
def docs(xs: list[str]) -> Iterator[Grounded[str]]:
    for x in xs:
        yield fetch(x)
@agent
def a(xs: list[str]) -> Grounded[str]:
    return summ(list(docs(xs)))
""",
        [],
    ),
    (
        "a grounded field",
        """
from dataclasses import dataclass
@dataclass
class C:
    doc: Grounded[str]
    n: int
@agent
def a(x: str) -> Grounded[str]:
    c = C(fetch(x), 1)
    return c.doc
""",
        [],
    ),
    (
        "a plain field",
        """
from dataclasses import dataclass
@dataclass
class C:
    doc: Grounded[str]
    n: str
@agent
def a(x: str) -> Grounded[str]:
    c = C(fetch(x), "1")
    return c.n
""",
        [(9, "ungrounded-return")],
    ),
    (
        "a plain declaration of grounded data",
        """
@agent(data={"grounded"})
@grounded_pure
def a(x: str) -> str:
    return fetch(x)
""",
        [],
    ),
    (
        "a plain declaration",
        """
@agent
@grounded_pure
def a(x: str) -> str:
    return fetch(x)
""",
        [(4, "coercion")],
    ),
    (
        "an isinstance",
        """
@agent
def a(x: object) -> Grounded[str]:
    if isinstance(x, Grounded):
        return x
    raise TypeError
""",
        [],
    ),
    (
        "a list that was filled",
        """
@agent
def a(xs: list[str]) -> Grounded[str]:
    docs = []
    for x in xs:
        docs.append(fetch(x))
    return docs[0]
""",
        [],
    ),
    (
        "a sum of parts",
        """
@agent
def a(xs: list[str]) -> Grounded[str]:
    docs = [fetch(x) for x in xs]
    out = docs[0]
    for d in docs[1:]:
        out = out + "\\n" + d
    return summ(out)
""",
        [],
    ),
    (
        "retries that end in a raise",
        """
@agent
def a(x: str) -> Grounded[str]:
    for _ in range(3):
        try:
            return fetch(x)
        except OSError:
            pass
    raise LookupError(x)
""",
        [],
    ),
    (
        "retries that end in a literal",
        """
@agent
def a(x: str) -> Grounded[str]:
    for _ in range(3):
        try:
            return fetch(x)
        except OSError:
            pass
    return "gave up"
""",
        [(8, "ungrounded-return")],
    ),
]
"""What the program is about, the program, and its findings: the line within it, and the rule."""


def checked(program: str) -> Report:
    """A program behind the tools."""
    return check([Source("program.py", TOOLS + program.removeprefix("\n"))])


@pytest.mark.parametrize(("about", "program", "expected"), CASES, ids=[one[0].replace(" ", "-") for one in CASES])
def test_a_program_has_these_findings(about: str, program: str, expected: list[tuple[int, str]]):
    """No fewer, no more, each on its line."""
    report = checked(program)
    assert not report.errors
    assert [(one.line - TOOLS.count("\n"), one.rule) for one in report.findings] == expected


@pytest.mark.parametrize(("about", "program", "expected"), CASES, ids=[one[0].replace(" ", "-") for one in CASES])
def test_the_same_program_has_the_same_report(about: str, program: str, expected: list[tuple[int, str]]):
    """Twice the same, in the same order, notes included."""
    assert checked(program) == checked(program)


def test_an_ungrounded_return_points_at_the_missing_retrieval():
    """The hint names the tools at hand that would be a source [C §2]."""
    (one,) = checked("@agent\ndef a(x: str) -> Grounded[str]:\n    return summ(x)\n").findings
    assert "summ() was given nothing retrieved" in one.message
    assert "fetch()" in one.message
    assert "person()" not in one.message


def test_an_unreachable_confidence_names_the_weakest_step():
    """With what it declares, and what the agent demands."""
    program = "@agent(min_confidence=0.8)\ndef a(x: str) -> Grounded[str]:\n    return summ(fetch9(x))\n"
    (one,) = checked(program).findings
    assert "summ()" in one.message
    assert "0.7" in one.message
    assert "0.8" in one.message


def test_columns_count_characters_from_one():
    """As an editor counts them, whatever the characters take in UTF-8."""
    line = '    d = fetch(x); y = "äöü€"; print(d)'
    (one,) = checked(f"@agent\n@grounded_pure\ndef a(x: str) -> Grounded[str]:\n{line}\n    return d\n").findings
    place = line.index("(d)") + 2
    assert (one.column, one.end_column) == (place, place + 1)


def test_a_comment_silences_only_the_rules_that_it_names():
    """On any line of the place; what stands in a string is no comment, and another rule none of its business."""
    program = '@agent\ndef a(x: str) -> Grounded[str]:\n    return (\n        "x"  {}\n    )\n'
    assert len(checked(program.format("")).findings) == 1
    assert len(checked(program.format("# sluice: ignore[coercion]")).findings) == 1
    assert len(checked(program.format("# sluice: ignore")).findings) == 1
    assert not checked(program.format("# sluice: ignore[coercion,ungrounded-return]")).findings
    text = program.format("").replace('"x"', '"# sluice: ignore[ungrounded-return]"')
    assert len(checked(text).findings) == 1


def test_outside_of_pure_functions_sites_are_notes():
    """They are listed, and fail nothing [C §9.3]."""
    program = "@agent\ndef a(x: str) -> Grounded[str]:\n    d = fetch(x)\n    print(d)\n    return d\n"
    report = checked(program)
    assert not report.findings
    assert [(one.site, one.note) for one in report.notes] == [("argument", True)]


def test_a_source_that_is_not_python_does_not_hide_the_others():
    """It is an error of its own, and the others are checked."""
    bad = '@agent\ndef a(x: str) -> Grounded[str]:\n    return "x"\n'
    report = check([Source("a.py", "def f(:\n"), Source("b.py", TOOLS + bad), Source("c.py", "x = '\0'")])
    assert [one.path for one in report.errors] == ["a.py", "c.py"]
    assert [one.path for one in report.findings] == ["b.py"]
