"""The INI family: sections, keys, `.env` and `.properties`, and where their readers differ."""

from __future__ import annotations

import configparser
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.doc_ini import INI, parse_ini
from sluice.streams.judging.doc_tree import Unreadable
from sluice.streams.judging.documents import document_extents, parse_document, verify_document
from sluice.streams.judging.results import Held, HeldReason, Source

CONFIG = """\
; a comment
top = 1
[DEFAULT]
shared = 5
[Main]
Timeout = 30
comment = 30 ; seconds
list =
    a
    # not an item
    b
quoted = "x"
url: http://a?b=c
[tool:pytest]  ; why
addopts = -q
empty =
flag
path = %(shared)s/x
[Main]
late = 2
twice = 1
TWICE = 2
[a.b]
key with space = v
"""


def verify(check: str, text: str = CONFIG, path: str = "setup.cfg") -> Held:
    """What a check comes to in a file of the INI family."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text)
    document = parse_document(source)
    assert document is not None
    return verify_document(parsed, document, source)


@pytest.mark.parametrize(
    ("check", "lines"),
    [
        ("equals(top, 1)", (2, 2)),
        ('equals(top, "1")', (2, 2)),  # values are texts, or numbers
        ("equals(Main.Timeout, 30)", (6, 6)),
        ("equals(main.timeout, 30)", (6, 6)),
        ("equals(TIMEOUT, 30.0)", (6, 6)),
        ("compare(timeout, >, 29)", (6, 6)),
        ('equals(list, "a\\nb")', (8, 11)),
        ('equals(url, "http://a?b=c")', (13, 13)),
        ("equals(tool:pytest.addopts, -q)", (15, 15)),
        ('equals(empty, "")', (16, 16)),
        ("equals(late, 2, in=Main)", (20, 20)),
        ("equals(shared, 5)", (4, 4)),
        ("equals(twice, 1)", (21, 21)),
        ("equals(TWICE, 2)", (22, 22)),
        ("equals(a.b.key with space, v)".replace("a.b.key with space", '"a.b.key with space"'), (24, 24)),
        ("defines(tool:pytest, section)", (14, 18)),
        ("defines(flag)", (17, 17)),
    ],
)
def test_keys_are_found_with_their_lines(check: str, lines: tuple[int, int] | None):
    """Exactly, or else in other letter case; values over several lines; a section that comes twice."""
    held = verify(check)
    assert held.lines == lines
    assert held.holds is (True if lines else None)


@pytest.mark.parametrize(
    ("check", "holds", "reason"),
    [
        ("equals(timeout, 31)", False, "differs"),
        ("equals(comment, 30)", None, "ambiguous"),
        ('equals(comment, "30 ; seconds")', None, "ambiguous"),
        ("equals(comment, 31)", False, "differs"),
        ("equals(quoted, x)", None, "incomparable"),
        ("equals(flag, true)", None, "incomparable"),
        ("equals(path, 5/x)", None, "computed"),
        ("equals(Main.shared, 5)", None, "computed"),  # a default
        ("defines(Main.shared)", None, "computed"),
        ("equals(Twice, 1)", None, "ambiguous"),
        ("equals(main.Twice, 1)", None, "ambiguous"),
        ("defines(nowhere)", False, "differs"),
        ("defines(top, section)", False, "differs"),
        ("defines(top, variable)", None, "unlisted-language"),
    ],
)
def test_what_readers_take_differently_stays_undecided(check: str, holds: bool | None, reason: HeldReason):
    """A comment behind a value, quotes, a key without a value, defaults, keys in two letter cases."""
    assert verify(check)[:2] == (holds, reason)


def test_sections_in_two_letter_cases_are_ambiguous_in_a_third():
    """Exactly written, each is itself."""
    text = "[Main]\na = 1\n[main]\na = 2\n"
    assert verify("equals(Main.a, 1)", text).holds is True
    assert verify("equals(main.a, 2)", text).holds is True
    assert verify("equals(MAIN.a, 1)", text) == Held(None, "ambiguous")
    assert verify("equals(a, 1, in=MAIN)", text) == Held(None, "ambiguous")


def test_a_deeper_line_may_be_a_key_to_other_readers():
    """So the value before it is doubtful, and that the key is not there is not exact."""
    text = "[a]\nfirst = 1\n  second = 2\n"
    assert verify("equals(first, 1)", text) == Held(None, "ambiguous")
    assert verify("equals(first, 3)", text) == Held(False, "differs", (2, 3))
    assert verify("equals(second, 2)", text) == Held(None, "not-found")
    assert verify("defines(second)", text) == Held(None, "computed")
    assert verify("equals(deps, 1)", "[a]\ndeps =\n  x>=1\n  y==2\n") == Held(False, "differs", (2, 4))


@pytest.mark.parametrize(
    "text",
    [
        "[a",
        "[]",
        "[a] b",
        "= 1",
        "two words",
        "[a]\ntwo words\n",
        "lonely",
        "<html>",
        "a = 1\rb = 2",
        "a = 1\0",
        "[a]\nx y\n",
    ],
)
def test_a_file_of_another_kind_leaves_all_undecided(text: str):
    """One line that is no section, no key and no comment is enough."""
    assert verify("defines(zzz)", text, "x.ini") == Held(None, "syntax-error")


def test_a_conf_file_is_a_document_only_where_it_looks_like_one():
    """The ending says nothing: most are of other formats."""
    for text in ("server {\n  listen 80;\n}\n", "port 6379\n", "# only comments\n", "key: value\n", "a b = c\n", ""):
        assert parse_document(Source("x.conf", text)) is None
    assert verify("equals(a.k, 1)", "[a]\nk = 1\n", "x.conf").holds is True
    assert verify("defines(k)", "x" * 5_000_000, "x.conf") == Held(None, "too-large")


def test_a_section_has_the_lines_of_its_headers():
    """Without the comments before the next one; a section that comes twice has two."""
    document = parse_document(Source("x.ini", CONFIG))
    assert document is not None
    assert document_extents(document, "tool:pytest") == [(14, 18)]
    assert document_extents(document, "Main") == [(5, 13), (19, 22)]
    assert document_extents(document, "a.b") == [(23, 24)]
    assert document_extents(document, "late") == [(20, 20)]


def test_editorconfig_has_globs_as_sections():
    """A deeper line is a key there."""
    text = "root = true\n[*.{py,md}]\n  indent_size = 4\n[[ab].c]\nindent_size = 2\n"
    assert verify("equals(root, true)", text, ".editorconfig").holds is True
    assert verify('equals(indent_size, 4, in="*.{py,md}")', text, "a/.editorconfig") == Held(True, None, (3, 3))
    assert verify('equals(indent_size, 2, in="[ab].c")', text, ".editorconfig").holds is True
    assert verify("equals(indent_size, 4)", text, ".editorconfig") == Held(None, "ambiguous")


def test_git_configuration_has_second_names_and_comments():
    """A value may be in quotes; with escapes in it, it is not read."""
    text = '[remote "origin"]\n\turl = "git@x:y" ; here\n\tfetch = +a # b\n\tsh = "a\\"b"\n[core]\n\tbare\n'
    assert verify('equals(remote.origin.url, "git@x:y")', text, ".gitmodules").holds is True
    assert verify("equals(fetch, +a)", text, ".gitconfig").holds is True
    assert verify("equals(sh, x)", text, ".gitconfig") == Held(None, "computed")
    assert verify("defines(core.bare)", text, ".gitconfig").holds is True


ENV = """\
# comment
PORT=8080
export NAME="a b" # why
SINGLE='$x # y'
REF=$PORT/x
ESC="a\\n"
LONG="one
two"
TAIL=5 # five
HASH=a#b
GLUED="a"b
EMPTY=
TWICE=1
TWICE=1
FROM_OUTSIDE
"""


@pytest.mark.parametrize(
    ("check", "holds", "reason"),
    [
        ("equals(PORT, 8080)", True, None),
        ("equals(PORT, 80)", False, "differs"),
        ('equals(NAME, "a b")', True, None),
        ('equals(SINGLE, "$x # y")', True, None),
        ("equals(REF, 8080/x)", None, "computed"),
        ("equals(REF, $PORT/x)", True, None),
        ("equals(ESC, a)", None, "computed"),
        ('equals(LONG, "one\\ntwo")', True, None),
        ("equals(TAIL, 5)", True, None),
        ('equals(HASH, "a#b")', True, None),
        ("equals(GLUED, ab)", None, "computed"),
        ('equals(EMPTY, "")', True, None),
        ("equals(TWICE, 1)", None, "ambiguous"),
        ("equals(FROM_OUTSIDE, 1)", None, "computed"),
        ("defines(FROM_OUTSIDE)", True, None),
        ("defines(PORT, variable)", True, None),
        ("defines(port)", False, "differs"),
        ("defines(PORT, constant)", None, "unlisted-language"),
    ],
)
def test_an_env_file_is_read_as_its_libraries_do(check: str, holds: bool | None, reason: HeldReason | None):
    """Quotes, comments, values over several lines; what would be put in is not."""
    assert verify(check, ENV, ".env.example")[:2] == (holds, reason)


@pytest.mark.parametrize("text", ["A B", "A='x", 'A="x', "1A=2", "=1", "echo hi", "A=1\n}"])
def test_what_is_no_assignment_makes_an_env_file_unreadable(text: str):
    """A script is none."""
    assert verify("defines(A)", text, ".env") == Held(None, "syntax-error")


PROPERTIES = """\
! comment
server.port = 8080
name:value
bare word
path\\ with\\=marks = x
long = a,\\
       b
