"""Digests of records, the characters of identifiers, and spans with their keys."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import pytest
from builders import emission_value, encoded, observation_value, review_value, sighting_value, text_value
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import decode
from sluice.codecs import decode as fast_decode
from sluice.codecs.decode import decode_sighting
from sluice.codecs.errors import Fault
from sluice.codecs.identifiers import (
    DID_PATTERN,
    LAST_OFFSET,
    Span,
    chars_key,
    digest_of,
    hides,
    is_digest,
    names,
    parse_span_key,
    pointer_hides,
    resolve_pointer,
    span_key,
)


@given(st.binary(max_size=50), st.binary(max_size=50), st.integers(1, 32))
def test_a_digest_names_its_record_alone(record: bytes, other: bytes, length: int) -> None:
    """By as many first bytes of the hash as are remembered."""
    digest = digest_of(record)

    assert is_digest(digest)
    assert names(digest, sha256(record).digest()[:length])
    assert names(digest, sha256(other).digest()) == (record == other)


@pytest.mark.parametrize(
    "text", ["", "sha256:", "sha256:" + "AB" * 32, "sha512:" + "ab" * 32, "sha256:" + "ab" * 32 + "\n"]
)
def test_anything_else_is_no_digest(text: str) -> None:
    """Upper case and line ends included: one record has one digest."""
    assert not is_digest(text)


NOW = "2026-11-21T09:00:00Z"
HIDING = [
    "a%20b",  # white space
    "a%09b",
    "a%0Ab",  # a control
    "a%7F",
    "%E2%80%8B",  # what is not ASCII, or not shown
    "%D0%B0",
    "%69gnore",  # a letter, which needs no encoding
    "a%2Eb",
    "a%2520b",  # twice
    "a%2541",
    "a%3Ab",  # what an identifier may have as it is
    "a%2Fb",
    "a%2fb",
    "a%2Bb",
    "a%3Db",
    "a%40b",
    "a%7Eb",
    "a%2D",
]
ONCE_PLAIN = ["a%2Fb", "a%3Ab", "a%2Bb", "a%3Db", "a%40b"]
"""What was taken before fold version 4."""
PLAIN = [
    "a",
    "a%3Cb",
    "a%25",
    "a%25zz",
    "a%22",
    "a%5B%5d",
    "a%2C",
    "a%60",
    "a%7C",
    "a:b/c+d=e@f",
    "%",
    "100%",
    "a%zz",
    "a%2",
    "a%%25",
]


@pytest.mark.parametrize("name", HIDING)
def test_what_hides_something_is_a_schema_fault(name):
    """Wherever a stranger chooses a name."""
    assert hides(name)
    records = [
        fast_decode.read_emission(encoded(emission_value(emission_id=name))),
        fast_decode.read_emission(encoded(emission_value(group=name))),
        fast_decode.read_emission(encoded(emission_value(emitter={"system": name}))),
        fast_decode.read_emission(encoded(emission_value(contexts={name: "x"}))),
        fast_decode.read_emission(
            encoded(
                emission_value(
                    assertions=[
                        {
                            "span": {"chars": [0, 9]},
                            "provenance": {"substrate_class": "substrate.grep", "observation_id": name, "ts": NOW},
                        }
                    ]
                )
            )
        ),
        fast_decode.read_emission(
            encoded(emission_value(assertions=[{"span": {"tokens": [0, 9], "tokenizer": name}}]))
        ),
        fast_decode.read_observation(encoded(observation_value(observer=name))),
        fast_decode.read_observation(encoded(observation_value(observation_id=name))),
        fast_decode.read_observation(
            encoded(observation_value(subject={"emission_id": name, "span": {"chars": [0, 9]}}))
        ),
        decode.decode_review(encoded(review_value(emission_id=name))),
        decode_sighting(encoded(sighting_value(at=NOW, observer=name))),
    ]
    assert [record.reason for record in records if isinstance(record, Fault)] == ["schema"] * len(records)


@pytest.mark.parametrize("name", PLAIN)
def test_other_names_stay(name):
    """What needs its encoding, and a percent sign that encodes nothing."""
    assert not hides(name)
    assert not pointer_hides(name)
    assert not isinstance(fast_decode.read_emission(encoded(emission_value(emission_id=name))), Fault)
    assert not isinstance(fast_decode.read_observation(encoded(observation_value(observer=name))), Fault)


def test_a_pointer_names_a_member_whatever_it_is_called():
    """It is no name of its own, and its key encodes the percent sign."""
    said = encoded(emission_value(text='{"50%": "It is so."}', assertions=[{"span": {"path": "/50%"}}]))
    read = fast_decode.read_emission(said)
    assert not isinstance(read, Fault)
    assert read.assertions is not None
    assert read.assertions[0].span_key == "p:/50%25"


@pytest.mark.parametrize("written", ["a%2520b", "a%253Ab"])
def test_an_in_line_name_that_hides_something_makes_the_group_unknown(written):
    """Its value is decoded once; what is hidden below that is no id."""
    said = f"It is so. [substrate.grep; observation-id={written}; ts=2026-11-21T09:00:00Z]"
    read = fast_decode.read_emission(encoded(text_value(text=said, at=NOW)))
    assert not isinstance(read, Fault)
    assert read.assertions is not None
    (annotation,) = read.assertions[0].annotations
    assert annotation.observation_id is None
    assert annotation.unknown


@pytest.mark.parametrize(
    ("did", "is_one"),
    [
        ("did:web:university.example", True),
        ("did:web:university.example%3A8080:a", True),
        ("did:key:z6Mkf5rGMoatrSj1f4CyvuHBeXJELe9RPdzo2PKGNCKVtZxP", True),
        ("did:web:a#1", True),  # a DID URL: what comes out is its DID
        ("did:web:a%2Eb", True),
        ("did:web:a%20ignore%20all", False),
        ("did:web:a%0A", False),
        ("did:web:a%7F", False),
        ("did:web:%E2%80%AE", False),
        ("did:web:a%2520b", False),
        ("did:web:a%zz", False),
        ("did:web:", False),
        ("DID:web:a", False),
        ("did:web:" + "a" * 600, False),
    ],
)
def test_a_did_has_its_own_grammar(did, is_one):
    """And the same rule for what is encoded, but that its one spelling undoes what need not be."""
    assert (re.search(DID_PATTERN, did) is not None) == is_one


OFFSETS = st.tuples(st.integers(0, LAST_OFFSET - 1), st.integers(1, 1000)).map(
    lambda pair: (pair[0], min(sum(pair), LAST_OFFSET))
)
NAMES = st.from_regex(r"[A-Za-z0-9._~:/+=@%-]{1,20}", fullmatch=True)
POINTERS = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5).map(
        lambda name: "/" + name.replace("~", "~0").replace("/", "~1")
    ),
    max_size=4,
).map("".join)
SPANS = st.one_of(
    st.builds(Span, chars=OFFSETS), st.builds(Span, tokens=OFFSETS, tokenizer=NAMES), st.builds(Span, path=POINTERS)
)


@given(SPANS)
def test_a_key_names_one_span(span: Span) -> None:
    """Every well-formed span comes back from its key."""
    assert span.problem() is None
    assert span.in_range(None)
    assert parse_span_key(span_key(span)) == span


@given(
    st.text(alphabet="ctp:0123456789-/ab%~ ", max_size=12)
    | st.builds("{}{}".format, SPANS.map(span_key), st.text(max_size=1))
)
def test_a_span_has_one_key(key: str) -> None:
    """What is read as a key is the canonical one: no zeros in front, no other way to encode, no empty range."""
    span = parse_span_key(key)

    assert span is None or (span_key(span) == key and span.problem() is None and span.in_range(None))


def test_keys_are_those_of_the_contract() -> None:
    """They stand in every output's Kafka key, so they never change."""
    assert span_key(Span(chars=(0, 43))) == "c:0-43"
    assert span_key(Span(tokens=(3, 9), tokenizer="name")) == "t:name:3-9"
    assert span_key(Span(path="/a/b")) == "p:/a/b"
    assert span_key(Span(path="")) == "p:"
    assert span_key(Span(path="/a b/~0#%é/-._~0")) == "p:/a%20b/~0%23%25%C3%A9/-._~0"


