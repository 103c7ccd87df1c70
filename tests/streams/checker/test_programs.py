"""Programs as they are written: services, caches, retries, classes, coroutines; clean ones and ones with one fault."""

from __future__ import annotations

import pytest
from checked_programs import PRELUDE, sites, under_pure
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.checker import Source, check

PROGRAMS: list[tuple[str, list[str]]] = [
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    docs = {}
    for k in xs:
        docs[k] = fetch(k)
    return summarise(docs[x])
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    out = None
    for k in xs:
        d = fetch(k)
        out = d if out is None else out + d
    if out is None:
        raise ValueError
    return out
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    parts = [fetch(k) for k in xs]
    return fetch(",").join(parts)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return Grounded.join("\\n", [fetch(k) for k in xs])
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return template("{a} {b}", a=fetch(x), b=x)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    doc = fetch(x)
    assert doc.confidence > 0.5
    return doc
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    doc = fetch(x)
    for step in doc.sources():
        print(step)
    return doc
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    if x not in {"a", "b"}:
        raise ValueError(f"bad {x}")
    return fetch(f"doc/{x}")
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    try:
        doc = fetch(x)
    except KeyError:
        doc = fetch("default")
    else:
        doc = summarise(doc)
    return doc
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    doc = fetch(x)
    while doc.confidence < 0.5:
        doc = fetch(x)
    return doc
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    doc: Grounded[str]
    if x:
        doc = fetch(x)
    else:
        doc = fetch("y")
    return doc
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    def inner(k: str) -> Grounded[str]:
        return fetch(k)
    return summarise([inner(k) for k in xs])
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    a, b = fetch(x), fetch("y")
    return a + b
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    match x:
        case "a":
            d = fetch("a")
        case _:
            d = fetch("b")
    return d
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    n = len(xs)
    m = max(n, 3)
    s = ", ".join(xs)
    return fetch(s[:m])
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return (fetch(x) + " and ") + x.upper()
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return pure(fetch(x))
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    c = Card("t", doc=fetch(x))
    c.tags.append("a")
    return c.doc
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return dataclasses.replace(Card("t"), doc=fetch(x)).doc
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    cached = functools.lru_cache(fetch)
    return cached(x)
""",
        [],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    return Grounded
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    return Grounded(x, unknown)
""",
        [],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    return unknown.run(fetch)(x)
""",
        [],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    with unknown as session:
        return session.get(x)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    async with asyncio.timeout(3):
        return await afetch(x)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    return await asyncio.wait_for(afetch(x), 3)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    results = []
    for c in asyncio.as_completed([afetch(k) for k in x]):
        results.append(await c)
    return results[0]
""",
        [],
    ),
    (
        """\
async def stream(k: str) -> typing.AsyncIterator[Grounded[str]]:
    yield await afetch(k)
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    return [d async for d in stream(x)][0]
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    return await asyncio.to_thread(fetch, x)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    a, b = await asyncio.gather(afetch(x), afetch("y"), return_exceptions=False)
    return a + b
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    a, b = await asyncio.gather(afetch(x), afetch("y"))
    print(a)
    return a + b
""",
        ["coercion"],
    ),
    (
        """\
@agent
async def aimp(k: str) -> Grounded[str]:
    return await afetch(k)
@agent
@grounded_pure
async def b(x: str) -> Grounded[str]:
    return (await asyncio.gather(aimp(x)))[0]
""",
        ["impure-call"],
    ),
    (
        """\
@agent(min_confidence=0.9)
def b(x: str) -> Grounded[str]:
    return guess(fetch(x)) if x else fetch(x)
""",
        ["unreachable-confidence"],
    ),
    (
        """\
@agent(data=("grounded", "legal"))
def b(x: str) -> Grounded[str]:
    return fetch(x)
""",
        ["missing-data-category"],
    ),
    (
        """\
@agent(data=["grounded", "legal"])
def b(x: str) -> Grounded[str]:
    print("a")
    log = x.strip()
    return fetch(log)
""",
        ["missing-data-category"],
    ),
    (
        """\
@agent(data="legal")
def b(x: str) -> str:
    return lookup(x)
""",
        ["missing-data-category"],
    ),
    (
        """\
class Base:
    def get(self, k: str) -> Grounded[str]:
        return self.load(k)
    def load(self, k: str) -> Grounded[str]:
        raise NotImplementedError
class Sub(Base):
    def load(self, k: str) -> Grounded[str]:
        return super().load(k) if not k else fetch(k)
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return Sub().get(x)
""",
        [],
    ),
    (
        """\
class Base:
    def show(self, d: Grounded[str]) -> None:
        print(d)
class Sub(Base): pass
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    Sub().show(fetch(x))
    return fetch(x)
""",
        ["coercion"],
    ),
    (
        """\
class Bag:
    doc: str
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    b = Bag()
    b.doc = fetch(x)
    return fetch(x)
""",
        ["coercion"],
    ),
    (
        """\
class Bag:
    def put(self, d: Grounded[str]) -> None:
        self.doc: str = d
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    b = Bag()
    b.put(fetch(x))
    return fetch(x)
""",
        ["coercion"],
    ),
    (
        """\
class Bag:
    def __init__(self) -> None:
        self.doc: Grounded[str] | None = None
    def put(self, d: Grounded[str]) -> None:
        self.doc = d
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    b = Bag()
    b.put(fetch(x))
    return b.doc
""",
        [],
    ),
    (
        """\
class R:
    @staticmethod
    @agent
    def go(k: str) -> Grounded[str]:
        return fetch(k)
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return R.go(x)
""",
        ["impure-call"],
    ),
    (
        """\
class R:
    @agent
    def go(self, k: str) -> Grounded[str]:
        return fetch(k)
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return R().go(x)
""",
        ["impure-call"],
    ),
    (
        """\
class R:
    @property
    def p(self) -> Grounded[str]:
        return impure("x")
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return R().p
""",
        ["impure-call"],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    import helpers_not_given as h
    return h.get(x)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    import helpers_not_given as h
    return h.get(fetch(x))
""",
        ["coercion"],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    value = fetch(x)
    del value
    return fetch(x)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    x = x or "y"
    k = xs[0] if xs else "z"
    return fetch(k + x)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return summarise(doc=fetch(x), question=f"{x}?")
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    docs: dict[str, Grounded[str]] = {k: fetch(k) for k in xs}
    for k, d in sorted(docs.items()):
        pass
    return docs[x]
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    docs: list[Grounded[str]] = [fetch(k) for k in xs]
    if len(docs) > 3:
        docs = docs[:3]
    return docs[-1]
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    docs = [fetch(k) for k in xs]
    if not docs:
        raise LookupError
    return docs[0]
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    stack = deque()
    stack.append(fetch(x))
    return stack.pop()
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    it = iter([fetch(x)])
    return next(it)
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    return itertools.chain([fetch(x)], [fetch("y")]).__next__()
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str, xs: list[str]) -> Grounded[str]:
    import time, logging
    start = time.monotonic()
    doc = fetch(x)
    logging.info("took %f", time.monotonic() - start)
    return doc
""",
        [],
    ),
    (
        """\
@agent(min_confidence=0.7)
def b(x: str) -> Grounded[str]:
    y = guess(fetch(x))
    z = [y]
    return summarise(z)
""",
        ["unreachable-confidence"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    try:
        return fetch(x)
    except OSError:
        return ""
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    d = fetch(x)
    if d.confidence < 0.5:
        d = d.unwrap_discarding_sources()
    return d
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    class K:
        d = "x"
    return K.d
""",
        ["ungrounded-return"],
    ),
    (
        """\
def b(x: str) -> typing.Iterator[Grounded[str]]:
    yield fetch(x)
    yield "plain"
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    return (lambda: "x")()
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    def inner():
        return "x"
    return inner()
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    return str(fetch(x))
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[float]:
    return fetch(x).confidence
""",
        ["ungrounded-return"],
    ),
    (
        """\
def fail():
    raise LookupError
@agent
def a(x: str) -> Grounded[str]:
    if x: return fetch(x)
    fail()
""",
        [],
    ),
    (
        """\
def fail():
    print(1)
@agent
def a(x: str) -> Grounded[str]:
    if x: return fetch(x)
    fail()
""",
        ["ungrounded-return"],
    ),
    (
        """\
def h(n):
    return a(n)
@agent
def a(x: str) -> Grounded[str]:
    y = h(x)
    return "x"
""",
        ["ungrounded-return"],
    ),
    (
        """\
def h(n):
    return k(n)
def k(n):
    y = h(n)
    return "x"
@agent
def a(x: str) -> Grounded[str]:
    return k(x)
""",
        ["ungrounded-return"],
    ),
    (
        """\
@agent
def a(d: Grounded[str] | None) -> Grounded[str]:
    if not d: raise ValueError
    return d
""",
        [],
    ),
    (
        """\
@agent
def a(x: str) -> Grounded[str]:
    cache: dict[str, Grounded[str]] = {}
    c = cache.get(x)
    if c is not None:
        return c
    cache[x] = fetch(x)
    return cache[x]
""",
        [],
    ),
    (
        """\
@agent
def a(x: str) -> Grounded[str]:
    d = next((fetch(k) for k in x if k), None)
    if d is None:
        raise ValueError
    return d
""",
        [],
    ),
    (
        """\
@agent
def a(x: str) -> tuple[Grounded[str], int]:
    return fetch(x), 1
@agent
def b(x: str) -> Grounded[str]:
    d, n = a(x)
    return d
""",
        [],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    d, n = (fetch(x), 1) if x else (fetch("y"), 2)
    return d
""",
        [],
    ),
    (
        """\
from enum import Enum
class E(Enum):
    A = 1
    B = 2
@agent
def b(x: E) -> Grounded[str]:
    match x:
        case E.A:
            return fetch("x")
        case E.B:
            return fetch("y")
""",
        [],
    ),
    (
        """\
@agent
def b(x: str) -> Grounded[str]:
    docs = {k: fetch(k) for k in x}
    best = max(docs, key=lambda k: docs[k].confidence)
    return docs[best]
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str) -> Grounded[str]:
    docs = {k: fetch(k) for k in x}
    best = max(docs, key=lambda k: docs[k].confidence)
    return docs[best]
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: list[str]) -> Grounded[list[str]]:
    docs = [fetch(k) for k in x]
    docs = [d for d in docs if d.confidence > 0.5]
    return docs
""",
        [],
    ),
    (
        """\
import logging
log = logging.getLogger(__name__)
@agent(data={"grounded"})
@grounded_pure
def b(x: str) -> Grounded[str]:
    log.info("fetching %s", x)
    d = fetch(x)
    log.info("sure: %s", d.confidence)
    return d
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: str) -> Grounded[str]:
    docs = tuple(fetch(k) for k in x)
    first, *others = docs
    answer = summarise(first, question=f"and {len(others)} others for {x!r}?")
    return answer
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: list[str]) -> Grounded[str]:
    docs = [fetch(k) for k in x]
    docs.sort(key=lambda d: d.confidence)
    best = sorted(docs, key=lambda d: -d.confidence)
    return max(best, key=lambda d: d.confidence) + docs[0]
""",
        [],
    ),
    (
        """\
@agent
@grounded_pure
def b(x: list[str]) -> Grounded[str]:
    docs = [fetch(k) for k in x]
    docs.sort(key=lambda d: d + "x")
    sorted(docs, key=lambda d: d)
    return docs[0]
""",
        ["coercion", "coercion"],
    ),
]


