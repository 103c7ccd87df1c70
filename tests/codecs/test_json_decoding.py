"""Numbers of strangers: read as msgspec reads them, each at a cost of its length."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from time import process_time
from typing import Any

import msgspec
import pytest
from builders import GREP, encoded, observation_value, sighting_value
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.canonical import CanonicalError, parse_json
from sluice.codecs.decode import decode_observation, decode_sighting, read_observation
from sluice.codecs.errors import Fault
from sluice.codecs.json_text import decode_any
from sluice.streams.adjudication.compiled import _objects

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
