"""The table of constructs is whole: every class of syntax tree node has a row, and every row a program.

A site that the table misses is a silent hole in the proof [C §9.3], so the table is held against Python's own grammar:
a node class that a new Python brings makes these tests fail until it has been thought about.
"""

from __future__ import annotations

import ast

import pytest
from checked_programs import sites

from sluice.streams.checker import SITES
from sluice.streams.checker.expressions import EXPRESSIONS
from sluice.streams.checker.flow import PATTERNS
from sluice.streams.checker.statements import STATEMENTS

KEEPS = "keeps"
"""The wrapper stays on, or nothing grounded can come there."""

CONSTRUCTS: dict[str, list[tuple[str, str]]] = {
    # ---- expressions
    "Attribute": [("g._value", "attribute"), ("g.value", "attribute"), ("g.upper", "attribute"), ("g.chain", KEEPS)],
    "Await": [("x = afetch(key)\nplain(await x)", "argument"), ("await g", "await")],
    "BinOp": [
        ("plain(g + 'x')", "argument"),
        ("plain('x' + g)", "argument"),
        ("plain(-(g * 2))", "argument"),
        ("x = 'a %s' % g", "formatting"),
        ("x = 'a %s %s' % (key, g)", "formatting"),
        ("x = g + g", KEEPS),
    ],
    "BoolOp": [("x = g or 'none'", "condition"), ("x = key and g", KEEPS), ("plain(key and g)", "argument")],
    "Call": [
        ("plain(g)", "argument"),
        ("plain(doc=g)", "argument"),
        ("bare(g)", "argument"),
        ("plain(*[g])", "argument"),
        ("plain(**{'doc': g})", "argument"),
        ("plain(*g)", "unpacking"),
        ("unknown(g)", "argument"),
        ("unknown.send(g)", "argument"),
        ("unknown([g])", "argument"),
        ("many([g])", "element"),
        ("print(g)", "argument"),
        ("exec(g)", "argument"),
        ("str(g)", "constructor"),
        ("int(g)", "constructor"),
        ("bool(g)", "constructor"),
        ("list(g)", "constructor"),
        ("repr(g)", "constructor"),
        ("len(g)", "argument"),
        ("'{}'.format(g)", "formatting"),
        ("', '.join([g])", "formatting"),
        ("key.replace('a', g)", "argument"),
        ("any([g])", "condition"),
        ("sorted([g, g])", "condition"),
        ("[g].sort()", "condition"),
        ("list(map(str, [g]))", "constructor"),
        ("list(filter(None, [g]))", "condition"),
        ("list(filter(lambda d: d == 'x', [g]))", "condition"),
        ("functools.partial(plain, g)()", "argument"),
        ("functools.reduce(lambda a, b: a + b, [g])", KEEPS),
        ("functools.reduce(bare, [g])", "argument"),
        ("functools.reduce(lambda a, b: f'{a}{b}', [g])", "formatting"),
        ("operator.add(g, 'x')", KEEPS),
        ("abs(g)", KEEPS),
        ("round(g, 2)", KEEPS),
        ("divmod(7, g)", KEEPS),
        ("plain(round(abs(g)))", "argument"),
        ("summarise([g, 'x'])", KEEPS),
        ("summarise(*[g, 'x'])", KEEPS),
        ("Grounded.join(', ', [g, 'x'])", KEEPS),
        ("plain(Grounded.join(', ', [g, 'x']))", "argument"),
        ("getattr(g, '_value')", "attribute"),
        ("typing.cast(str, g)", "binding"),
        ("(lambda d: d)(g)", KEEPS),
        ("(lambda d: print(d))(g)", "argument"),
        ("plain((lambda d: d)(g))", "argument"),
        ("sorted([g], key=lambda d: d.confidence)", KEEPS),
        ("sorted([g], key=lambda d: d)", "condition"),
        ("[g].sort(key=lambda d: d.confidence)", KEEPS),
        ("[g].sort(key=lambda d: d)", "condition"),
        ("Card(text=g)", "field"),
        ("Card(g)", "field"),
        ("Card('x', tags=[g])", "element"),
        ("Pair(g, g)", "field"),
        ("Entry(text=g)", "field"),
        ("Row(text=g)", "field"),
        ("Box(g)", "argument"),
        ("dataclasses.replace(Card('x'), text=g)", "field"),
        ("msgspec.structs.replace(Entry('x'), text=g)", "field"),
        ("Pair('x', g)._replace(left=g)", "field"),
        ("g('x')", "call"),
        ("x: list[str] = []\nx.append(g)", "element"),
        ("x: list[str] = []\nx.extend([g])", "element"),
        ("x: dict[str, str] = {}\nx.update({'a': g})", "element"),
        ("keep(g)", KEEPS),
        ("summarise(g)", KEEPS),
        ("lookup(g)", "argument"),
        ("lookup([g])", "argument"),
        ("lookup(**{'key': g})", "argument"),
        ("functools.partial(lookup, g)()", "argument"),
        ("is_polite(g)", "argument"),
        ("is_polite(doc=g + 'x')", "argument"),
        ("is_polite(key)", KEEPS),
        ("store(g)", KEEPS),
        ("passages(g)", KEEPS),
        ("pure(g)", KEEPS),
        ("isinstance(g, str)", KEEPS),
        ("template('{a}', a=g)", KEEPS),
        ("Pair('x', g)", KEEPS),
        ("g.map(str.upper)", KEEPS),
        ("g.map(len)", KEEPS),
        ("g.map(lambda v: v.strip() + f'{v}!')", KEEPS),
        ("import re\ng.map(lambda v: re.sub('a', 'b', v))", KEEPS),
        ("import json\ng.map(json.loads)", KEEPS),
        ("def f(v):\n    own = []\n    own.append(v)\n    return own[0]\ng.map(f)", KEEPS),
        ("g.map(print)", "argument"),
        ("[].append(g)", KEEPS),
    ],
    "Compare": [
        ("if g == 'x': pass", "condition"),
        ("x = 'a' < g < 'b'", "condition"),
        ("x = 'a' in g", "membership"),
        ("x = g in ['a']", "membership"),
        ("x = 'a' in [g]", "membership"),
        ("x = g is None", KEEPS),
        ("x = g == 'x'", KEEPS),
    ],
    "Constant": [("x = 'a'", KEEPS)],
    "Dict": [
        ("x: dict[str, str] = {'a': g}", "element"),
        ("x: dict[str, str] = {g: 'a'}", "element"),
        ("x = {**g}", "unpacking"),
        ("x: Row = {'text': g}", "field"),
        ("x = {'a': g}", KEEPS),
    ],
    "DictComp": [
        ("x: dict[str, str] = {d: d for d in [g]}", "element"),
        ("x = {k: 1 for k in g}", "iteration"),
        ("x = {d: 1 for d in [g] if d}", "condition"),
    ],
    "FormattedValue": [
        ("x = f'{g}'", "formatting"),
        ("x = f'{key:{g}}'", "formatting"),
        ("x = f'{[g]}'", "formatting"),
    ],
    "GeneratorExp": [("x = ', '.join(d for d in [g])", "formatting"), ("x = list(c for c in g)", "iteration")],
    "IfExp": [
        ("x = 1 if g else 2", "condition"),
        ("x = g if key else 'none'", "arm"),
        ("x = 'none' if key else g", "arm"),
        ("x: str = g if key else g", "binding"),
        ("x = g if key else None", KEEPS),
    ],
    "JoinedStr": [("x = f'a {g!r} b'", "formatting")],
    "Lambda": [("x = lambda: plain(g)", "argument"), ("x = lambda d=g: d", KEEPS), ("x = lambda: g", KEEPS)],
    "List": [
        ("x: list[str] = [g]", "element"),
        ("x = ['a', g]", "element"),
        ("x = [*g]", "unpacking"),
        ("x: list[list[str]] = [[g]]", "element"),
        ("x = [g, g]", KEEPS),
    ],
    "ListComp": [
        ("x: list[str] = [d for d in [g]]", "element"),
        ("x = [c for c in g]", "iteration"),
        ("x = [d for d in [g] if d == 'x']", "condition"),
        ("x = [fetch(k) for k in ['a']]", KEEPS),
    ],
    "Name": [("x = g", KEEPS)],
    "NamedExpr": [("plain(x := g)", "argument"), ("if (x := g): pass", "condition"), ("(x := g)", KEEPS)],
    "Set": [("x: set[str] = {g}", "element"), ("x = {'a', g}", "element")],
    "SetComp": [("x: set[str] = {d for d in [g]}", "element"), ("x = {c for c in g}", "iteration")],
    "Slice": [("x = key[g:]", "index"), ("x = key[::g]", "index")],
    "Starred": [("x = [*[g]]\nplain(x[0])", "argument"), ("a, *b = [g]\nplain(b[0])", "argument")],
    "Subscript": [
        ("x = key[g]", "index"),
        ("x = {}\nx[g]", "index"),
        ("plain(g[0])", "argument"),
        ("x = g[0]", KEEPS),
        ("x = g[g]", KEEPS),
        ("x = g[g:]", KEEPS),
    ],
    "Tuple": [("x: tuple[str, str] = ('a', g)", "element"), ("x = ('a', g)\nplain(x[1])", "argument")],
    "UnaryOp": [("x = not g", "condition"), ("plain(-g)", "argument"), ("x = -g", KEEPS)],
    "Yield": [("yield g", "yield")],
    "YieldFrom": [("yield from g", "iteration"), ("yield from [g]", "yield")],
    # ---- statements
    "AnnAssign": [
        ("x: str = g", "binding"),
        ("x: Optional[str] = g", "optional"),
        ("x: str | None = g", "optional"),
        ("x: 'str' = g", "binding"),
        ("x: Grounded[str] = g", KEEPS),
        ("x: Grounded[str] | None = g", KEEPS),
    ],
    "Assert": [("assert g", "condition"), ("assert key, g", "raise")],
    "Assign": [
        ("x: str\nx = g", "binding"),
        ("b = Box('a')\nb.text = g", "binding"),
        ("a, b = g", "unpacking"),
        ("x: list[str] = []\nx[0] = g", "element"),
        ("x = y = g\nplain(y)", "argument"),
        ("a, b = g, 'x'\nplain(a)", "argument"),
        ("(a, (b, c)) = ('x', ('y', g))\nplain(c)", "argument"),
        ("x: Row = {'text': 'a'}\nx['text'] = g", "field"),
    ],
    "AsyncFor": [("async for x in g: pass", "iteration")],
    "AsyncFunctionDef": [
        ("async def inner(d: str = g): pass", "argument"),
        ("async def inner():\n    plain(g)", "argument"),
    ],
    "AsyncWith": [("async with g: pass", "with")],
    "AugAssign": [
        ("x: str = 'a'\nx += g", "binding"),
        ("x = 'a'\nx += g\nplain(x)", "argument"),
        ("x = 'a %s'\nx %= g", "formatting"),
        ("x = []\nx += [g]\nplain(x[0])", "argument"),
    ],
    "Break": [("while True:\n    x = g\n    break\nplain(x)", "argument")],
    "ClassDef": [
        ("class Inner:\n    text: str = g", "field"),
        ("class Inner:\n    text = g\nplain(Inner.text)", "argument"),
    ],
    "Continue": [("x = 'a'\nfor _ in key:\n    x = g\n    continue\nplain(x)", "argument")],
    "Delete": [("x = {}\ndel x[g]", "index"), ("x = g\ndel x", KEEPS)],
    "Expr": [("g", KEEPS)],
    "For": [
        ("for x in g: pass", "iteration"),
        ("for x in [g]:\n    plain(x)", "argument"),
        ("x = 'a'\nfor _ in key:\n    plain(x)\n    x = g", "argument"),
    ],
    "FunctionDef": [
        ("def inner(d: str = g): pass", "argument"),
        ("def inner():\n    plain(g)", "argument"),
        ("def inner():\n    return g\nplain(inner())", "argument"),
        ("def inner(d): return str(d)\ninner(g)", "argument"),
    ],
    "Global": [("global TOTAL\nTOTAL = g", "global")],
    "If": [
        ("if g: pass", "condition"),
        ("if key: pass\nelif g: pass", "condition"),
        ("if key: x = g\nplain(x)", "argument"),
    ],
    "Import": [("import os\nos.putenv('a', g)", "argument")],
    "ImportFrom": [("from os import putenv\nputenv('a', g)", "argument")],
    "Match": [
        ("match g:\n    case 'x': pass", "pattern"),
        ("match key:\n    case _ if g: pass", "condition"),
        ("match key:\n    case _: plain(g)", "argument"),
        ("match g:\n    case other: plain(other)", "argument"),
    ],
    "Nonlocal": [("x = 'a'\ndef inner():\n    nonlocal x\n    x = g\ninner()", "global")],
    "Pass": [("pass", KEEPS)],
    "Raise": [("raise g", "raise"), ("raise ValueError from g", "raise"), ("raise ValueError(g)", "argument")],
    "Return": [("return g", "return")],
    "Try": [
        ("try: x = g\nexcept ValueError: x = 'a'\nplain(x)", "argument"),
        ("try: pass\nexcept ValueError: plain(g)", "argument"),
        ("try: pass\nfinally: plain(g)", "argument"),
        ("try: pass\nexcept ValueError: pass\nelse: plain(g)", "argument"),
    ],
    "TryStar": [("try: pass\nexcept* ValueError: plain(g)", "argument")],
    "While": [("while g: pass", "condition"), ("while key:\n    plain(g)", "argument")],
    "With": [("with g: pass", "with"), ("with open(g): pass", "argument")],
    # ---- patterns
    "MatchAs": [("match g:\n    case x: plain(x)", "argument")],
    "MatchClass": [("match g:\n    case str(x): pass", "pattern"), ("match g:\n    case str(): pass", KEEPS)],
    "MatchMapping": [("match {'a': g}:\n    case {'a': x}: plain(x)", "argument")],
    "MatchOr": [("match g:\n    case 'a' | 'b': pass", "pattern")],
    "MatchSequence": [("match [g]:\n    case [x]: plain(x)", "argument")],
    "MatchSingleton": [("match g:\n    case None: pass", KEEPS)],
    "MatchStar": [("match [g]:\n    case [*x]: plain(x[0])", "argument")],
    "MatchValue": [("match g:\n    case 'x': pass", "pattern")],
    # Python 3.12 and later
    "TypeAlias": [],
    "TemplateStr": [],
    "Interpolation": [],
}
RETURNS = {"Return": "str", "Yield": "typing.Iterator[str]", "YieldFrom": "typing.Iterator[str]"}


