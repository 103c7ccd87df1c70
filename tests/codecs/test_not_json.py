"""Why some bytes are not JSON, and which members occur twice."""

from __future__ import annotations

import msgspec
import pytest
from builders import emission_value

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.json_text import repeated_member


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
