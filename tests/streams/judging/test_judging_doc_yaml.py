"""YAML from its events: nothing is made, run or expanded, and what readers take differently decides nothing."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging import doc_yaml
from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.doc_tree import Content, Doubtful, Shape, Tree, Unreadable
from sluice.streams.judging.doc_yaml import parse_yaml
from sluice.streams.judging.documents import document_extents, parse_document, verify_document
from sluice.streams.judging.results import Held, HeldReason, Source

CONFIG = """\
base: &base
  port: 80
  debug: yes
  word: "yes"
  mode: 017
  clock: 1:30
  day: 2026-05-25
  host: a
prod:
  <<: *base
  debug: no
  copy: *base
text: |
  hello
  world

# a comment
folded: >-
  one
  two
on:
  push: {branches: [main, "dev"]}
items:
  - id: 1
    name: x
  - id: 2
    name: "{{ name }}"
? [a, b]
: value
!!str 12: number
tagged: !Secret hidden
version: 3.10
empty:
! bare: ! 5
"""


def verify(check: str, text: str = CONFIG, lines: tuple[int, int] | None = None) -> Held:
    """What a check comes to in a YAML document."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source("a/b.yml", text, lines)
    document = parse_document(source)
    assert document is not None
    return verify_document(parsed, document, source)


@pytest.mark.parametrize(
    ("check", "lines"),
    [
        ("equals(base.port, 80)", (2, 2)),
        ("equals(base.debug, yes)", (3, 3)),  # as it is written, in either version
        ("equals(base.word, yes)", (4, 4)),
        ("equals(base.mode, 017)", (5, 5)),
        ("equals(base.clock, 1:30)", (6, 6)),
        ("equals(day, 2026-05-25)", None),  # the base stands at two places
        ("equals(base.day, 2026-05-25)", (7, 7)),
        ("equals(base.day, 2026-05)", (7, 7)),
        ("compare(base.day, <, 2026-06-01)", (7, 7)),
        ("equals(prod.debug, no)", (11, 11)),
        ("equals(prod.copy.port, 80)", (2, 2)),
        ('equals(text, "hello\\nworld")', (13, 15)),
        ('equals(folded, "one two")', (18, 20)),
        ("equals(on.push.branches, [main, dev])", (22, 22)),
        ("equals(branches.1, dev)", (22, 22)),
        ("equals(items.0.id, 1)", (24, 24)),
        ("equals(/items/1/id, 2)", (26, 26)),
        ('equals(items.1.name, "{{ name }}")', (27, 27)),
        ('equals("12", number)', (30, 30)),
        ("equals(version, 3.1)", (32, 32)),
        ("equals(empty, null)", (33, 33)),
        ("defines(tagged)", (31, 31)),
        ("defines(items, section)", (23, 27)),
        ("defines(on, section)", (21, 22)),
    ],
)
def test_keys_are_found_with_their_lines(check: str, lines: tuple[int, int] | None):
    """Block and flow collections, block scalars, aliases; keys are texts, also `on`."""
    held = verify(check)
    assert held.lines == lines
    assert held.holds is (True if lines else None)


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(base.debug, true)", "incomparable"),
        ("equals(base.debug, no)", "incomparable"),
        ("equals(base.debug, 5)", "incomparable"),
        ("compare(base.debug, !=, true)", "incomparable"),
        ("equals(base.mode, 17)", "incomparable"),
        ("equals(base.mode, 15)", "incomparable"),
        ("equals(base.clock, 90)", "incomparable"),
        ("equals(host, a)", "ambiguous"),
        ("equals(prod.port, 80)", "computed"),
        ("defines(prod.port)", "computed"),
        ("equals(prod.port, 81)", "computed"),
        ("equals(tagged, hidden)", "computed"),
        ("equals(items.1.name, x)", "computed"),
        ("equals(items.name, x)", "not-found"),
        ("equals(base, 1)", "incomparable"),
        ("defines(value)", "computed"),  # a key that no name leads to might have it
    ],
)
def test_what_readers_take_differently_stays_undecided(check: str, reason: HeldReason):
    """Booleans and numbers of YAML 1.1, merged keys, tags, templates, anchors that stand at several places."""
    assert verify(check) == Held(None, reason)


