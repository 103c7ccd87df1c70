"""Source code that somebody wrote to mislead or to exhaust: bounds, depth, errors, and what the index costs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.judging import code as door
from sluice.streams.judging import code_building, languages
from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import CODE_CHECKS, Code, code_extents, parse_code, verify_code
from sluice.streams.judging.code_model import MAX_DEFINITIONS
from sluice.streams.judging.code_parsing import MAX_BYTES
from sluice.streams.judging.results import Held, Source

pytestmark = pytest.mark.slow

ENDINGS = ("py", "go", "js", "ts", "tsx", "java", "rs", "c", "h", "cc", "cs", "rb", "sh")
CHECKS = (
    "defines(a)",
    "defines(a.b, method)",
    "defines(b, in=a)",
    "equals(a, 1)",
    "equals(A.a, [1, two])",
    "compare(a, <, 3)",
    "calls(a, b)",
    "calls(f, a.b)",
    "uses(a, a)",
    "imports(a)",
    "returns(a, 1)",
    "not defines(a)",
)


def parsed(text: str, path: str = "a.py") -> Code:
    """A file of a listed language."""
    code = parse_code(Source(path, text))
    assert code is not None
    return code


def all_held(text: str, path: str = "a.py", checks: tuple[str, ...] = CHECKS) -> list[Held]:
    """What some checks on one parsed file come to."""
    code = parsed(text, path)
    read = [one for one in map(parse_check, checks) if isinstance(one, Check)]
    assert len(read) == len(checks)
    return [verify_code(one, code, Source(path, text, lines=one.lines)) for one in read]


def held(check: str, text: str, path: str = "a.py") -> Held:
    """What a check on a file comes to."""
    return all_held(text, path, (check,))[0]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "\x00", "\x00\x01\x02\xff" * 50, "\ud800", "\r\n\r\n", "   "])
def test_a_file_of_nothing_decides_nothing_wrongly(ending: str, text: str) -> None:
    """Empty, blank and binary files have no definitions; nothing is raised, and nothing holds."""
    assert all(found.holds is not True for found in all_held(text, f"a.{ending}"))


_TOKENS = (
    "def f():\n ",
    "class A:\n ",
    "class A{",
    "func f(){",
    "fn f(){",
    "function f(){",
    "a=1\n",
    "const a=1;",
    "int a=1;",
    "#define a 1\n",
    "#if 0\n",
    "#endif\n",
    "import a\n",
    "use a;",
    "require 'a'\n",
    "a(",
    "a.b",
    "return ",
    "if ",
    "else ",
    "end\n",
    "'a'",
    '"',
    "'",
    "`${",
    "<<A\n",
    "/*",
    "//",
    "#",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "=",
    ";",
    ",",
    ":",
    "\n ",
    "\\\n",
    "\r",
    "\x00",
    "é",
    "@",
    "->",
    "=>",
    "lambda:",
    "self.a=1\n",
    "1_0",
    "global a\n",
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(_TOKENS), max_size=60).map("".join), st.sampled_from(ENDINGS))
def test_no_text_makes_a_check_fail(text: str, ending: str) -> None:
    """Whatever a file says, a check on it is decided or stays undecided with a reason, and twice the same."""
    source = Source(f"a.{ending}", text)
    code = parse_code(source)
    assert code is not None
    for one in CHECKS:
        check = parse_check(one)
        assert isinstance(check, Check)
        found = verify_code(check, code, source)
        assert (found.reason is None) == (found.holds is True)
        assert found == verify_code(check, code, source)
        if found.lines is not None:
            assert 1 <= found.lines[0] <= found.lines[1] <= text.count("\n") + 1


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(st.sampled_from(_TOKENS), max_size=40).map("".join), st.sampled_from(ENDINGS))
def test_comments_and_strings_never_add_a_definition(text: str, ending: str) -> None:
    """A text that stands in a comment, line by line, defines and imports nothing."""
    mark = "#" if ending in ("py", "rb", "sh") else "//"
    # Where a line ends with a backslash some languages join the next one to the comment: that is a comment as well.
    lines = (line.replace("\r", " ").replace("\x00", " ") for line in text.split("\n"))
    commented = "".join(f"{mark} {line}\n" for line in lines)
    code = parsed(commented, f"a.{ending}")
    assert code.definitions == []
    assert code.imports == []


DEPTH = 5_000


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("py", "x = " + "(" * DEPTH + "1" + ")" * DEPTH + "\n"),
        ("py", "x = " + "-" * DEPTH + "1\n"),
        ("py", "(" * DEPTH),
        ("py", "x = " + "not " * DEPTH + "a\n"),
        ("py", "x = " + "lambda: " * DEPTH + "0\n"),
        ("py", "x = " + "1 + " * DEPTH + "1\n"),
        ("py", "a = " * DEPTH + "1\n"),
        ("py", "x = " + "a." * DEPTH + "b\n"),
        ("py", "".join(" " * depth + "def f():\n" for depth in range(300)) + " " * 300 + "a()\n"),
        ("py", "(" * DEPTH + "a" + ",)" * DEPTH + " = b\n"),
        ("js", "let x = " + "{a: " * DEPTH + "1" + "}" * DEPTH + ";"),
        ("js", "x = " + "a => " * DEPTH + "1;"),
        ("js", "x = " + "f(" * DEPTH + ")" * DEPTH + ";"),
        ("ts", "namespace a {" * DEPTH + "}" * DEPTH),
        ("go", "package a\nfunc f() {" + "if a {" * DEPTH + "}" * DEPTH + "}\n"),
        ("java", "class A {" * DEPTH + "}" * DEPTH),
        ("rs", "use " + "a::{" * DEPTH + "b" + "}" * DEPTH + ";"),
        ("rs", "mod a {" * DEPTH + "}" * DEPTH),
        ("c", "int " + "*" * DEPTH + "a = 1;"),
        ("c", "#if a\n" * DEPTH + "#endif\n" * DEPTH),
        ("cc", "namespace a {" * DEPTH + "}" * DEPTH),
        ("cs", "namespace a {" * DEPTH + "}" * DEPTH),
        ("rb", "module A\n" * DEPTH + "end\n" * DEPTH),
        ("sh", "x=" + "$(" * DEPTH + ")" * DEPTH + "\n"),
    ],
)
def test_depth_ends_nothing(ending: str, text: str) -> None:
    """What is nested 5,000 deep is walked like anything else: without recursion, and without an exception."""
    assert len(all_held(text, f"a.{ending}")) == len(CHECKS)


@pytest.mark.parametrize(
    ("ending", "unit"),
    [
        ("java", "a=>"),
        ("java", "template<"),
        ("rs", "%w("),
        ("c", "a=>"),
        ("cs", "a<a<a>>"),
        ("ts", "a<b,"),
        ("js", "->"),
        ("go", "->"),
        ("sh", "+|"),
        ("py", "\\\n"),
        ("py", "+|"),
        ("rs", 'r#"'),
        ("c", "/*a "),
    ],
)
def test_recovery_from_errors_is_given_up_in_time(ending: str, unit: str) -> None:
    """Texts on which a parse takes minutes or gigabytes are given up: the file is beyond a bound, and nothing is said.

    Twenty thousand bytes of the first one took 60 s and 13 GB before. Of `template<` so many are parsed, in a second.
    """
    text = (unit * 40_000)[:40_000]
    assert parsed(text, f"a.{ending}").problem == "too-large"
    assert held("defines(a)", text, f"a.{ending}") == Held(None, "too-large")


@pytest.mark.parametrize("lines", [60, 150, 275, 350, 1_000])
@pytest.mark.parametrize(
    ("ending", "clean", "unit"),
    [
        ("java", "class A { int f() { return 1; } }\n", "a=>"),
        ("cs", "class A { int f() { return 1; } }\n", "a<a<a>>"),
        ("go", "func f() int { return 1 }\n", "->"),
        ("js", "const a = 1;\n", "->"),
        ("c", "int f(void) { return 1; }\n", "a=>"),
        ("rs", "fn f() -> i32 { 1 }\n", "%w("),
    ],
)
def test_recovery_behind_clean_code_is_given_up_in_time(ending: str, clean: str, unit: str, lines: int) -> None:
    """Clean code makes no sample so rare that what follows goes unseen, wherever between two samples it begins."""
    assert parsed(clean * lines + (unit * 20_000)[:20_000], f"a.{ending}").problem == "too-large"


@pytest.mark.parametrize(
    ("ending", "clean", "lines", "broken"),
    [
        ("ts", "const a: number = f(1, 2);\n", 700, "<<<<<<< HEAD\n=======\n>>>>>>> x\n" * 7),
        ("java", "class A { int f() { return 1; } }\n", 300, "{% if x %}\n{{ y }}\n{% endif %}\n" * 25),
        ("c", "int f(void) { return 1; }\n", 400, "@@ -1,2 +3,4 @@\n-a b c\n+d e f\n" * 15),
    ],
)
def test_a_few_errors_behind_clean_code_give_up_nothing(ending: str, clean: str, lines: int, broken: str) -> None:
    """What clean code left out of the samples counts for no error behind it."""
    assert parsed(clean * lines + broken + clean * 50, f"a.{ending}").problem is None


@pytest.mark.parametrize("padding", [20, 30, 50, 80])
@pytest.mark.parametrize("ending", ["java", "c"])
def test_padding_hides_no_text_with_many_readings(ending: str, padding: int) -> None:
    """A text that comes as far with each step as ordinary code does is sampled all the same, only less often."""
    unit = f"a=>{'x' * padding}" if ending == "c" else f"a=>/*{'x' * padding}*/"
    assert parsed(unit * (200_000 // len(unit)), f"a.{ending}").problem == "too-large"


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("py", "# a comment\n" * 400 + "x = 1\n"),
        ("py", 'x = """\n' + "( [ { a => b\n" * 500 + '"""\n'),
        ("py", "x = [\n" + "    (1, 'a', {'b': 2}),\n" * 2_000 + "]\n"),
        ("c", "void f(void) {\n" + "REGISTER(a_b);\n" * 500 + "}\n"),
        ("cs", "class A { void f() {" + " x = g<int>(a < b, c > d);\n" * 300 + "} }"),
        ("ts", "const x = [" + "f<A<B>>(a),\n" * 1_000 + "];"),
        ("js", "const x = {" + "a: (b) => c ? d : e,\n" * 1_000 + "};"),
        ("sh", "case $x in\n" + "a) b=1 ;;\n" * 500 + "esac\n"),
        ("java", "class A { void f() {" + 'assertThat(a).isEqualTo("b");\n' * 1_000 + "} }"),
    ],
)
def test_ordinary_files_are_not_given_up(ending: str, text: str) -> None:
    """Long comments, strings, tables and calls are what files consist of."""
    code = parsed(text, f"a.{ending}")
    assert code.problem is None
    assert code.errors == []


def test_a_file_beyond_a_bound_decides_nothing() -> None:
    """More bytes, or more definitions, than are kept: `too-large`, whatever is asked."""
    for text in ("x = 1\n" * (MAX_BYTES // 6 + 1), "a=1\n" * (MAX_DEFINITIONS + 1)):
        code = parsed(text)
        assert code.problem == "too-large"
        assert code.definitions == []
        assert set(all_held(text, checks=CHECKS[:4])) == {Held(None, "too-large")}


def test_a_missing_grammar_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language whose grammar is not installed is listed all the same."""
    assert languages.loaded("tree_sitter_nowhere", "language") is None
    monkeypatch.setattr(door, "loaded", lambda package, entry: None)
    code = parsed("x = 1\n")
    assert code.problem == "no-grammar"
    check = parse_check("equals(x, 1)")
    assert isinstance(check, Check)
    assert verify_code(check, code, Source("a.py", "x = 1\n")) == Held(None, "no-grammar")
    assert code_extents(code, "x") == []


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a/b.py", ["python"]),
        ("B.PY", ["python"]),
        ("a.pyi", ["python"]),
        ("a.h", ["c", "cpp"]),
        ("a.C", ["cpp"]),
        ("a.H", ["cpp"]),
        ("a.c", ["c"]),
        ("a.jsx", ["javascript"]),
        ("a.tsx", ["tsx"]),
        ("Rakefile", ["ruby"]),
        ("x/.bashrc", ["shell"]),
        ("Makefile", []),
        ("a.md", []),
        ("py", []),
        (".py", []),
        ("", []),
        ("a.py/b", []),
    ],
)
def test_the_name_of_a_file_tells_its_language(path: str, names: list[str]) -> None:
    """By its ending, or by all of it; a file of no listed language is none of ours."""
    assert [one.name for one in languages.languages_of(path)] == names
    assert (parse_code(Source(path, "")) is None) == (not names)


