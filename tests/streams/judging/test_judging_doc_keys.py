"""Keys of documents: which of them a name means, and what a check on one comes to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.documents import document_extents, parse_document, verify_document, verify_json_value
from sluice.streams.judging.results import Held, HeldReason, Source

CONFIG = """\
{
  "name": "tool",
  "version": "1.2.3",
  "limits": {"timeout": 30, "ratio": 0.50, "names": ["a", "b"], "matrix": [[1, 2], [3]]},
  "server": {"host": "localhost", "on": true, "tags": [{"id": 7}, {"id": 8}]},
  "client": {"host": "remote", "retries": null},
  "editor.size": 4,
  "paths": {"/users": {"get": 1}},
  "dependencies": {"lodash.merge": "^4.6"},
  "twice": 1,
  "twice": 2,
  "again": {"one": 1},
  "again": {"two": 2},
  "a.b": 3,
  "a": {"b": 4},
  "x/y": {"m~n": 5},
  "port": "${PORT}",
  "list": [1, {"a": 1}],
  "$schema": "s"
}
"""


def verify(
    check: str, text: str = CONFIG, path: str = "x.json", lines: tuple[int, int] | None = None, whole: bool = True
) -> Held:
    """What a check comes to in a document."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines, whole)
    document = parse_document(source)
    assert document is not None
    return verify_document(parsed, document, source)


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ("equals(name, tool)", 2),
        ("equals(version, 1.2.3)", 3),
        ("equals(limits.timeout, 30)", 4),
        ("equals(timeout, 30)", 4),
        ("equals(ratio, 0.5)", 4),
        ("equals(names, [a, b])", 4),
        ("equals(limits.names.1, b)", 4),
        ('equals("limits.names[0]", a)', 4),
        ('equals("matrix[0][1]", 2)', 4),
        ("equals(matrix, [[1, 2], [3]])", 4),
        ("equals(server.tags.1.id, 8)", 5),
        ('equals("tags[0].id", 7)', 5),
        ("equals(/server/tags/0/id, 7)", 5),
        ("equals(server.on, true)", 5),
        ("equals(retries, null)", 6),
        ("equals(editor.size, 4)", 7),
        ("equals(paths./users.get, 1)", 8),
        ("equals(/users.get, 1)", 8),
        ('equals(dependencies.lodash.merge, "^4.6")', 9),
        ('equals(lodash.merge, "^4.6")', 9),
        ("equals(/a.b, 3)", 14),
        ("equals(/a/b, 4)", 15),
        ('equals("/x~1y/m~0n", 5)', 16),
        ("equals($schema, s)", 19),
        ("equals($.limits.timeout, 30)", 4),
        ("equals(.limits.timeout, 30)", 4),
        ("compare(timeout, >=, 30)", 4),
        ("compare(version, <, 1.10.0)", 3),
        ("compare(name, !=, other)", 2),
        ("equals(host, remote, in=client)", 6),
        ("defines(host)", 5),
        ("defines(twice)", 10),
        ("defines(limits, section)", 4),
        ("defines(tags, section)", 5),
        ('defines("/x~1y")', 16),
    ],
)
def test_a_key_is_found_however_its_path_is_written(check: str, line: int):
    """Dotted paths, places in lists, JSON Pointers, keys with dots in them, and keys by their own name alone."""
    assert verify(check) == Held(True, None, (line, line))


