"""JSON from outside: its nesting, why a text is none, and numbers that cost no more than their length."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from time import process_time
from typing import Any

import msgspec
import pytest
from builders import GREP, emission_value, encoded, observation_value, sighting_value
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.canonical import CanonicalError, parse_json
from sluice.codecs.decode import decode_emission, decode_observation, decode_sighting, read_observation
from sluice.codecs.errors import Fault
from sluice.codecs.json_text import MAX_NESTING, decode_any, deeper_than, repeated_member
from sluice.streams.adjudication.compiled import _objects

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='ab"\\[]{}é'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='k"\\[{', max_size=3), inner, max_size=4)
    ),
    max_leaves=30,
)


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(VALUES, st.integers(0, 6), st.booleans())
def test_depth_is_that_of_the_decoded_value(value: Any, levels: int, ascii_only: bool) -> None:
    """Brackets in strings and keys, escaped or not, do not count; arrays and objects do."""
    data = json.dumps(value, ensure_ascii=ascii_only).encode()

    assert deeper_than(levels, data) == (depth_of(value) > levels)


def test_the_bound_itself_is_not_too_deep() -> None:
    """A text nested exactly as deep as allowed passes; one level more does not."""
    assert not deeper_than(MAX_NESTING, b"[" * MAX_NESTING + b"]" * MAX_NESTING)
    assert deeper_than(MAX_NESTING, b"[" * (MAX_NESTING + 1) + b"]" * (MAX_NESTING + 1))


def test_a_string_that_never_closes_takes_linear_time() -> None:
    """A megabyte of escaped quotes in an open string is read once, not once a quote."""
    data = b"[" * (MAX_NESTING + 1) + b'"' + b'\\"' * 500_000

    assert deeper_than(MAX_NESTING, data)
    assert not deeper_than(MAX_NESTING + 1, b"]" + data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (rb'{"text": "a \ud800 b"}', r"a text holds the lone surrogate \ud800"),
        (rb'{"text": "a \uD83D"}', r"a text holds the lone surrogate \uD83D"),
        (rb'{"text": "\ude00\ud83d"}', r"a text holds the lone surrogate \ude00"),
        (rb'{"text": "\ud83d\u0041"}', r"a text holds the lone surrogate \ud83d"),
        (rb'{"\ud83d": 1}', r"a text holds the lone surrogate \ud83d"),
        (rb'{"text": "\ud83d\ude00 \\ud800"', "Input data was truncated"),
        (b'\xef\xbb\xbf{"text": "a"}', "it begins with a byte order mark"),
        (b'\xff\xfe{\0"\0', "it is UTF-16; JSON is UTF-8"),
        (b'{"text": "\xff"}', "octet 10 is not UTF-8"),
        (b'{"text": "a"', "Input data was truncated"),
        (b"{'text': 1}", "object keys must be strings"),
    ],
)
def test_a_text_that_is_no_json_is_refused_with_a_true_reason(data: bytes, why: str) -> None:
    found = decode_emission(data)

    assert isinstance(found, Fault)
    assert found.reason == "not-json"
    assert why in found.detail


def test_a_whole_pair_of_surrogates_is_a_character() -> None:
    """Its escapes are no fault, whatever is wrong elsewhere."""
    value = msgspec.json.encode(emission_value(text="It is so")).replace(b"It", rb"\ud83d\ude00t")

    assert not isinstance(decode_emission(value), Fault)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'{"a": 1, "b": 2}', None),
        (b'{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}', None),
        (b'{"a": 1, "b": [{"c": 1, "c": 2}]}', "c"),
        (rb'{"a": 1, "\u0061": 2}', "a"),
        (b'{"a": ' + b"9" * 10_000 + b', "a": 1}', "a"),
        (b'{"a": 1, "a"', None),
        (b"[" * 100_000, None),
        (b"\xff", None),
    ],
)
def test_a_member_that_occurs_twice_is_found(data: bytes, name: str | None) -> None:
    assert repeated_member(data) == name


LITERALS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


def answer(decode: Any, data: bytes) -> object:
    try:
        return repr(decode(data))
    except msgspec.ValidationError as error:
        return str(error)


@given(LITERALS)
def test_numbers_are_read_and_refused_as_msgspec_does(literal: str) -> None:
    """The same value to the last bit, and the same words where a number is too large."""
    data = f'{{"a": [{literal}]}}'.encode()
    assert answer(decode_any, data) == answer(msgspec.json.decode, data)


READERS: dict[str, Any] = {
    "observation": (decode_observation, observation_value(GREP, detail={"a": "HERE"})),
    "observation in the fold": (read_observation, observation_value(GREP, detail={"a": "HERE"})),
    "sighting": (decode_sighting, sighting_value(detail={"a": "HERE"})),
    "a faulty record": (decode_observation, {"detail": {"a": "HERE"}, "observer": 1}),
    "attestation": (_objects.decode, {"a": "HERE"}),
    "canonical form": (parse_json, {"a": "HERE"}),
}


@pytest.mark.parametrize("reader", READERS)
def test_no_number_costs_a_hundred_times_what_another_does(reader: str) -> None:
    """A record of nothing but such numbers took 2 s."""
    decode, value = READERS[reader]

    def seconds(literal: bytes) -> float:
        data = encoded(value).replace(b'"HERE"', b"[" + b",".join([literal] * 5_000) + b"]")
        began = process_time()
        decode(data)
        return process_time() - began

    plain = min(seconds(b"0.25") for _ in range(3))
    for literal in (b"1e308", b"5e-324", b"1.7976931348623157e308", b"2.2250738585072011e-308"):
        assert min(seconds(literal) for _ in range(3)) < 40 * plain + 0.005, literal


@given(LITERALS)
def test_what_would_be_rounded_has_no_canonical_form(literal: str) -> None:
    """Digits that a double beyond 2^53 does not have are told, however the number is written."""
    with suppress(CanonicalError):
        number = parse_json(literal)
        if isinstance(number, float) and abs(number) > 2**53:
            assert Decimal(literal) == Decimal(repr(number))
            return
    if "." in literal or "e" in literal.lower():
        number = float(literal)
        if 2**53 < abs(number) < float("inf") and Decimal(literal) == Decimal(repr(number)):
            assert parse_json(literal) == number


def test_a_number_too_large_is_a_fault_of_its_place() -> None:
    """As before: the record is refused, with the member's path."""
    found = decode_sighting(encoded(sighting_value(content=1)).replace(b'"content":1', b'"content":1e400'))
    assert found == Fault("schema", "$.content: number out of range")