@pytest.mark.parametrize(
    "span",
    [
        Span(),
        Span(chars=(0, 1), path="/a"),
        Span(chars=(0, 1), tokens=(0, 1), tokenizer="x"),
        Span(tokens=(0, 1)),
        Span(chars=(0, 1), tokenizer="x"),
        Span(path="a"),
        Span(path="/a~"),
        Span(path="/a~2"),
    ],
)
def test_a_span_is_exactly_one_form(span: Span) -> None:
    """What it is instead is told with what was expected."""
    problem = span.problem()

    assert problem is not None
    assert all(problem)


@pytest.mark.parametrize(
    ("span", "length", "inside"),
    [
        (Span(chars=(0, 3)), 3, True),
        (Span(chars=(0, 4)), 3, False),
        (Span(chars=(0, 4)), None, True),
        (Span(chars=(2, 2)), 3, False),
        (Span(chars=(3, 2)), 3, False),
        (Span(chars=(-1, 2)), 3, False),
        (Span(chars=(0, LAST_OFFSET + 1)), None, False),
        (Span(tokens=(0, 40), tokenizer="x"), 3, True),
        (Span(tokens=(5, 5), tokenizer="x"), None, False),
        (Span(path="/a"), 0, True),
    ],
)
def test_offsets_lie_in_the_text(span: Span, length: int | None, inside: bool) -> None:
    """Ordered, not empty, and no further than the text, where its length is known."""
    assert span.in_range(length) is inside