@pytest.mark.parametrize(
    "check",
    [
        "equals(timeout, 31)",
        "equals(limits.timeout, 3)",
        'equals(timeout, "forty")',
        "equals(names, [a])",
        "equals(server.on, false)",
        "equals(retries, 0)",
        "compare(timeout, >, 30)",
        "compare(name, !=, tool)",
        "equals(port, 80, in=client)",
    ],
)
def test_a_key_with_another_value_is_exactly_false(check: str):
    """Only where the key is there: the last one asks for a key that is not, and only fails."""
    held = verify(check)
    expected = (None, "not-found") if "client" in check else (False, "differs")
    assert held[:2] == expected


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(nowhere, 1)", "not-found"),
        ("equals(server.nowhere, 1)", "not-found"),
        ("equals(host, localhost)", "ambiguous"),  # two of them
        ("equals(twice, 1)", "ambiguous"),  # one mapping has it twice
        ("equals(twice, 2)", "ambiguous"),
        ("equals(again.one, 1)", "ambiguous"),  # most readers see the second mapping only
        ("equals(again.three, 1)", "ambiguous"),
        ("equals(a.b, 3)", "ambiguous"),  # a key with a dot, and a path
        ("equals(a.b, 4)", "ambiguous"),
        ("equals(limits, 1)", "incomparable"),
        ("equals(tags, [1])", "incomparable"),
        ("equals(list, [1, 2])", "incomparable"),
        ("compare(name, <, 3)", "incomparable"),
        ("equals(port, 80)", "computed"),
        ("equals(host, localhost, in=nowhere)", "not-found"),
        ("equals(host, localhost, in=twice)", "ambiguous"),
        ("equals(tags.id, 7)", "not-found"),
        ("defines(tags.id)", "not-found"),  # perhaps that of an item is meant
        ("defines(again.three)", "ambiguous"),
        ("defines(name, function)", "unlisted-language"),
        ("defines(name, variable)", "unlisted-language"),
        ("defines(\"server['port']\")", "not-found"),  # a notation that is not read
        ("calls(a, b)", "unlisted-language"),
    ],
)
def test_what_is_not_reported_exactly_stays_undecided(check: str, reason: HeldReason):
    """Several keys of one name, keys that readers take differently, values without an order, other notations."""
    assert verify(check) == Held(None, reason)


@pytest.mark.parametrize(
    "check",
    [
        "defines(nowhere)",
        "defines(server.nowhere)",
        "defines(name, section)",
        "defines(timeout, in=server)",
        "defines(/server/nowhere)",
        "defines(Name)",
    ],
)
def test_a_document_without_the_key_does_not_define_it(check: str):
    """A complete document is read whole, so that a key is not there is exact."""
    assert verify(check) == Held(False, "differs")


def test_a_placeholder_is_only_what_is_written():
    """`${PORT}` is that text, and nothing exact is said of the port."""
    assert verify('equals(port, "${PORT}")').holds is True
    assert verify('compare(port, !=, "${PORT}")').holds is False
    assert verify("compare(port, !=, 80)") == Held(None, "computed")


def test_a_path_from_the_top_goes_before_the_same_key_elsewhere():
    """A nested key of the name does not make the one at the top ambiguous."""
    text = '{"nested": {"version": 2}, "version": 1}'
    assert verify("equals(version, 1)", text).holds is True
    assert verify("equals(version, 2)", text).holds is False


def test_a_path_that_only_begins_at_the_top_is_not_looked_for_elsewhere():
    """The server's time-out is not that of the backup's server."""
    text = '{"server": {"port": 1}, "backup": {"server": {"timeout": 30}}}'
    assert verify("equals(server.timeout, 30)", text) == Held(None, "ambiguous")
    assert verify("defines(server.timeout)", text) == Held(None, "ambiguous")
    assert verify("equals(backup.server.timeout, 30)", text).holds is True


def test_a_key_in_a_list_of_mappings_is_found_by_its_own_name():
    """Where the document is a list, and where one stands in it."""
    assert verify("equals(name, x)", '[{"name": "x"}]').holds is True
    assert verify("equals(name, x)", '{"a": [1, {"name": "x"}]}').holds is True
    assert verify("equals(0.name, x)", '[{"name": "x"}, {"name": "y"}]').holds is True
    assert verify("equals(name, x)", '[{"name": "x"}, {"name": "y"}]') == Held(None, "ambiguous")
    assert verify("defines(nowhere)", '[{"name": "x"}]') == Held(False, "differs")


def test_lines_say_which_of_several_keys_is_meant():
    """Only keys that stand in the region count, also for `defines`."""
    assert verify("equals(host, remote)", lines=(6, 8)) == Held(True, None, (6, 6))
    assert verify("equals(host, remote)", lines=(1, 5)) == Held(False, "differs", (5, 5))
    assert verify("equals(host, remote)", lines=(1, 8)) == Held(None, "ambiguous")
    assert verify("defines(host)", lines=(7, 9)) == Held(False, "differs")
    assert verify("equals(name, tool)", lines=(3, 4)) == Held(None, "not-found")


