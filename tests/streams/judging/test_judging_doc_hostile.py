"""Documents that are made to cost time or memory, or to break a parser: each is bounded, and none raises.

The sizes are such that a quadratic reader would run into the time limit of the test.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, Held, Source, parse_check
from sluice.streams.judging.documents import Document, document_extents, format_of, parse_document, verify_document

pytestmark = pytest.mark.slow

N = 150_000
CHECKS = (
    "defines(zzz)",
    "equals(a.b.c, 1)",
    "equals(a, 1)",
    "defines(a" + ".a" * 63 + ", section)",
    "equals(/a/0, [1], in=a)",
)


def decided(path: str, text: str) -> tuple[Document | None, list[Held]]:
    """A text as a document, and what some checks come to in it."""
    source = Source(path, text)
    document = parse_document(source)
    if document is None:
        return None, []
    assert document_extents(document, "a") is not None
    checks = [check for check in map(parse_check, CHECKS) if isinstance(check, Check)]
    assert len(checks) == len(CHECKS)
    return document, [verify_document(check, document, source) for check in checks]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x.json", lambda: "[" * N),
        ("x.json", lambda: '{"a":' * N),
        ("x.json", lambda: "[" + "1," * 250_000 + "1]"),
        ("x.json", lambda: "{" + ",".join(f'"k{n}":1' for n in range(250_000)) + "}"),
        ("x.json", lambda: "1" * 5_000_000),
        ("x.yaml", lambda: "[" * N),
        ("x.yaml", lambda: "- " * N),
        ("x.yaml", lambda: "? " * N),
        ("x.yaml", lambda: "- 1\n" * 250_000),
        ("x.yaml", lambda: "? [" + "a," * 250_000 + "]\n: b"),
        ("x.yaml", lambda: "".join(f"%TAG !a{n}! tag:x{n},2000:\n" for n in range(N)) + "--- 1"),
        ("x.json", lambda: "[" * 60_000 + "]" * 60_000),
        ("x.toml", lambda: "a = " + "[" * 60_000 + "]" * 60_000),
        ("x.toml", lambda: "a" + ".a" * N + " = 1"),
        ("x.toml", lambda: "[" + "a." * N + "a]"),
        ("x.toml", lambda: "a = " + "[" * N),
        ("x.toml", lambda: "a = " + "{a=" * N),
        ("x.toml", lambda: "[[a]]\n" * 250_000),
        ("x.ini", lambda: "k = v\n" * 250_000),
        ("x.ini", lambda: "a" + " " * 1_000_000 + "b"),
        ("x.ini", lambda: "# c\n" * 30_001),
        (".env", lambda: "# c\n" * 30_001),
        ("x.properties", lambda: "\n" * 30_001),
        ("Makefile", lambda: "t: d\n" + "\tc\n" * 30_000),
        ("Makefile", lambda: "ifdef x\nendif\n" * 15_001),
        ("x.json", lambda: "[" + "[]," * 40_000 + "1]"),
        ("x.toml", lambda: "# c\n" * 40_001),
        ("x.toml", lambda: "x = {" + ",".join(f"a{n} = 1" for n in range(40_001)) + "}"),
        ("x.yaml", lambda: "\n".join(f"k{n}: {n}" for n in range(10_001))),
        ("x.yaml", lambda: "- a\n" * 10_001),
        ("x.json", lambda: "[" + "1," * 10_000 + "1]"),
        ("x.ini", lambda: "\n".join(f"k{n} = {n}" for n in range(10_001))),
        (".env", lambda: "A=1\n" * 250_000),
        ("x.properties", lambda: "a=b\n" * 250_000),
        ("Makefile", lambda: "A=1\n" * 250_000),
        ("x.md", lambda: "- " * 30 + "a"),
        ("x.md", lambda: ">" * N),
        ("x.md", lambda: "a\n\n" * N),
        ("x.md", lambda: "# a\n" * 20_000),
        ("x.md", lambda: "# " + "a" * 5_000),
        ("x.md", lambda: ("# " + "![[" * 300 + "\n") * 200),
        ("x.md", lambda: "a" * 1_000_001),
    ],
)
def test_what_is_too_large_or_too_deep_is_not_read(path: str, text: Callable[[], str]):
    """Every check on it is undecided, and says so. What is open at its end as well may be called an error."""
    document, helds = decided(path, text())
    assert document is not None
    assert document.problem in ("too-large", "syntax-error")
    assert document.entries == []
    assert set(helds) == {Held(None, document.problem)}
    assert document.weight <= 1_000


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x.json", lambda: '"' + "\\n" * 1_500_000),
        ("x.json", lambda: "[" + " " * 3_000_000 + "x"),
        ("x.json", lambda: "[" + ",".join(['{"a":' * 60 + "1" + "}" * 60] * 2_000) + "]"),
        ("x.json", lambda: "{" + ",".join(['"a": 1'] * N) + "}"),
        ("x.json", lambda: '["' + "\\n" * 1_900_000 + '"]'),
        ("x.json", lambda: '{"\\ud800": ' + '{"a":' * 900 + "1" + "}" * 901),
        ("x.yaml", lambda: "a: |\n" + "\n" * 3_000_000),
        ("x.yaml", lambda: "a: 'x" + "\n " * 1_500_000 + "'"),
        ("x.yaml", lambda: "".join(f"a{n}: |\n\n\n" for n in range(N))),
        ("x.yaml", lambda: "a: [" + "b\n " * N),
        ("x.toml", lambda: 'a = """' + '""\\"' * 900_000 + '"""'),
        ("x.toml", lambda: 'a = """' + '""\\"' * 900_000),
        ("x.toml", lambda: "a = 1" + " " * 3_000_000 + "b"),
        (
            "x.toml",
            lambda: "".join("[" + ".".join("a" * 30) + f".b{n}]\n" + ".".join("c" * 31) + "=1\n" for n in range(1_000)),
        ),
        ("x.ini", lambda: "[" + "]" * 3_000_000),
        ("x.ini", lambda: "[a]\nk = v\n" + " x\n" * 900_000),
        ("x.ini", lambda: "k = " + " ;" * 1_500_000),
        (".env", lambda: 'A="' + '\\"' * 1_900_000),
        (".env", lambda: "A" + " " * 3_000_000 + "b"),
        ("x.properties", lambda: "\\a" * 1_900_000),
        ("x.properties", lambda: "a=b\\\n" * 700_000),
        ("Makefile", lambda: "a" + " " * 3_000_000 + "b"),
        ("Makefile", lambda: "a = b \\\n" * 400_000),
        ("Makefile", lambda: "$(" * 1_900_000 + ":"),
        ("Makefile", lambda: "define A\n" * 400_000),
        ("Makefile", lambda: "ifdef A\n" * 16 + "B = 1\n" * 90_000),
        ("Makefile", lambda: "a: " + "$(" * 300_000 + ")" * 300_000),
        ("x.json", lambda: '{"' + "a" * 1_000_000 + '": 1}'),
        ("x.yaml", lambda: "a: &a {" + ", ".join(f"a{n}: *a" for n in range(40_000)) + "}\na: *a"),
        ("x.yaml", lambda: "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(20_000))),
        ("Makefile", lambda: " ".join(f"t{n}" for n in range(N)) + ":\n" + "\tx\n" * N),
        ("Makefile", lambda: "\\" * 3_000_000),
        ("x.md", lambda: "---\n" + "a: b\n" * 19_000),
        ("x.md", lambda: "-" * 900_000),
        ("x.md", lambda: "[a]: b\n" * 19_000),
        ("x.md", lambda: "[" + "a\n" * 19_000),
        ("x.md", lambda: "<a\n\n" * 14_000),
        ("x.md", lambda: ">" * 15 + "a\n" * 19_000),
        ("x.md", lambda: "# " + "\U0001f680" * 3_999 + "x"),
        ("x.md", lambda: "|a" * N + "\n" + "|-" * N + "\n" + "a\n" * 100),
    ],
)
def test_what_is_made_to_cost_time_costs_little(path: str, text: Callable[[], str]):
    """Whatever it comes to: runs of blanks, open quotes and brackets, escapes, long lines, many short ones."""
    document, helds = decided(path, text())
    assert document is not None
    assert len(helds) == len(CHECKS)


