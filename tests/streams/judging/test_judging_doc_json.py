"""JSON read strictly: exact numbers, lines of keys, and nothing that RFC 8259 does not have."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.doc_json import parse_json
from sluice.streams.judging.doc_tree import Content, Doubtful, Shape, Tree, Unreadable


def back(tree: Tree, row: int = 0) -> Any:
    """The value that the rows of a document make."""
    content = tree.contents[row]
    members = [(key, tree.children[row, key]) for key in _keys(tree, row)]
    if content is Shape.MAPPING:
        return {key: back(tree, member) for key, member in members}
    return [back(tree, member) for _, member in members] if content is Shape.SEQUENCE else content


def _keys(tree: Tree, row: int) -> list[str | int]:
    return [key for (parent, key) in tree.children if parent == row]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(st.characters(codec="ascii"), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="ascii")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values, st.sampled_from([None, 0, 2]))
def test_every_value_is_read_as_it_was_written(value: Any, indent: int | None):
    """Whatever the white space."""
    assert back(parse_json(json.dumps(value, indent=indent))) == value


@given(st.text(st.sampled_from('{}[]",:0123456789.eE+-truefalsn \n\\u/'), max_size=30))
def test_exactly_what_is_json_is_read(text: str):
    """The standard library's reader, without its extensions, takes the same texts."""
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
        expected = True
    except (ValueError, ZeroDivisionError):
        expected = False
    try:
        parse_json(text)
        read = True
    except Unreadable:
        read = False
    assert read == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "[1,]", '{"a":1,}', "{'a':1}", "{a:1}", "[1 2]", "01", "+1", ".5", "1.", "0x1", "NaN"),
        *("-Infinity", "[Infinity]", "// c\n1", "/* c */1", '"a\nb"', '"\\x41"', '"a', "tru", "1 1", "[}", '{"a"}'),
        *('{"a":}', "[1", '{"a":1', "]", "\ufeff1", '{"a":1]', "[,]", "{,}", '{"a" 1}', '"\\u12"', '"\t"', "[1}"),
    ],
)
def test_what_is_no_json_is_a_syntax_error(text: str):
    """Extensions of readers are none: comments, commas at the end, `NaN`, single quotes."""
    with pytest.raises(Unreadable) as error:
        parse_json(text)
    assert error.value.reason == "syntax-error"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("0.1", Decimal("0.1")),
        ("1.0", 1),
        ("100e-2", 1),
        ("1E3", 1000),
        ("-0", 0),
        ("9007199254740993", 9007199254740993),
        ("1e400", 10**400),
        ("1e401", Doubtful("1e401", "incomparable")),
        ("1e99999999999999999999", Doubtful("1e99999999999999999999", "incomparable")),
        ("9" * 401, Doubtful("9" * 401, "incomparable")),
        ('"\\u00e9\\n"', "é\n"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud83d"', Shape.HIDDEN),  # half a character is no text
    ],
)
def test_numbers_are_exact_and_texts_whole(text: str, content: Content):
    """No number goes through a float; one that no check can write down is doubtful."""
    assert parse_json(text).contents == [content]


def test_each_key_has_the_lines_from_its_name_to_the_end_of_its_value():
    """Also where the value begins on a later line, or a text looks like a key."""
    text = '{\n"a"\n:\n[\n1,\n2\n],\n"b": "\\n\\"c\\": 1",\n"d": {}, "e": {"f": 1\n}\n}'
    tree = parse_json(text)
    lines = {key: (tree.firsts[row], tree.lasts[row]) for row, key in enumerate(tree.keys)}
    assert lines == {
        "": (1, 11),
        "a": (2, 7),
        0: (5, 5),
        1: (6, 6),
        "b": (8, 8),
        "d": (9, 9),
        "e": (9, 10),
        "f": (9, 9),
    }


def test_a_name_that_a_mapping_has_twice_is_kept_as_such():
    """All rows of the name are marked, also the first."""
    tree = parse_json('{"a": 1, "b": {"a": 2}, "a": 3, "a": 4}')
    assert {tree.contents[row] for row in tree.repeated} == {1, 3, 4}
    assert len(parse_json('{"a": 1, "\\u0061": 2}').repeated) == 2  # however it is written