@pytest.mark.parametrize(
    "check",
    [
        "equals(base.port, 81)",
        "equals(prod.copy.port, 81)",
        "equals(on.push.branches, [main])",
        "compare(base.port, <, 80)",
    ],
)
def test_another_value_is_exactly_false(check: str):
    """Also through an alias."""
    held = verify(check)
    assert (held.holds, held.reason) == (False, "differs")


def test_a_key_that_is_not_there_is_exactly_so_in_a_plain_document():
    """Merge keys make that doubtful in their own mapping alone."""
    assert verify("defines(b)", "a: 1\n") == Held(False, "differs")
    text = "a: &a {x: 1}\nb: {<<: *a}\nc: {y: 1}\n"
    assert verify("defines(b.z)", text) == Held(None, "computed")
    assert verify("defines(c.z)", text) == Held(False, "differs")


def test_a_key_of_several_documents_is_ambiguous():
    """Unless lines tell which document is meant."""
    text = "kind: A\nname: x\n---\nkind: B\n...\n---\n- 1\n"
    assert verify("equals(kind, A)", text) == Held(None, "ambiguous")
    assert verify("equals(name, x)", text) == Held(True, None, (2, 2))
    assert verify("equals(kind, B)", text, (3, 4)) == Held(True, None, (4, 4))
    assert verify("defines(kind)", text).holds is True


def test_a_key_that_a_mapping_has_twice_is_ambiguous():
    """Readers take the first, the last, or none."""
    assert verify("equals(a, 1)", "a: 1\nb: 2\na: 1\n") == Held(None, "ambiguous")
    assert verify("equals(a, 1)", "1: x\n'1': y\na: 1") == Held(True, None, (3, 3))
    assert verify('equals("1", x)', "1: x\n'1': y\n") == Held(None, "ambiguous")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("~", None),
        ("NULL", None),
        ("''", ""),
        ("True", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("y", Doubtful("y", "incomparable")),
        ("Off", Doubtful("Off", "incomparable")),
        ("+12", 12),
        ("-0", 0),
        ("0x1F", 31),
        ("0o17", Doubtful("0o17", "incomparable")),
        ("0b11", Doubtful("0b11", "incomparable")),
        ("08", Doubtful("08", "incomparable")),
        ("1_000", Doubtful("1_000", "incomparable")),
        ("1e3", Doubtful("1e3", "incomparable")),
        ("190:20:30", Doubtful("190:20:30", "incomparable")),
        (".inf", Doubtful(".inf", "incomparable")),
        (".NaN", Doubtful(".NaN", "incomparable")),
        ("1.5e+3", 1500),
        ("5.", 5),
        ("2026-05-25T10:00:00Z", "2026-05-25T10:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("1.2.3.4:80", "1.2.3.4:80"),
        ("=", "="),
        ("!!int 3", Shape.HIDDEN),
        ("!!str yes", "yes"),
        ("!!binary aGk=", Shape.HIDDEN),
        ("!!python/object/apply:os.system ['x']", Shape.HIDDEN),
        ("9" * 500, Doubtful("9" * 500, "incomparable")),
    ],
)
def test_scalars_are_read_by_the_core_schema(text: str, content: Content):
    """Where both versions agree; else they are doubtful, and a tag that says more hides them."""
    assert parse_yaml(text).contents[0] == content


@pytest.mark.parametrize(
    "text",
    [
        "a: b: c",
        "a: [",
        "\tb: 1",
        "a: *nowhere",
        "'",
        "a: 1\n b: 2",
        "%YAML 3",
        "- 1\nb: 2",
        "a: \x07",
        "\ud800: 1",
        "@a: 1",
    ],
)
def test_an_error_anywhere_leaves_all_undecided(text: str):
    """Also an alias to an anchor that is not there, characters that YAML does not have, and half of one."""
    assert verify("defines(zzz)", text) == Held(None, "syntax-error")