PATHS = (
    *("a.json", "a.toml", "a.yaml", "b/a.yml", "a.ini", "a.cfg", "a.conf", ".env", "a.properties", ".editorconfig"),
    *(".gitmodules", "Makefile", "a.mk", "a.md", "uv.lock", ".env.local"),
)


@given(st.text(max_size=60), st.sampled_from(PATHS))
def test_no_text_raises(text: str, path: str):
    """Any characters, in any file; whatever is decided is decided about lines that are there."""
    _, helds = decided(path, text)
    for held in helds:
        assert held.lines is None or 1 <= held.lines[0] <= held.lines[1] <= text.count("\n") + 1


@given(st.binary(max_size=80), st.sampled_from(PATHS))
def test_no_bytes_raise(content: bytes, path: str):
    """Files that are no text at all, as whoever reads them may hand them over."""
    decided(path, content.decode("utf-8", "surrogateescape"))
    decided(path, content.decode("utf-8", "replace"))
    decided(path, content.decode("latin-1"))


@pytest.mark.parametrize("path", [path for path in PATHS if path != "a.conf"])
def test_a_null_character_is_an_error_in_every_format(path: str):
    """It is none of a text; parsers part over it."""
    document, helds = decided(path, "a = 1\n\0")
    assert document is not None
    assert set(helds) == {Held(None, "syntax-error")}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("package.json", "json"),
        ("a/b/PYPROJECT.TOML", "toml"),
        ("Cargo.lock", "toml"),
        ("poetry.lock", "toml"),
        ("yarn.lock", None),
        ("composer.lock", "json"),
        ("x.yaml", "yaml"),
        ("setup.cfg", "ini"),
        ("nginx.conf", "conf"),
        (".editorconfig", "ini"),
        (".env", "env"),
        (".env.production", "env"),
        ("environment", None),
        ("GNUmakefile", "make"),
        ("makefile", "make"),
        ("rules.mk", "make"),
        ("Makefile.in", None),
        ("README.md", "markdown"),
        ("README.markdown", "markdown"),
        ("README.rst", None),
        ("json", None),
        ("x.py", None),
        ("x.json/y", None),
        ("", None),
    ],
)
def test_the_name_of_a_file_tells_its_format(path: str, expected: str | None):
    """Its ending, or the whole name; never its content."""
    assert format_of(path) == expected
    assert (parse_document(Source(path, "")) is None) == (expected in (None, "conf"))


def test_what_was_parsed_says_how_much_room_it_takes():
    """More than its text, and more with more keys: a cache is bounded by it."""
    small, large = (
        parse_document(Source("x.ini", "".join(f"k{n} = v\n" for n in range(count)))) for count in (10, 1_000)
    )
    assert small is not None
    assert large is not None
    assert large.weight > 20 * small.weight / 2 > 1_000
