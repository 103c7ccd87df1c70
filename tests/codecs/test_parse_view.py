"""What `sluice parse` prints is the JSON form, and says what is terminal and what is unknown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.decode import decode_emission
from sluice.codecs.inline import parsed_form
from sluice.codecs.records import Emission
from sluice.codecs.times import parse_time

FULL: dict[str, Any] = {
    "emission_id": "em-1",
    "emitted_at": 1_779_968_400_000,
    "emitter": {"system": "bot"},
    "effect": "external",
    "vocabulary": "1.0",
    "text": "It is. It was.",
    "assertions": [
        {
            "span": {"chars": [0, 6]},
            "assertion": "It is.",
            "kind": "denial",
            "provenance": {"substrate_class": "substrate.grep", "observation_id": "x", "ts": 5, "locator": {"a": [1]}},
            "effect": "external",
            "grounded": False,
            "confidence": 0.5,
            "chain": [
                {
                    "step": "derived",
                    "operator": "+",
                    "left": [{"step": "retrieval", "source": "s", "timestamp": 1000, "metadata": {"timestamp": 7}}],
                }
            ],
            "cites": {"context": "c", "strictly": True},
            "ignored": 1,
        },
        {"span": {"chars": [7, 14]}},
    ],
    "contexts": {"c": "…"},
    "attempt": 2,
    "group": "answer-1",
    "part": 0,
    "final": False,
}


def decoded(record: dict[str, Any]) -> Emission:
    found = decode_emission(json.dumps(record).encode())
    assert isinstance(found, Emission), found
    return found


def test_everything_that_was_given_is_there() -> None:
    """Times are RFC 3339, also in a chain; span keys, kinds and lists are written out; metadata stays as it is."""
    assert parsed_form(decoded(FULL)) == {
        "emission_id": "em-1",
        "emitted_at": "2026-05-28T11:40:00Z",
        "emitter": {"system": "bot"},
        "effect": "external",
        "vocabulary": "1.0",
        "text": "It is. It was.",
        "assertions": [
            {
                "span": {"chars": [0, 6]},
                "span_key": "c:0-6",
                "assertion": "It is.",
                "kind": "denial",
                "provenance": [
                    {
                        "substrate_class": "substrate.grep",
                        "observation_id": "x",
                        "ts": "1970-01-01T00:00:00.005Z",
                        "locator": {"a": [1]},
                    }
                ],
                "effect": "external",
                "grounded": False,
                "confidence": 0.5,
                "chain": [
                    {
                        "step": "derived",
                        "operator": "+",
                        "left": [
                            {
                                "step": "retrieval",
                                "source": "s",
                                "timestamp": "1970-01-01T00:00:01Z",
                                "metadata": {"timestamp": 7},
                            }
                        ],
                    }
                ],
                "cites": {"context": "c", "strictly": True},
            },
            {"span": {"chars": [7, 14]}, "span_key": "c:7-14", "kind": "assertion", "provenance": []},
        ],
        "contexts": {"c": "…"},
        "attempt": 2,
        "group": "answer-1",
        "part": 0,
        "final": False,
    }


def test_what_was_not_given_is_not_there() -> None:
    """But for the defaults that every reader needs."""
    least = {"emission_id": "e", "emitted_at": 0, "assertions": [{"assertion": "x"}]}

    assert parsed_form(decoded(least)) == {
        "emission_id": "e",
        "emitted_at": "1970-01-01T00:00:00Z",
        "effect": "internal",
        "vocabulary": "1.0",
        "assertions": [
            {
                "span": {"path": "/assertions/0"},
                "span_key": "p:/assertions/0",
                "assertion": "x",
                "kind": "assertion",
                "provenance": [],
            }
        ],
        "attempt": 0,
    }


@pytest.mark.parametrize(
    ("annotation", "flags"),
    [
        ({"substrate_class": "substrate.grep"}, {}),
        ({"substrate_class": "1.0.substrate.grep"}, {}),
        ({"substrate_class": "substrate.new"}, {"unknown": True}),
        ({"substrate_class": "7.0.substrate.grep"}, {"unknown": True}),
        ({"substrate_class": "unverified-inference"}, {"terminal": True}),
        ({"substrate_class": "1.0.decayed-to-uncertainty"}, {"terminal": True}),
        ({"substrate_class": "UNVERIFIED-INFERENCE"}, {"terminal": True}),
        ({"substrate_class": "substrate.grep", "terminal": True}, {}),
        ({"substrate_class": "substrate.grep", "unknown": True}, {"unknown": True}),
        ({"substrate_class": "substrate.new", "unknown": False}, {"unknown": True}),
    ],
)
def test_flags_stand_only_where_they_apply(annotation: dict[str, Any], flags: dict[str, bool]) -> None:
    """The vocabulary decides; an emitter can make its own annotation unknown, and nothing else."""
    form = parsed_form(
        decoded(
            {
                "emission_id": "e",
                "emitted_at": 0,
                "text": "x",
                "assertions": [{"span": {"chars": [0, 1]}, "provenance": annotation}],
            }
        )
    )

    assert form["assertions"][0]["provenance"] == [{"substrate_class": annotation["substrate_class"].lower()} | flags]


def test_the_emissions_vocabulary_decides_about_bare_classes() -> None:
    """Of a version that is not loaded nothing is known; an anchored class has its own."""
    form = parsed_form(
        decoded(
            {
                "emission_id": "e",
                "emitted_at": 0,
                "vocabulary": "2.0",
                "text": "A. [substrate.grep][1.0.substrate.grep][unverified-inference][1.0.decayed-to-uncertainty]",
            }
        )
    )

    assert form["assertions"][0]["provenance"] == [
        {"substrate_class": "substrate.grep", "unknown": True},
        {"substrate_class": "1.0.substrate.grep"},
        {"substrate_class": "unverified-inference", "unknown": True},
        {"substrate_class": "1.0.decayed-to-uncertainty", "terminal": True},
    ]


CLASSES = st.sampled_from(["substrate.grep", "1.0.substrate.git.log", "substrate.x", "unverified-inference", "z"])
TIMES = st.integers(0, 10**13) | st.just("2026-05-28T11:40:00.123456Z")
ANNOTATIONS = st.fixed_dictionaries(
    {"substrate_class": CLASSES},
    optional={
        "observation_id": st.just("sha256:1"),
        "ts": TIMES,
        "locator": st.dictionaries(st.text(max_size=3), st.integers() | st.lists(st.text(max_size=3)), max_size=2),
        "unknown": st.booleans(),
        "terminal": st.booleans(),
    },
)
STEPS = st.recursive(
    st.fixed_dictionaries({"step": st.just("retrieval")}, optional={"timestamp": TIMES, "source": st.text(max_size=3)})
    | st.fixed_dictionaries({"step": st.sampled_from(["severed", "discard", "agent-handoff", "prompt-transform"])}),
    lambda inner: st.fixed_dictionaries(
        {"step": st.just("derived")},
        optional={"left": st.lists(inner, max_size=2), "right": st.lists(inner, max_size=2)},
    ),
    max_leaves=4,
)
ASSERTIONS = st.lists(
    st.fixed_dictionaries(
        {"assertion": st.text(max_size=5)},
        optional={
            "kind": st.sampled_from(["assertion", "denial", "refusal"]),
            "provenance": ANNOTATIONS | st.lists(ANNOTATIONS, max_size=2),
            "effect": st.sampled_from(["internal", "external"]),
            "grounded": st.booleans(),
            "confidence": st.floats(0, 1),
            "chain": st.lists(STEPS, max_size=2),
            "cites": st.just({"context": "c"}),
        },
    ),
    max_size=3,
    unique_by=lambda assertion: assertion["assertion"],
)
EMISSIONS = st.fixed_dictionaries(
    {"emission_id": st.just("e"), "emitted_at": TIMES, "assertions": ASSERTIONS},
    optional={
        "text": st.text(max_size=10),
        "emitter": st.just({"system": "s"}),
        "effect": st.sampled_from(["internal", "external"]),
        "vocabulary": st.sampled_from(["1.0", "3.1"]),
        "contexts": st.dictionaries(st.just("c"), st.text(max_size=3)),
        "attempt": st.integers(0, 3),
        "group": st.sampled_from([None, "answer-1"]),
        "part": st.sampled_from([None, 0, 3]),
        "final": st.sampled_from([None, False, True]),
    },
)
INLINE = st.fixed_dictionaries(
    {"emission_id": st.just("e"), "emitted_at": TIMES},
).flatmap(
    lambda base: st.lists(
        st.sampled_from(
            ["It is. ", "no ", "[substrate.grep; ts=1]", "[x; ts=2; y]", "[substrate.grep; lines=a]", "\n\n"]
        )
    ).map(lambda pieces: base | {"text": "".join(pieces)})
)


@given(EMISSIONS | INLINE)
def test_decoding_it_again_changes_nothing(record: dict[str, Any]) -> None:
    """Parsing what was parsed prints the same, and decodes to the same emission."""
    first = parsed_form(decoded(record))
    again = decode_emission(msgspec.json.encode(first))

    assert isinstance(again, Emission)
    assert parsed_form(again) == first
    assert decode_emission(msgspec.json.encode(parsed_form(again))) == again


@given(EMISSIONS | INLINE)
def test_it_says_what_the_emission_says(record: dict[str, Any]) -> None:
    """Nothing is lost or made up: spans, annotations and all that stands beside them come back as they were."""
    emission = decoded(record)
    again = decode_emission(msgspec.json.encode(parsed_form(emission)))

    assert isinstance(again, Emission)
    assert comparable(again) == comparable(emission)


def comparable(emission: Emission) -> list[Any]:
    """An emission's parts, times in milliseconds, without the flags that the vocabulary says anyway."""
    whole = [emission.emission_id, parse_time(emission.emitted_at), emission.emitter, emission.effect]
    whole += [emission.vocabulary, emission.text, emission.contexts, emission.attempt]
    for each in emission.assertions or ():
        whole += [each.span, each.span_key, each.assertion, each.kind, each.effect, each.grounded, each.confidence]
        whole += [each.cites, each.chain is None, len(each.chain or ())]
        for annotation in each.annotations:
            whole += [annotation.substrate_class, annotation.observation_id, annotation.locator]
            whole.append(None if annotation.ts is None else parse_time(annotation.ts))
    return whole
