"""Elements of a document, however its bytes are cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.record.transcripts import transcript_lines
from sluice.record.transcripts.foreign_json import MAX_LINE
from sluice.record.transcripts.transcript_lines import elements

LISTS = frozenset({b"trajectory"})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('ab"\\[]{},:\n\u00e9')),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=3)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


@given(
    before=OBJECTS,
    listed=st.lists(OBJECTS, max_size=4),
    after=OBJECTS,
    places=st.lists(st.integers(0, 10_000), max_size=8),
    indent=st.sampled_from([None, 1]),
    bare=st.booleans(),
)
def test_the_objects_of_the_list_and_nothing_else(
    before: dict[str, Any],
    listed: list[dict[str, Any]],
    after: dict[str, Any],
    places: list[int],
    indent: int | None,
    bare: bool,
) -> None:
    document: object = listed if bare else {**before, "trajectory": listed, **{"z" + key: after[key] for key in after}}
    data = json.dumps(document, indent=indent).encode()
    found = list(elements(cut(data, places), LISTS, objects=False))
    assert [json.loads(each) for _, each in found] == listed
    for line, each in found:
        assert each.split(b"\n")[0] in data.split(b"\n")[line - 1]


@given(listed=st.lists(OBJECTS, min_size=1, max_size=3), size=st.integers(1, 3))
def test_pieces_of_some_bytes(listed: list[dict[str, Any]], size: int) -> None:
    data = json.dumps(listed).encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [json.loads(each) for _, each in elements(pieces, LISTS, objects=False)] == listed


@given(listed=st.lists(OBJECTS, max_size=4), places=st.lists(st.integers(0, 10_000), max_size=8))
def test_documents_one_after_another(listed: list[dict[str, Any]], places: list[int]) -> None:
    data = b"\n".join(json.dumps(each).encode() for each in listed)
    found = list(elements(cut(data, places), LISTS, objects=True))
    assert [json.loads(each) for _, each in found] == listed
    assert [line for line, _ in found] == list(range(1, len(listed) + 1))


@given(data=st.binary(max_size=60) | st.text(st.sampled_from('ab"\\[]{},:\n')).map(str.encode), objects=st.booleans())
def test_any_bytes_end(data: bytes, objects: bool) -> None:
    assert all(line >= 1 for line, _ in elements([data], LISTS, objects=objects))


def test_a_list_in_the_list_is_an_element() -> None:
    assert list(elements([b'["trajectory", [{"a": 1}]]'], LISTS, objects=False)) == [(1, b'[{"a": 1}]')]


@pytest.mark.parametrize("data", [b"hello", b'"text"', b"[", b'[{"a": 1}, ', b'{"trajectory": [{}', b'{"a": ['])
def test_what_is_no_document_or_is_cut_gives_something_that_is_no_json(data: bytes) -> None:
    *_, (_, last) = elements([data], LISTS, objects=True)
    with pytest.raises(ValueError):
        json.loads(last if last != b'"text"' else b"")


def test_an_element_that_is_too_long_is_cut_to_the_bound_and_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_LINE == 64 * 1024 * 1024
    monkeypatch.setattr(transcript_lines, "MAX_LINE", 20)
    pieces = [b'[{"a": "', b"x" * 15, b"y" * 15, b'"}, {"b": 1}]']
    assert [(len(each), each[:1]) for _, each in elements(pieces, LISTS, objects=False)] == [(21, b"{"), (8, b"{")]