@given(
    st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
)
def test_pointers_lead_to_every_place(document: Any) -> None:
    """Each value of a document is found by the pointer built on the way to it (RFC 6901)."""
    places: list[tuple[str, Any]] = [("", document)]
    while places:
        pointer, value = places.pop()
        assert resolve_pointer(document, pointer) is value
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        places += [(f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}", each) for name, each in inner]


@pytest.mark.parametrize("pointer", ["/b", "/a/2", "/a/-", "/a/01", "/a/ 0", "/a/0/x", "/a/-1", "/a/٠"])
def test_a_pointer_to_nothing_raises(pointer: str) -> None:
    """Members and elements that are not there are errors, not None."""
    with pytest.raises(LookupError):
        resolve_pointer({"a": [1, 2]}, pointer)


@given(
    st.builds(
        Span,
        chars=st.none() | st.tuples(st.integers(-2, 12) | st.just(LAST_OFFSET), st.integers(-2, 12)),
        tokens=st.none() | st.just((0, 1)),
        tokenizer=st.none() | st.just("x"),
        path=st.none() | st.just("/a"),
    )
    | st.builds(
        Span, chars=st.tuples(st.integers(-1, 9), st.integers(0, 12) | st.integers(LAST_OFFSET, LAST_OFFSET + 1))
    ),
    st.integers(0, 10) | st.just(LAST_OFFSET + 5),
)
def test_the_short_way_to_a_key_is_for_good_spans_of_characters_only(span: Span, length: int) -> None:
    """It gives the key exactly where the span is of characters, well formed and in range."""
    good = span.chars is not None and span.problem() is None and span.in_range(length)

    assert chars_key(span, length) == (span_key(span) if good else None)


@pytest.mark.parametrize("pointer", ["/a b", "/ä", "/a\nb", "/\u200b", "/a%20b", "/%41", "/" + "a" * 256])
def test_a_pointer_that_hides_a_text_is_told(pointer: str) -> None:
    """It stands outside the frame: ASCII without white space, and nothing encoded that is none of it."""
    hidden = Span(path=pointer).hidden()
    assert hidden is not None
    assert "ASCII" in hidden[0]


@pytest.mark.parametrize("pointer", ["", "/", "/a/b", "/assertions/0", "/a~1b", '/"a"', "/a%3Cb", "/%"])
def test_other_pointers_are_names(pointer: str) -> None:
    assert Span(path=pointer).hidden() is None
