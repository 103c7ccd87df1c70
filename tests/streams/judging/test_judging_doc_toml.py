"""TOML: values by the standard library, lines by a scanner that nothing in a text misleads."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.doc_toml import parse_toml
from sluice.streams.judging.doc_tree import Unreadable
from sluice.streams.judging.documents import document_extents, parse_document, verify_document
from sluice.streams.judging.results import Held, HeldReason, Source

PROJECT = '''\
title = "x" # [fake]
[tool.a]
x = 1
"q.r" = 2
y.z = [1, 2, 3]
date = 1979-05-27T07:32:00Z
text = """
[fake]
k = 1
"""
literal = \'\'\'
[[pkg]]
name = "c"\'\'\'

[[pkg]]
name = "a"
deps = [
  { name = "d", v = "1" }, # ] }
  "]",
]
[[pkg]]
name = "b"
[[pkg.sub]]
deep = true

# about the table below
[tool.a.sub]
big = 1_000
inf = inf
"a\\u0062" = 5
\'lit.x\' = 6
hex = 0xff
'''


def verify(check: str, text: str = PROJECT) -> Held:
    """What a check comes to in a TOML document."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source("pyproject.toml", text)
    document = parse_document(source)
    assert document is not None
    return verify_document(parsed, document, source)


@pytest.mark.parametrize(
    ("check", "lines"),
    [
        ("equals(title, x)", (1, 1)),
        ("equals(tool.a.x, 1)", (3, 3)),
        ("equals(x, 1)", (3, 3)),
        ("equals(tool.a.q.r, 2)", (4, 4)),
        ("equals(tool.a.y.z, [1, 2, 3])", (5, 5)),
        ("equals(y.z.1, 2)", (5, 5)),
        ("equals(date, 1979-05-27T07:32:00Z)", (6, 6)),
        ("equals(date, 1979-05-27)", (6, 6)),
        ("equals(pkg.0.name, a)", (16, 16)),
        ('equals("pkg[1].name", b)', (22, 22)),
        ("equals(/pkg/0/deps/0/v, 1.0)", None),
        ('equals(/pkg/0/deps/0/v, "1")', (18, 18)),
        ('equals(/pkg/0/deps/1, "]")', (19, 19)),
        ("equals(pkg.1.sub.0.deep, true)", (24, 24)),
        ("equals(tool.a.sub.big, 1000)", (28, 28)),
        ("equals(inf, inf)", (29, 29)),
        ("equals(ab, 5)", (30, 30)),
        ("equals(tool.a.sub.lit.x, 6)", (31, 31)),
        ("equals(hex, 255)", (32, 32)),
        ("defines(tool, section)", (2, 2)),
        ("defines(tool.a, section)", (2, 13)),
        ('defines("[tool.a]", section)', (2, 13)),
        ("defines(pkg, section)", (15, 15)),
    ],
)
def test_keys_are_found_with_their_lines(check: str, lines: tuple[int, int] | None):
    """Strings over several lines, arrays of tables, inline tables, dotted and quoted keys."""
    held = verify(check)
    assert held.lines == lines
    assert held.holds is (True if lines else None)


@pytest.mark.parametrize(
    ("check", "holds", "reason"),
    [
        ("defines(fake)", False, "differs"),
        ("defines(k)", False, "differs"),
        ("equals(name, c)", None, "ambiguous"),
        ("equals(big, 1001)", False, "differs"),
        ("equals(inf, 5)", None, "incomparable"),
        ("equals(date, 1979-05-28)", False, "differs"),
        ("equals(x, 1, in=tool.a)", True, None),
        ("equals(title, x, in=tool.a)", None, "not-found"),
        ("defines(title, section)", False, "differs"),
        ("defines(pkg.name)", None, "not-found"),
    ],
)
def test_what_looks_like_a_key_in_a_text_is_none(check: str, holds: bool | None, reason: HeldReason | None):
    """And several tables of an array are told apart only by their place."""
    assert verify(check)[:2] == (holds, reason)


def test_a_table_has_the_lines_of_its_headers():
    """Of tables below it as well; in one piece where nothing else stands between."""
    text = "[a]\nx = 1\n\n# next\n[a.b]\ny = 2\n\n[c]\nz = 1\n# about d\n[a.d]\nw = 1\n"
    document = parse_document(Source("x.toml", text))
    assert document is not None
    assert document_extents(document, "a") == [(1, 6), (11, 12)]
    assert document_extents(document, "a.b") == [(5, 6)]
    assert document_extents(document, "c") == [(8, 9)]
    assert document_extents(document, "a.b.y") == [(6, 6)]
    document = parse_document(Source("x.toml", "[t]\na.b = [\n  1,\n]\na.c.d = { e.f = [\n] }\ng = 1\n"))
    assert document is not None
    assert document_extents(document, "t.a") == [(2, 6)]
    assert document_extents(document, "t.a.b") == [(2, 4)]
    assert document_extents(document, "e") == [(5, 6)]
    assert document_extents(document, "t") == [(1, 7)]


@pytest.mark.parametrize(
    "text", ["a = ", "a = 1\na = 2", "[a]\n[a]", "a = 1 b = 2", "[[a]", 'a = "', "= 1", "a.b = 1\na = 2"]
)
def test_an_error_anywhere_leaves_all_undecided(text: str):
    """A document that is no TOML says nothing."""
    assert verify("defines(zzz)", text) == Held(None, "syntax-error")


def test_a_carriage_return_is_an_error_where_toml_has_it_so():
    """Line ends of Windows are line ends; a carriage return alone is not."""
    assert verify("equals(b, 2)", "a = 1\r\nb = 2\r\n") == Held(True, None, (2, 2))
    assert verify("equals(b, 2)", "a = 1\rb = 2\n").reason == "syntax-error"


part = st.sampled_from(["a", "b-c", '"d e"', '"f.g"', "'h'", "1", '"\\""'])
key = st.lists(part, min_size=1, max_size=3).map(".".join)
value = st.sampled_from(
    [
        "1",
        "'''\n[x]\n'''",
        '"""\na = 1\\"""" ""\n"""',
        "[1, # c\n 2]",
        "{ p = 1, q.r = [{ s = 2 }] }",
        "2020-01-01 10:00:00",
        "-inf",
    ]
)
line = st.one_of(
    st.builds("{} = {}".format, key, value),
    st.builds("[{}]".format, key),
    st.builds("[[{}]]".format, key),
    st.just("# [c]\n"),
)


@given(st.lists(line, max_size=8).map("\n".join))
def test_the_scanner_takes_all_that_the_parser_takes(text: str):
    """And places every key on a line where it stands."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    tree = parse_toml(text, text)
    lines = text.split("\n")
    for row, name in enumerate(tree.keys):
        assert 1 <= tree.firsts[row] <= tree.lasts[row] <= len(lines)
        if isinstance(name, str):
            assert name.replace('"', '\\"') in lines[tree.firsts[row] - 1]


@given(st.text(st.sampled_from("ab=.[]{}\"'#,\n \\1"), max_size=40))
def test_no_text_is_more_than_unreadable(text: str):
    """What the parser does not take, the scanner may not either; nothing else happens."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(Unreadable, match="syntax-error"):
            parse_toml(text, text)
    else:
        parse_toml(text, text)
