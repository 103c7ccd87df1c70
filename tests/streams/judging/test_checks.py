"""Reading and writing checks: many ways in, one way out."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.unicode_text import nfkc
from sluice.streams.judging.checks import (
    _SHORT,
    MAX_CANONICAL,
    OPERATORS,
    SYMBOL_KINDS,
    TABLE,
    Check,
    Kind,
    Parameter,
    Unknown,
    Value,
    canonical,
    parse_check,
    written_value,
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        # keys, in any order and place
        ("equals(value=5, name=X)", "equals(X, 5)"),
        ('line("x = 1", number=3, path=a.py)', 'line(a.py, 3, "x = 1")'),
        ("contains(lines=3-9, in=f, path=a.py, x)", "contains(x, path=a.py, in=f, lines=3-9)"),
        ('order(b="y", a="x")', "order(x, y)"),
        ("defines(kind = function, symbol == f)", "defines(f, function)"),
        ("calls(f, g, argument=timeout=5)", 'calls(f, g, argument="timeout=5")'),
        ("field(C, x, type=int, default=0)", "field(C, x, type=int, default=0)"),
        ("parameter(f, x, default=None, type=Dict[str, int])", 'parameter(f, x, type="Dict[str, int]", default=null)'),
        # operators
        ("compare(N, ==, 5)", "compare(N, =, 5)"),
        ('compare(N, "<=", 5)', "compare(N, <=, 5)"),
        # strings
        ("contains('it is')", 'contains("it is")'),
        ("contains('don\\'t \"x\"')", 'contains("don\'t \\"x\\"")'),
        ("contains('a\\n b')", 'contains("a b")'),
        ("contains(`C:\\new`)", 'contains("C:\\\\new")'),
        ("equals(N, '30')", 'equals(N, "30")'),
        ("equals(N, `abc`)", "equals(N, abc)"),
        ("equals(N, ['a, b', \"]\", `c`])", 'equals(N, ["a, b", "]", c])'),
        # without marks
        ("contains(return f(a, b), path=a.py)", 'contains("return f(a, b)", path=a.py)'),
        ("contains(x = {'a': 1})", "contains(\"x = {'a': 1}\")"),
        ("when(f, not ready, raise Error)", 'when(f, "not ready", "raise Error")'),
        ("returns(f, a == b)", 'returns(f, "a == b")'),
        ("commit(4f2a91c, subject=Fix it)", 'commit(4f2a91c, subject="Fix it")'),
        ("last_changed(a.py, <, 25 May 2026)", 'last_changed(a.py, <, "25 May 2026")'),
        ("contains(x, in=How to install)", 'contains(x, in="How to install")'),
        ("exists(app/(group)/[id].tsx)", 'exists("app/(group)/[id].tsx")'),
        ("only_in(x, src)", "only_in(x, [src])"),
        ("touched([b, a, b])", "touched([a, b])"),
        ("members(X, [b, 1, None])", "members(X, [b, 1, null])"),
        # white space
        (" not  calls ( f ,g\n) ", "not calls(f, g)"),
        ("members(X, [ ])", "members(X, [])"),
        # names
        ("calls(C::m(), `x()`)", "calls(C.m, x)"),
        ("calls(Foo#bar, a->b)", "calls(Foo.bar, a.b)"),
        ('uses("std::f()", C.#x)', 'uses(std.f, "C.#x")'),
        ("defines(A::b)", "defines(A.b)"),
        ('defines("How to f()")', 'defines("How to f()")'),
        ('defines("f()", section)', 'defines("f()", section)'),
        ("equals(profile::port, 80)", "equals(profile::port, 80)"),  # it may be a key
        ("equals(f(), 80, in=C->m)", "equals(f, 80, in=C.m)"),
        ('equals("f()", 80)', 'equals("f()", 80)'),
        ("absent(f())", "absent(f)"),
        ("changed(a#b.py, 4f2a91c)", 'changed("a#b.py", 4f2a91c)'),
        # constants and texts
        ("equals(N, True)", "equals(N, true)"),
        ('equals(N, "True")', 'equals(N, "True")'),
        ("equals(N, nil)", "equals(N, null)"),
        # ends of quotes
        ('contains("retr…")', 'contains("retr…")'),
        ("contains(…try…)", 'contains("…try…")'),
        ('contains("… try …")', "contains(try)"),
        ('contains("a … b")', 'contains("a ... b")'),
        ('contains("retr...")', "contains(retr...)"),
        ("passes(test)", "passes(test)"),
        ("output(lint, 3 errors)", 'output(lint, "3 errors")'),
    ],
)
def test_there_are_many_ways_to_write_one_check(text: str, form: str):
    """The canonical form is one, and is read as itself."""
    check = parse_check(text)
    assert isinstance(check, Check), check
    assert canonical(check) == form
    assert parse_check(form) == check


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("order(a = 1, b = 2)", "a=… may be an argument or a quote: write it as a string"),
        ("contains(quote=x)", "quote=… may be an argument or a quote: write it as a string"),
        ("contains(path = x)", "contains needs quote"),
        ("contains(a, b)", "contains takes 1 arguments; its keys are: path, in, lines"),
        ("calls(f, g, pth=a.py)", "calls takes 2 arguments; its keys are: argument, path, in, lines"),
        ("line(a.py, 3, x, path=b.py)", "line takes 3 arguments; its keys are: in, lines"),
        ("contains(x, path=a, path=b)", "path is given twice"),
        ("equals(N, `30`)", "value in back-ticks may be a text or what it means: write it without, or as a string"),
        ('equals(N, `"a"`)', "value in back-ticks may be a text or what it means: write it without, or as a string"),
        ("equals(N, a b)", "value is a number, a constant, a list or a text: write a text as a string"),
        ("contains(don't)", "where a quote ends is not clear: write it as a string"),
        ('contains(x = "a, b")', "where a quote ends is not clear: write it as a string"),
        ('order(f("a), g(b"))', "where a quote ends is not clear: write it as a string"),
        ('contains("a" in b)', "expected a comma or ) at character 13"),
        ("contains('don't')", "expected a comma or ) at character 14"),
        ("contains((])", "a bracket closes nothing at character 10"),
        ("contains(f(x)", "a bracket is not closed"),
        ("contains(x))", "there is more behind the closing bracket"),
        ("contains(x,)", "expected a value at character 11"),
        ("contains()", "contains needs quote"),
        ('contains("x', "a string does not end"),
        ('contains("\\d")', "a string is no JSON string"),
        ("contains('\\d')", "a string is no JSON string"),
        ('contains("…")', "quote is empty"),
        ('contains(" ")', "quote is empty"),
        ("contains([x])", "quote is no list: write a text with brackets as a string"),
        ("contains(x, path=[a])", "path is no list: write a text with brackets as a string"),
        ("calls(f, g(x))", "callee without marks holds a sign that no name has: write it as a string"),
        ("equals(a = b, 5)", "name without marks holds a sign that no name has: write it as a string"),
        ("count(x, =, many)", "number is a number"),
        ('count(x, =, "3")', "number is a number"),
        ("compare(N, is, 3)", "op is one of = != < <= > >="),
        ("equals(N, =)", "value is no operator"),
        ("equals(N, [[[[[1]]]]])", "more than 4 lists inside one another"),
        ("only_in(x, [])", "paths is empty"),
        ("members(X, a)", "items is a list"),
        ("absent(a b)", "identifier is one identifier of at most 64 characters"),
        ("contains(x, lines=9-3)", "lines are the first and the last line, from 1"),
        ("defines(f, klass)", f"kind is one of {', '.join(SYMBOL_KINDS)}"),
        ('exists("a\\nb")', "path is one line"),
        ('contains("\\u0000")', "a string holds control characters"),
        ("not exists(a.py)", "exists has no `not`"),
        ("not missing(a.py)", "missing has no `not`"),
        ("peer()", "peer needs one of uid, gid, pid, user"),
        ("f()", "there is no check of that name"),
        ("It is.", "expected a name and an opening bracket"),
    ],
)
def test_a_text_with_no_reading_or_with_two_is_unknown(text: str, why: str):
    """One sentence says what is wrong, and nothing of what was given."""
    assert parse_check(text) == Unknown(text, why)


# ---------------------------------------------------------------- laws

NAMES = st.sampled_from(["f", "C.m", "a-b", "x y", 'say "x"', "30", "true", "a,b", "(x)", "é", "it's"])
TEXTS = (st.text(max_size=8) | NAMES).map(nfkc).map(lambda text: " ".join(text.split()) or "x")
TEXTS = TEXTS.filter(lambda text: not any(ord(one) < 32 or 127 <= ord(one) < 160 for one in text))
NUMBERS = st.integers(-3, 3) | st.sampled_from([Decimal("1.5"), Decimal("-0.25"), 10**20])
VALUES = st.recursive(
    NUMBERS | TEXTS | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=2).map(tuple), max_leaves=3
)
OF_KIND: dict[Kind, st.SearchStrategy[Value]] = {
    Kind.TEXT: TEXTS,
    Kind.NAME: NAMES,
    Kind.TIME: TEXTS,
    Kind.PATH: NAMES,
    Kind.PATHS: st.lists(NAMES, min_size=1, max_size=3, unique=True).map(sorted).map(tuple),
    Kind.ITEMS: st.lists(VALUES, max_size=3).map(tuple),
    Kind.IDENTIFIER: st.sampled_from(["foo", "a.b", "$x", "-", "479a19b"]),
    Kind.LINES: st.sampled_from(["3", "3-3", "3-9"]),
    Kind.VALUE: VALUES,
    Kind.OPERATOR: st.sampled_from(OPERATORS),
    Kind.NUMBER: NUMBERS,
    Kind.SYMBOL_KIND: st.sampled_from(SYMBOL_KINDS),
}


@st.composite
def checks(draw: st.DrawFn) -> Check:
    """Any check that the parser could give."""
    signature = draw(st.sampled_from(list(TABLE.values())))
    arguments = [draw(OF_KIND[one.kind]) for one in signature.parameters if not one.optional or draw(st.booleans())]
    named = [(one.name, draw(OF_KIND[one.kind])) for one in signature.named if draw(st.booleans())]
    if len(named) < signature.least_named:
        named = [(signature.named[0].name, draw(OF_KIND[signature.named[0].kind]))]
    return Check(signature.name, tuple(arguments), tuple(named), signature.negatable and draw(st.booleans()))


@given(checks())
def test_the_canonical_form_is_read_as_the_check_that_it_writes(check: Check):
    """And two checks have two forms."""
    assert parse_check(canonical(check)) == check


def _marked(draw: st.DrawFn, value: Value) -> str:
    """A value between any of the marks."""
    if isinstance(value, tuple):
        return f"[ {' ,'.join(_marked(draw, item) for item in value)} ]"
    if not isinstance(value, str):
        return written_value(value)
    written = json.dumps(value, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        inner = written[1:-1].replace('\\"', '"').replace("'", "\\'")
        return f"'{inner}'"
    return written


@st.composite
def other_ways(draw: st.DrawFn) -> tuple[Check, str]:
    """A check, and one of the ways to write it with marks: keys anywhere, white space, another string."""
    check = draw(checks())
    signature = TABLE[check.name]

    def written(parameter: Parameter, value: Value, key: bool) -> str:
        is_operator = parameter.kind is Kind.OPERATOR
        equals = " = " if is_operator else draw(st.sampled_from(["=", " = ", "=="]))
        operator = is_operator and draw(st.booleans())
        text = str(value).replace("=", "==") if operator and value == "=" else _marked(draw, value)
        return f"{parameter.name}{equals}{text}" if key else text

    keyed = dict(check.named)
    by_name = {one.name: one for one in signature.named}
    first = draw(st.integers(0, len(check.arguments)))
    pairs = list(zip(signature.parameters, check.arguments, strict=False))
    given = [written(one, value, key=False) for one, value in pairs[:first]]
    named = [written(one, value, key=True) for one, value in pairs[first:]]
    named += [written(by_name[name], value, key=True) for name, value in keyed.items()]
    for one in draw(st.permutations(named)):
        given.insert(draw(st.integers(0, len(given))), one)
    space = draw(st.sampled_from(["", " ", "\n "]))
    inside = f"{space},{space}".join(given)
    return check, f"{'not ' if check.negated else ''}{check.name}{space}({space}{inside}{space})"


@given(other_ways())
def test_whatever_way_a_check_is_written_it_is_the_same(written: tuple[Check, str]):
    """Order and place of keys, white space and kind of marks do not count."""
    check, text = written
    assert parse_check(text) == check


@given(st.text("()[]{},=\"'`\\ xf.:#…", max_size=30), st.sampled_from(list(TABLE)))
def test_what_is_read_liberally_is_stable(inside: str, name: str):
    """Whatever stands between the brackets is unknown, or a check whose form is read as the same check."""
    check = parse_check(f"{name}({inside})")
    if isinstance(check, Check):
        assert parse_check(canonical(check)) == check


@pytest.mark.parametrize("piece", ["(", "[", "['", "f(", ",", "`", "'\\", "a=", "[,", "(]", "not ", "path==", "…"])
def test_reading_takes_one_walk_over_the_text(piece: str):
    """A long text of what could be tried again and again is read in no time, or is unknown."""
    parse_check("contains(" + piece * (200_000 // len(piece)))
    parse_check("contains(" + piece * (200_000 // len(piece)) + ")")


# ---------------------------------------------------------------- the bound on what is written out

ARGUMENTS = st.one_of(
    st.text(st.characters(max_codepoint=126), max_size=200).map(json.dumps),
    st.sampled_from(["1e399", "-1e-399", "9e399", ".5e-398", "a-b", "true", "0x" + "f" * 300, "\ufdfa" * 30]),
)


@settings(max_examples=examples(300))
@given(st.sampled_from(["equals", "contains", "calls", "returns", "peer"]), st.lists(ARGUMENTS, min_size=1, max_size=3))
def test_what_is_read_is_never_longer_than_the_bound(name: str, given_arguments: list[str]):
    """Whatever makes a text longer when it is written out: numbers, escapes, characters that NFKC spells out."""
    if name == "peer":
        given_arguments = [f"{key}={one}" for key, one in zip(("uid", "gid", "pid"), given_arguments, strict=False)]
    check = parse_check(f"{name}({', '.join(given_arguments)})")
    if isinstance(check, Check):
        assert len(canonical(check)) <= MAX_CANONICAL


@pytest.mark.parametrize(
    "text",
    [
        f"equals(a, [{', '.join(['1e399'] * 30)}])",
        f"contains({json.dumps(chr(0xFDFA) * 300, ensure_ascii=False)})",
        f"contains({json.dumps(chr(0xFDFA) * 60 + 'a' * 3500)})",
    ],
    ids=["a list of numbers", "characters that NFKC spells out", "escaped ones"],
)
def test_a_check_that_grows_beyond_the_bound_is_none(text: str):
    """Also one that is short as it is given."""
    assert isinstance(parse_check(text), Unknown)


def test_a_number_takes_its_most_digits_in_a_short_check():
    """The longest numbers that a short check may hold fit."""
    check = parse_check("peer(uid=1e399, gid=1e399, pid=1e399)")
    assert isinstance(check, Check)
    assert len("peer(uid=1e399, gid=1e399, pid=1e399)") <= _SHORT
    assert 1200 < len(canonical(check)) <= MAX_CANONICAL
