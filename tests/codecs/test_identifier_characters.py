"""What identifiers may not hide: they stand outside the frame, and strangers choose them."""

import re

import pytest
from builders import emission_value, encoded, observation_value, review_value, sighting_value, text_value

from sluice.codecs import decode
from sluice.codecs import decode as fast_decode
from sluice.codecs.decode import decode_sighting
from sluice.codecs.errors import Fault
from sluice.codecs.identifiers import DID_PATTERN, hides, pointer_hides

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
        ("did:web:a#1", True),  # a DID URL: what comes out is its DID (test_dids.py)
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
