"""What literals are worth: escapes, number forms, arithmetic and its bounds, in each language that writes them so."""

from __future__ import annotations

import ast
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.judging import values as strings
from sluice.streams.judging.checks import Source
from sluice.streams.judging.index import value_of
from sluice.streams.judging.languages import languages_of
from sluice.streams.judging.values import Escapes, Found, decode
from sluice.streams.judging.verify import parse_code

FRAMES = {
    "py": "X = {}\n",
    "go": "package a\n\nvar X = {}\n",
    "js": "const X = {};\n",
    "ts": "const X = {};\n",
    "java": "class A {{ static final Object X = {}; }}\n",
    "rs": "const X: {1} = {0};\n",
    "c": "#define X {}\n",
    "cc": "const auto X = {};\n",
    "cs": "class A {{ static readonly object X = {}; }}\n",
    "rb": "X = {}\n",
    "sh": "X={}\n",
}


def worth(written: str, ending: str, declared: str = "i64") -> Found | None:
    """The value of an expression in a language; None where it is computed."""
    if not languages_of(f"a.{ending}")[0].queries:
        pytest.skip("this language has no queries yet")
    index = parse_code(Source(f"a.{ending}", FRAMES[ending].format(written, declared)))
    assert index is not None
    assert (index.problem, index.errors) == (None, ()), written
    (one,) = index.by_name["X"]
    return Found(value_of(one.literal)) if one.literal else None


@pytest.mark.parametrize(
    ("escapes", "text", "meant"),
    [
        (strings.PYTHON, r"a\tb\x41\u00e9\U0001F600\101\q\\", "a\tbA\u00e9\U0001f600A\\q\\"),
        (strings.PYTHON, "a\\\nb", "ab"),
        (strings.PYTHON, r"\x4", None),
        (strings.SCRIPT, r"\u{1F600}\ud83d\ude00\x41\q\0", "\U0001f600\U0001f600Aq\0"),
        (strings.SCRIPT, r"\ud83d", None),
        (strings.GO, r"\x41\u00e9\a", "A\u00e9\a"),
        (strings.GO, r"\xff", None),
        (strings.GO, r"\q", None),
        (strings.JAVA, r"\u00e9\101\s", "\u00e9A "),
        (strings.RUST, r"\u{e9}\x41", "\u00e9A"),
        (strings.RUST, "a\\\n    b", "ab"),
        (strings.RUST, r"\xff", None),
        (strings.C, r"\x41\101\?", "AA?"),
        (strings.C, r"\xff", None),
        (strings.SHARP, r"\x41\u00e9\0", "A\u00e9\0"),
        (strings.RUBY, r"\e\u{e9}\q\#", "\x1b\u00e9q#"),
        (strings.QUOTED_ONCE, r"\n\'\\", "\\n'\\"),
        (strings.SHELL, r"\n\$\"", '\\n$"'),
        (strings.PYTHON, "a\\", None),
        (strings.PYTHON, r"\N{DASH}", None),
        (strings.PYTHON, r"\\N", "\\N"),
        (strings.GO, "", ""),
    ],
)
def test_escapes_mean_what_their_language_says(escapes: Escapes, text: str, meant: str | None) -> None:
    """Each language decodes its own; what it would not understand, or means bytes, is not decoded."""
    assert decode(text, escapes) == meant


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",), max_codepoint=0x2FF), max_size=20))
def test_python_strings_are_read_back(text: str) -> None:
    """What `repr` writes is read as the text again, in NFKC; the interpreter judges."""
    from sluice.codecs.unicode_text import nfkc

    found = worth(repr(text), "py")
    assert found is not None
    assert found.value == nfkc(text)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.recursive(
        st.integers(0, 10_000).map(str),
        lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "<<", "**"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        max_leaves=5,
    )
)
def test_python_arithmetic_is_that_of_the_interpreter(written: str) -> None:
    """Where arithmetic gives a value, it is the interpreter's."""
    found = worth(written, "py")
    if found is not None:
        tree = ast.parse(written, mode="eval")
        assert not any(isinstance(node, (ast.Call, ast.Name)) for node in ast.walk(tree))
        assert found.value == eval(compile(tree, "", "eval"), {"__builtins__": {}})