uni = \\u00e9
last = x\\\\
"""


@pytest.mark.parametrize(
    ("check", "lines"),
    [
        ("equals(server.port, 8080)", (2, 2)),
        ("equals(port, 8080)", None),
        ("equals(name, value)", (3, 3)),
        ("equals(bare, word)", (4, 4)),
        ('equals("path with=marks", x)', (5, 5)),
        ('equals(long, "a,b")', (6, 7)),
        ('equals(uni, "\\u00e9")', (8, 8)),
        ('equals(last, "x\\\\")', (9, 9)),
    ],
)
def test_properties_have_separators_escapes_and_continued_lines(check: str, lines: tuple[int, int] | None):
    """And no comment behind a value; a key with dots is one key."""
    held = verify(check, PROPERTIES, "application.properties")
    assert held.lines == lines
    assert held.holds is (True if lines else None)


word = st.from_regex(r"[a-z][a-z0-9_.-]{0,5}", fullmatch=True)
plain = st.from_regex(r"[a-z0-9/,=:-]{0,8}", fullmatch=True)
line = st.one_of(
    st.builds("{} = {}".format, word, plain),
    st.builds("{}: {}".format, word, plain),
    st.builds("  {}".format, word),
    st.builds("[{}]".format, word),
    st.sampled_from(["", "# c", "; c"]),
)


@given(st.lists(line, max_size=10).map(lambda lines: "[s]\nk = v\n" + "\n".join(lines)))
def test_what_the_standard_library_reads_is_read_alike(text: str):
    """Every key of every section has the value that `configparser` gives it, unless it is there twice."""
    parser = configparser.RawConfigParser(allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    try:
        tree = parse_ini(text, INI)
    except Unreadable:
        assert re.search(r"^[^\[\]=:#;]* [^\[\]=:#;]*$|^\s+\S", text, re.MULTILINE)
        return
    for section in parser.sections():
        for name, value in parser.items(section):
            row = tree.children[tree.children[tree.roots[0], section], name]
            if value and not value.startswith("\n") and "\n" not in value:
                assert tree.contents[row] == value


@given(
    st.text(st.sampled_from("ab=:[]\"'#;\\$ \n\t."), max_size=40),
    st.sampled_from(["a.ini", ".env", "a.properties", ".gitconfig", "a.conf"]),
)
def test_no_text_makes_a_reader_fail(text: str, path: str):
    """Each row that is read stands on lines that are there."""
    document = parse_document(Source(path, text))
    if document is not None and document.body is not None:
        tree = document.body
        assert all(
            1 <= first <= last <= text.count("\n") + 1 for first, last in zip(tree.firsts, tree.lasts, strict=True)
        )  # type: ignore[union-attr]