def test_every_language_has_its_grammar() -> None:
    """All grammars of the table are installed here, and every ending is listed once."""
    endings = [ending for one in languages.LANGUAGES for ending in one.endings]
    assert len(endings) == len(set(endings))
    for one in languages.LANGUAGES:
        assert languages.loaded(one.package, one.entry) is not None


def test_the_index_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks on a parsed file neither parse nor index it again."""
    text = "x = 1\n\ndef f():\n    g()\n"
    code = parsed(text)

    def never(*_: object) -> None:
        raise AssertionError("parsed again")

    monkeypatch.setattr(door, "parse_bytes", never)
    monkeypatch.setattr(door, "index", never)
    monkeypatch.setattr(code_building, "index", never)
    for one in ("equals(x, 1)", "calls(f, g)", "defines(f)", "uses(f, g)"):
        check = parse_check(one)
        assert isinstance(check, Check)
        assert verify_code(check, code, Source("a.py", text)).holds is True


def test_weight_grows_with_the_file() -> None:
    """What a file takes in memory is told, so that what is kept can be bounded."""
    small, large = parsed("x = 1\n").weight, parsed("x = f(1)\n" * 2_000).weight
    assert 500 < small < 10_000
    assert 1_000 < (large - small) / 2_000 < 5_000


def test_the_cost_is_linear() -> None:
    """Eight times the text takes some eight times as long, not sixty-four times."""
    unit = "def f{0}(a=1):\n    x = g(a)\n    return [x, 'a', {{'k': 1}}]\n\n\nclass C{0}:\n    y: int = 2\n\n"

    def seconds(count: int) -> float:
        text = "".join(unit.format(place) for place in range(count))
        best = 1e9
        for _ in range(3):
            before = time.process_time()
            code = parsed(text)
            for check in CHECKS:
                one = parse_check(check)
                assert isinstance(one, Check)
                verify_code(one, code, Source("a.py", text))
            best = min(best, time.process_time() - before)
        return best

    assert seconds(1_600) < 32 * seconds(200) + 0.05


def test_many_of_one_name_are_no_trouble() -> None:
    """A name that is assigned ten thousand times is ambiguous; the local one of that name is not."""
    text = "def f():\n    X = 1\n" + "X = 1\n" * 10_000
    first, second = all_held(text, checks=("equals(X, 1)", "equals(f.X, 1)"))
    assert first.reason == "ambiguous"
    assert second.holds is True


def test_every_check_on_syntax_has_a_verifier() -> None:
    """The checks that are decided here are those of the design that syntax decides."""
    assert {"calls", "compare", "defines", "equals", "imports", "returns", "uses"} == CODE_CHECKS


@pytest.mark.parametrize("text", ["def f(): pass\n", "def f(\n"])
def test_extents_of_any_name_are_lists(text: str) -> None:
    """Asking for what is not there, or for no name at all, is no error."""
    code = parsed(text)
    for name in ("", ".", "()", "f", "g", "a.b.c", "::", "#", "/", "<>", "(*", "é", "\ud800"):
        assert isinstance(code_extents(code, name), list)