def test_text_that_goes_on_only_bears_out_what_is_defined():
    """Behind a cut there may be another value, or the rest of this one."""
    text = "a: 1\nb: 30"
    assert verify("equals(b, 30)", text, "x.yaml", whole=False) == Held(None, "not-whole")
    assert verify("equals(a, 2)", text, "x.yaml", whole=False) == Held(None, "not-whole")
    assert verify("defines(c)", text, "x.yaml", whole=False) == Held(None, "not-whole")
    assert verify("defines(b)", text, "x.yaml", whole=False) == Held(None, "not-whole")
    assert verify("defines(a)", text, "x.yaml", whole=False).holds is True


def test_names_are_compared_in_one_normal_form():
    """A key in another form of Unicode is the same key, and two such keys of one mapping are one key twice."""
    assert verify('equals("caf\\u00e9", 1)', '{"cafe\u0301": 1}').holds is True
    assert verify('equals("caf\\u00e9", 1)', '{"cafe\u0301": 1, "caf\u00e9": 2}') == Held(None, "ambiguous")


def test_extents_are_the_lines_of_a_key_and_all_below_it():
    """Each key of the name has its own; a name that leads nowhere has none."""
    text = '{\n  "a": {\n    "b": [\n      1\n    ]\n  },\n  "c": {"b": 1}\n}\n'
    document = parse_document(Source("x.json", text))
    assert document is not None
    assert document_extents(document, "a") == [(2, 6)]
    assert document_extents(document, "a.b") == [(3, 5)]
    assert document_extents(document, "b") == [(3, 5), (7, 7)]
    assert document_extents(document, "nowhere") == []


# ---------------------------------------------------------------- values without a text


def decided(check: str, value: Any) -> Held:
    """What a check comes to over a decoded value."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    return verify_json_value(parsed, value, "tool")


@pytest.mark.parametrize(
    ("check", "holds", "reason"),
    [
        ("equals(a.b, 1)", True, None),
        ("equals(/a/b, 1)", True, None),
        ("equals(a.b, 2)", False, "differs"),
        ("equals(b, 1)", True, None),
        ("compare(f, >, 0.1)", True, None),
        ("equals(f, 0.25)", True, None),
        ("equals(l.1.x, y)", True, None),
        ("equals(n, null)", True, None),
        ("equals(t, true)", True, None),
        ("equals(nan, 1)", None, "incomparable"),
        ("equals(odd, 1)", None, "computed"),
        ("equals(template, 80)", False, "differs"),
        ("equals(missing, 1)", None, "not-found"),
        ("defines(missing)", False, "differs"),
        ("defines(a)", True, None),
        ("equals(b, 1, in=a)", True, None),
        ("equals(b, 1, lines=1-2)", None, "not-found"),
        ("imports(a)", None, "unlisted-language"),
    ],
)
def test_a_decoded_value_is_judged_as_a_document(check: str, holds: bool | None, reason: HeldReason | None):
    """It has no lines, its texts are what they are, and it is whole."""
    value: dict[str, Any] = {"a": {"b": 1}, "f": 0.25, "l": [1, {"x": "y"}], "n": None, "t": True}
    value |= {"nan": float("nan"), "odd": object(), "template": "${PORT}"}
    held = decided(check, value)
    assert (held.holds, held.reason, held.lines) == (holds, reason, None)


def test_values_that_never_end_are_too_large():
    """Neither a value within itself nor a million items are followed."""
    endless: list[Any] = []
    endless.append(endless)
    assert decided("equals(a, 1)", endless).reason == "too-large"
    assert decided("equals(a, 1)", {"a": list(range(1_000_000))}).reason == "too-large"
    assert decided("equals(a, 1)", {"a": 10**5000}).reason == "computed"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(
    json_values,
    st.sampled_from(["equals(a, 1)", "defines(a)", "equals(a.0, 1)", "compare(/a/b, <, 3)", "defines(a.b, in=a)"]),
)
def test_a_value_and_its_text_come_to_the_same(value: Any, check: str):
    """Whether JSON is decoded by somebody else makes no difference, but for placeholders and lines."""
    read, decoded = verify(check, json.dumps(value)), decided(check, value)
    assert (read.holds, read.reason) == (decoded.holds, decoded.reason) or "$" in json.dumps(value)