@pytest.mark.parametrize(
    ("ending", "written", "value"),
    [
        ("py", "1_000", 1000),
        ("py", "0x3E8", 1000),
        ("py", "0o17", 15),
        ("py", "0b101", 5),
        ("py", "00", 0),
        ("py", "1e3", 1000),
        ("py", "2 ** 10", 1024),
        ("py", "'a' 'b'", "ab"),
        ("py", "('a'\n     'b')", "ab"),
        ("py", "'a' + 'b'", "ab"),
        ("py", "rb'x'", None),
        ("py", "f'{a}'", None),
        ("py", "f'plain'", "plain"),
        ("py", "'''a\nb'''", "a\nb"),
        ("py", "[1, [2, 'x'], None]", (1, (2, "x"), None)),
        ("py", "()", ()),
        ("py", "7 / 2", None),
        ("py", "7 // 2", None),
        ("py", "8 / 2", 4),
        ("py", "1 if a else 2", None),
        ("py", "9 ** 999", None),
        ("go", "0755", 493),
        ("go", "0o755", 493),
        ("go", "1_000", 1000),
        ("go", "0x1p-2", None),
        ("go", "1 << 40", None),
        ("go", "`a\\b`", "a\\b"),
        ("go", "'a'", None),
        ("js", "017", 15),
        ("js", "10n", 10),
        ("js", "1 << 30", 1073741824),
        ("js", "1 << 31", None),
        ("js", "`a\\n`", "a\n"),
        ("js", "`${a}`", None),
        ("js", "+5", 5),
        ("ts", "5 as const", 5),
        ("ts", "<number>5", None),
        ("java", "10L", 10),
        ("java", "0xFFL", 255),
        ("java", "'a'", None),
        ("java", "24 * 60 * 60 * 1000", 86400000),
        ("java", "1000 * 60 * 60 * 24 * 365", None),
        ("rs", "1_000u32", 1000),
        ("rs", "0xffu8", 255),
        ("rs", "0x1f32", 7986),
        ("rs", "010", 10),
        ("rs", "&[1]", (1,)),
        ("c", "10UL", 10),
        ("c", "0x1F", 31),
        ("c", "010", 8),
        ("c", "-1u", None),
        ("c", '"a" "b"', "ab"),
        ("c", 'L"a"', None),
        ("c", "'a'", None),
        ("cc", "1'000", 1000),
        ("cc", 'R"(a"b)"', 'a"b'),
        ("cs", "010", 10),
        ("cs", "1_000L", 1000),
        ("cs", '@"a\\b"', "a\\b"),
        ("cs", '$"a{b}"', None),
        ("rb", "0755", 493),
        ("rb", "'a\\n'", "a\\n"),
        ("rb", '"a\\n"', "a\n"),
        ("rb", '"#{a}"', None),
        ("rb", "%w[a b]", ("a", "b")),
        ("rb", ":a", "a"),
        ("rb", "[1, nil]", (1, None)),
        ("rb", "2 ** 10", 1024),
        ("sh", "30", "30"),
        ("sh", '"a b"', "a b"),
        ("sh", "'$a'", "$a"),
        ("sh", '"$a"', None),
        ("sh", "$(a)", None),
        ("sh", "(a b)", ("a", "b")),
    ],
)
def test_literals_of_each_language(ending: str, written: str, value: object) -> None:
    """Suffixes, bases, separators, quotes and lists as each language writes them."""
    found = worth(written, ending, "[i64; 1]" if isinstance(value, tuple) else "i64")
    if value is None:
        assert found is None
        return
    assert found is not None
    assert found.value == value
    assert type(found.value) is type(value) or isinstance(value, str)


@pytest.mark.parametrize(
    ("ending", "written"),
    [("py", "None"), ("js", "null"), ("rs", "None"), ("cc", "nullptr"), ("c", "NULL"), ("rb", "nil")],
)
def test_null_is_a_value(ending: str, written: str) -> None:
    """Null in any language is null, which is not the same as being computed."""
    assert worth(written, ending) == Found(None)


@pytest.mark.parametrize(
    ("ending", "written"),
    [("py", "1.5"), ("java", "1.5f"), ("rs", "1.5_f64"), ("cs", "1.5m"), ("go", "1.5")],
)
def test_fractions_are_read_exactly(ending: str, written: str) -> None:
    """A fraction is what is written, not what a machine would store."""
    assert worth(written, ending, "f64") == Found(Decimal("1.5"))


@pytest.mark.parametrize(
    ("ending", "written"),
    [
        ("py", "[" * 40 + "]" * 40),
        ("js", "[" * 40 + "]" * 40),
        ("py", "(" * 40 + "1" + ")" * 40),
        ("py", "-" * 40 + "1"),
    ],
)
def test_depth_of_values_is_bounded(ending: str, written: str) -> None:
    """What is nested deeper than any check could say is computed."""
    assert worth(written, ending) is None


def test_long_texts_and_lists_are_computed() -> None:
    """What is larger than any check could say is not compared."""
    assert worth("'" + "a" * 9_000 + "'", "py") is None
    assert worth("[" + "1," * 3_000 + "]", "py") is None
    assert worth("'" + "a" * 1_900 + "'", "py") == Found("a" * 1_900)