def test_nothing_is_expanded():
    """The lists of lists of aliases that fill a memory are a thousand characters to read."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    text = "\n".join(lines)
    assert verify("equals(a39, [x])", text) == Held(None, "incomparable")
    assert verify("equals(a39.0.1.2.3, x)", text) == Held(None, "incomparable")
    assert verify(f"equals(a39{'.0' * 40}, x)", text).holds is True


def test_an_alias_to_what_it_stands_in_ends():
    """A name is used up step by step; it is read in as many ways as there are, each once."""
    text = "a: &a {x: *a, x.x: *a, x.x.x: *a, v: 1}\n"
    assert verify("defines(a" + ".x" * 60 + ")", text).holds is True
    assert verify("equals(a.x.x.v, 1)", text).holds is True
    assert verify("defines(a" + ".x" * 60 + ".y)", text).holds is False


def test_an_anchor_can_be_set_again():
    """An alias stands for the last node of that name before it."""
    text = "a: &n 1\nb: *n\nc: &n 2\nd: *n\n---\ne: *n\n"
    assert verify("equals(b, 1)", text).reason == "syntax-error"  # no anchor lasts beyond its document
    text = text.partition("---")[0]
    assert verify("equals(b, 1)", text).holds is True
    assert verify("equals(d, 2)", text).holds is True


def test_lines_are_counted_by_line_feeds_alone():
    """As everywhere else; YAML has more kinds of line ends."""
    assert verify("equals(b, 2)", 'a: "x\u2028y\x85z"\r\nb: 2\r\n') == Held(True, None, (2, 2))
    assert verify("equals(b, 2)", "\ufeffa: 1\nb: 2") == Held(True, None, (2, 2))


def test_extents_end_where_the_last_of_a_key_stands():
    """Not where the next one begins: comments and blank lines between belong to neither."""
    text = "a:\n  b: |\n    x\n\n\n# about c\nc: [1,\n  2]\nd: 'x\n\n  y'\n"
    document = parse_document(Source("x.yaml", text))
    assert document is not None
    assert document_extents(document, "a") == [(1, 3)]
    assert document_extents(document, "c") == [(7, 8)]
    assert document_extents(document, "d") == [(9, 11)]


def test_without_the_fast_parser_a_large_text_is_too_large(monkeypatch: pytest.MonkeyPatch):
    """The slow one reads the same, where a text is small."""
    monkeypatch.delattr(yaml, "CSafeLoader")
    monkeypatch.setattr(doc_yaml, "MAX_SLOW", 100)
    assert verify("equals(a, 1)", "a: 1\n").holds is True
    assert verify("equals(a, 1)", "a: 1\n" + "#" * 100) == Held(None, "too-large")


def back(tree: Tree, row: int) -> Any:
    """The value that the rows of a document make."""
    content = tree.contents[row]
    members = {key: child for (parent, key), child in tree.children.items() if parent == row}
    if content is Shape.MAPPING:
        return {key: back(tree, child) for key, child in members.items()}
    return [back(tree, child) for child in members.values()] if content is Shape.SEQUENCE else content


text = st.text(st.characters(codec="ascii", categories=["L", "Z"]), max_size=8).map(str.strip)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=10,
)


@given(values, st.booleans())
def test_what_the_library_writes_is_read_as_it_was(value: Any, flow: bool):
    """But for what is doubtful, which it writes in quotes."""
    tree = parse_yaml(yaml.safe_dump(value, default_flow_style=flow))
    assert back(tree, 0) == value or any(isinstance(content, Doubtful) for content in tree.contents)


@given(st.text(st.sampled_from("ab:-?[]{},&*!|>'\"#%@ \n1<"), max_size=40))
def test_no_text_is_more_than_unreadable(text: str):
    """Each row that is read stands on lines that are there."""
    try:
        tree = parse_yaml(text)
    except Unreadable:
        return
    for first, last in zip(tree.firsts, tree.lasts, strict=True):
        assert 1 <= first <= last <= text.count("\n") + 1