def classes(base: type) -> list[type]:
    """The node classes of the grammar below one; those that the parser no longer makes are left out."""
    gone = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"}
    below = [one for one in base.__subclasses__() if one.__name__ not in gone]
    return [one for one in below if one.__module__ == "ast"]


@pytest.mark.parametrize(
    ("base", "table"), [(ast.expr, EXPRESSIONS), (ast.stmt, STATEMENTS), (ast.pattern, PATTERNS)], ids=lambda one: ""
)
def test_every_class_of_node_has_a_meaning_and_programs(base: type, table: dict[type, object]):
    """What Python's grammar has, the checker's tables have, and this file's as well."""
    grammar = classes(base)
    assert len(grammar) >= 8
    assert {one.__name__ for one in grammar} - {one.__name__ for one in table} == set()
    assert {one.__name__ for one in grammar} - set(CONSTRUCTS) == set()


PROGRAMS = [(name, body, site) for name, rows in CONSTRUCTS.items() for body, site in rows]


@pytest.mark.parametrize(("name", "body", "site"), PROGRAMS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(PROGRAMS)])
def test_a_construct_launders_as_the_table_says(name: str, body: str, site: str):
    """The site is found under `@grounded_pure`, and nothing is found where the wrapper stays on."""
    asynchronous = name.startswith("Async") or "await" in body
    got = sites(body, RETURNS.get(name, ""), asynchronous)
    if site == KEEPS:
        assert got == []
    else:
        assert site in got


@pytest.mark.parametrize(("name", "body", "site"), PROGRAMS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(PROGRAMS)])
def test_a_program_of_a_row_has_the_node_of_the_row(name: str, body: str, site: str):
    """No row is shown by a program about something else."""
    head = "async def f():\n" if name.startswith("Async") or "await" in body else "def f():\n"
    tree = ast.parse(head + "\n".join(f"    {line}" for line in body.split("\n")))
    assert any(type(one).__name__ == name for one in ast.walk(tree))


def test_every_site_is_shown_by_some_program():
    """No row of the table of sites is without a program that it catches."""
    assert {site for rows in CONSTRUCTS.values() for _, site in rows} - {KEEPS} == set(SITES)