@pytest.mark.parametrize(("program", "rules"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_has_these_rules(program: str, rules: list[str]):
    """Behind the prelude; nothing more, nothing less."""
    report = check([Source("program.py", PRELUDE + program)])
    assert report.errors == []
    assert [one.rule for one in report.findings] == rules


LEAVES = st.sampled_from(["g", "key", "'x'", "1", "g[0]", "summarise(g)", "fetch(key)"])
COMPUTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "*", "-", "//", "==", "<", ">="]), inner),
        st.builds("(-{})".format, inner),
        st.builds("({})[{}]".format, inner, st.sampled_from(["0", "1:3", "key"])),
    ),
    max_leaves=8,
)


@given(COMPUTED)
@settings(max_examples=examples(60), deadline=None)
def test_operators_keep_the_wrapper_however_they_are_nested(expression: str):
    """A computation is grounded exactly if something grounded is in it [C §9.1]: it may be returned, not bound."""
    grounded = any(one in expression for one in ("g", "summarise", "fetch"))
    returned = under_pure(f"return {expression}", "Grounded[str]")
    assert [one.rule for one in returned.findings] == ([] if grounded else ["ungrounded-return"])
    assert sites(f"x: str = {expression}") == (["binding"] if grounded else [])


@given(st.permutations(range(6)))
@settings(max_examples=examples(10), deadline=None)
def test_the_order_of_the_files_changes_nothing_but_the_order_of_findings(order: list[int]):
    """The same findings, whichever file comes first."""
    sources = [
        Source(f"m{place}.py", PRELUDE + f"from m{(place + 1) % 6} import b as other{place}\n" + PROGRAMS[-place][0])
        for place in range(6)
    ]
    assert sorted(check([sources[one] for one in order]).findings) == sorted(check(sources).findings)
