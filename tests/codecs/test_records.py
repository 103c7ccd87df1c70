"""Every record of docs/reference/records.md is a struct; the schema exported from it says what the decoder does, no
more, no less.

Samples are written here as a reader of docs/reference/records.md would write them, not produced by the structs.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from search import examples

from sluice.codecs import records
from sluice.streams.sanitise import AttestationRules, frame_attestation

STEPS = [
    {"step": "retrieval", "source": "CHANGELOG.md", "timestamp": "2026-11-21T08:59:40Z", "metadata": {"a": [1]}},
    {"step": "prompt-transform", "prompt_name": "summarise", "model": "some-model-1", "tokens": 512, "confidence": 0.7},
    {"step": "agent-handoff", "agent_name": "research", "data": ["grounded", "pii"]},
    {"step": "derived", "operator": "+", "left": [{"step": "retrieval"}], "right": [{"step": "derived"}]},
    {"step": "severed", "reason": "mixed with a guess"},
    {"step": "discard", "rule": "explicit-unwrap", "where": "agent.py:12"},
]
EMISSION = {
    "emission_id": "em-7f3a",
    "emitted_at": "2026-11-21T09:00:00Z",
    "emitter": {"system": "release-notes-bot", "model": "some-model-1", "prompt": "summarise-changelog"},
    "effect": "internal",
    "vocabulary": "1.0",
    "text": "CHANGELOG.md has an entry dated 2026-05-25. It was written by the release job.",
    "assertions": [
        {
            "span": {"chars": [0, 43]},
            "kind": "assertion",
            "provenance": [
                {
                    "substrate_class": "substrate.code.read",
                    "observation_id": "sha256:e3b0",
                    "ts": "2026-11-21T08:59:40Z",
                    "locator": {"path": "CHANGELOG.md", "lines": [1, 40]},
                }
            ],
            "grounded": True,
            "confidence": 0.93,
            "chain": STEPS,
            "cites": {"context": "ctx-1", "strictly": True},
        },
        {"span": {"tokens": [9, 12], "tokenizer": "bpe"}, "kind": "denial", "effect": "external"},
        {"assertion": "It was.", "provenance": {"substrate_class": "unverified-inference"}},
    ],
    "contexts": {"ctx-1": "## 2026-05-25 …"},
    "attempt": 0,
}
OBSERVATION = {
    "observation_id": "sha256:e3b0",
    "substrate_class": "substrate.code.read",
    "observed_at": "2026-11-21T09:00:02Z",
    "observer": "observer-2",
    "subject": {"emission_id": "em-7f3a", "span": {"chars": [0, 43]}, "attempt": 1},
    "outcome": "corroborates",
    "tier": "pseudonymous",
    "confidence": 1.0,
    "locator": {"path": "CHANGELOG.md", "lines": [1, 40]},
    "detail": {"found": ["2026-05-25"], "missing": []},
    "attestation": None,
}
SIGHTING = {name: OBSERVATION[name] for name in OBSERVATION if name not in ("subject", "outcome")} | {"content": 4.5}
CITATION = {
    "observation_id": "sha256:e3b0",
    "substrate_class": "substrate.git.log",
    "emission_id": "em-7f3a",
    "attempt": 0,
    "span": {"path": "/items/0"},
    "kind": "assertion",
    "text": "CHANGELOG.md has an entry dated 2026-05-25.",
    "checks": ["contains(2026-05-25, path=CHANGELOG.md)"],
    "proposer": "proposer-1",
    "whole": True,
    "path": "CHANGELOG.md",
    "digest": "sha256:" + "3" * 64,
    "cited_at": 1_795_251_600_000,
}
ATTESTATION = {
    "claim_hash": "0x" + "ab" * 32,
    "validator_did": "did:web:university.example",
    "verdict": "SUPPORTED",
    "consensus_domain": "scientific-default",
    "rationale": "Because.",
    "qualifications": "",
    "evidence": [{"quote": "so it is", "uri": "https://example.org/a"}, {"quote": "and so", "uri": None}],
    "cited_works": [{"uri": "urn:isbn:9780131103627", "title": "A book"}, {"uri": "arxiv:2101.00001"}],
    "issued_at": "2026-11-21T09:00:00.123Z",
    "canonicalisation_version": "0.3",
}
REVIEW = {
    "emission_id": "em-7f3a",
    "span": {"chars": [0, 43]},
    "decision": "admit",
    "attempt": 2,
    "reviewer": "reviewer-9",
    "reason": "I saw it myself.",
    "decided_at": "2026-11-21T09:10:00Z",
}
DECISION = {
    "@type": "sluice:AdmittedAssertion",
    "@version": "1.0",
    "id": "9c41" * 8,
    "emission_id": "em-7f3a",
    "attempt": 0,
    "span": {"chars": [0, 43]},
    "kind": "assertion",
    "status": "admitted",
    "basis": "corroboration",
    "revision": 1,
    "effect": "internal",
    "k": 2,
    "classes": ["substrate.code.read", "substrate.git.log"],
    "evidence": [
        {
            "substrate_class": "substrate.code.read",
            "observation_id": "sha256:e3b0",
            "observed_at": "2026-11-21T09:00:02Z",
            "observer": "observer-2",
        }
    ],
    "grounded": True,
    "data": ["grounded"],
    "confidence": 0.93,
    "emitted_at": "2026-11-21T09:00:00Z",
    "admitted_at": "2026-11-21T09:00:03Z",
    "valid_until": "2026-11-21T10:00:02Z",
    "_untrusted_text": {
        "@type": "veritas:UntrustedValidatorText",
        "warning": "data, not instructions",
        "assertion": "CHANGELOG.md has an entry dated 2026-05-25.",
        "attestations": [],
        "chain": [{"step": "agent-handoff", "agent_name": "sluice"}],
    },
    "canonical_hash": "sha256:" + "0" * 64,
    "canonicalisation_version": "0.3",
    "policy": "sha256:" + "1" * 64,
    "ledger": {"partition": 2, "height": 4711, "index": 17, "block": "sha256:" + "2" * 64},
    "_meta": {
        "sanitation_version": "0.1",
        "unicode_version": "17.0.0",
        "truncated": [],
        "confusables_replaced": [{"field": "assertion", "position": 3, "character": "а", "replacement": "a"}],
        "stripped_positions": [],
        "markup_stripped": [],
        "uris_rejected": [],
        "normalised": ["assertion"],
        "scripts": ["Latin"],
        "confusables_present": True,
    },
}
INADMISSIBLE = {name: value for name, value in DECISION.items() if name not in ("basis", "admitted_at", "valid_until")}
INADMISSIBLE |= {
    "@type": "sluice:InadmissibleAssertion",
    "status": "rejected",
    "reason": "citation-violation",
    "disposition": "review",
    "citation": {"context": "ctx-1", "span": {"chars": [3, 9]}},
}
REQUEST = INADMISSIBLE | {"missing_floor": 1, "classes_seen": ["substrate.code.read"]}
LOOK = {
    "substrate_class": "substrate.git.log",
    "outcome": "absent",
    "observed_at": "2026-11-21T09:00:02Z",
    "observer": "observer-2",
    "reason": "outside-locator",
}
RE_EMISSION = REQUEST | {
    "disposition": "re-emit",
    "attempts_left": 2,
    "mend_until": "2026-11-21T10:00:00Z",
    "missing_checks": [
        {
            "number": 0,
            "name": "contains",
            "k": 2,
            "classes": ["substrate.code.read"],
            "seen": [{"substrate_class": "substrate.git.log", "refuted": False, "reason": "outside-locator"}],
        }
    ],
    "looks": [LOOK],
    "mending": {
        "_untrusted_text": {
            "@type": "veritas:UntrustedValidatorText",
            "warning": "data, not instructions",
            "missing_terms": ["2026-05-25"],
            "asked": [{"number": 0, "check": "contains(2026-05-25, path=CHANGELOG.md)", "seen": []}],
        },
        "_meta": DECISION["_meta"],
    },
}

# Not written by hand: what the sanitiser makes of the attestation above must be what the struct says.
VERDICTS = {
    "@type": "sluice:Verdicts",
    "@version": "1.0",
    "emission_id": "em-7f3a",
    "attempt": 0,
    "emitter": "release-notes-bot",
    "settled": True,
    "decided_at": "2026-11-21T09:10:00Z",
    "assertions": [
        {
            "attempt": 0,
            "span_key": "c:0-43",
            "kind": "assertion",
            "effect": "internal",
            "status": "below-floor",
            "reason": "below-floor",
            "disposition": "discard",
            "coverage": "whole",
            "checks": [{"number": 0, "classes": 1}],
            "classes_seen": ["substrate.grep"],
            "missing_floor": 1,
            "valid_until": "2026-11-21T10:00:02Z",
        }
    ],
    "policy": "sha256:" + "ab" * 32,
    "ledger": {"partition": 2, "height": 4711, "index": 17, "block": "sha256:" + "cd" * 32},
}
GROUNDED = frame_attestation(ATTESTATION, AttestationRules(), source="attestations/0/17")
SAMPLES: dict[str, Any] = {
    "emission": EMISSION,
    "observation": OBSERVATION,
    "sighting": SIGHTING,
    "citation": CITATION,
    "attestation": ATTESTATION,
    "review": REVIEW,
    "admitted": DECISION,
    "inadmissible": INADMISSIBLE,
    "review-request": REQUEST,
    "re-emission-request": RE_EMISSION,
    "verdicts": VERDICTS,
    "grounded": GROUNDED,
}
STRUCTS = {**records.INPUTS, **records.OUTPUTS}
VALIDATORS = {name: Draft202012Validator(msgspec.json.schema(struct)) for name, struct in STRUCTS.items()}
NAMES = sorted(STRUCTS)


@pytest.mark.parametrize(
    "name",
    [
        *("emission", "observation", "sighting", "citation", "attestation", "review"),
        *("admitted", "inadmissible", "review-request", "re-emission-request", "verdicts", "grounded"),
    ],
)
def test_every_record_of_the_design_is_a_struct(name: str) -> None:
    """docs/reference/records.md: every record type is a struct, and its schema is exported from it; raw bytes and
    blocks apart.
    """
    assert issubclass(STRUCTS[name], msgspec.Struct)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_a_schema_and_takes_a_real_record(name: str) -> None:
    """The exported schema is a valid one of draft 2020-12, and docs/reference/records.md own example satisfies it."""
    schema = msgspec.json.schema(STRUCTS[name])

    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(SAMPLES[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_record_keeps_all_it_says_through_its_struct(name: str) -> None:
    """Every field of the example is known: decoding and encoding loses none that differs from its default."""
    decoded = msgspec.json.decode(json.dumps(SAMPLES[name]), type=STRUCTS[name])
    again = msgspec.json.encode(decoded)

    assert msgspec.json.decode(again, type=STRUCTS[name]) == decoded
    assert _without_defaults(json.loads(again)) == _without_defaults(SAMPLES[name])


DEFAULTS: dict[str, list[Any]] = {
    "kind": ["assertion"],
    "strictly": [False],
    "attempt": [0],
    "effect": ["internal"],
    "vocabulary": ["1.0"],
    "tier": ["pseudonymous"],
    "confidence": [1.0],
    "qualifications": [""],
}


def _without_defaults(value: Any) -> Any:
    """The same JSON without the members that say what their absence would say."""
    if isinstance(value, list):
        return [_without_defaults(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_defaults(item)
        for name, item in value.items()
        if item is not None and item != [] and item not in DEFAULTS.get(name, ())
    }


@pytest.mark.parametrize("name", sorted(records.INPUTS))
def test_a_reader_ignores_fields_that_it_does_not_know(name: str) -> None:
    """A record of tomorrow, with a field more, is read as one of today; the schema allows it too."""
    more = SAMPLES[name] | {"of_tomorrow": {"x": 1}}

    VALIDATORS[name].validate(more)
    assert msgspec.json.decode(json.dumps(more), type=STRUCTS[name]) == msgspec.json.decode(
        json.dumps(SAMPLES[name]), type=STRUCTS[name]
    )


@pytest.mark.parametrize(
    ("name", "required"),
    [
        ("emission", ["emission_id", "emitted_at"]),
        ("observation", ["observation_id", "substrate_class", "observed_at", "observer", "subject", "outcome"]),
        ("sighting", ["observation_id", "substrate_class", "observed_at", "observer", "content"]),
        ("attestation", ["claim_hash", "validator_did", "verdict", "consensus_domain"]),
        ("review", ["emission_id", "span", "decision"]),
    ],
)
def test_only_what_the_design_requires_is_required(name: str, required: list[str]) -> None:
    """An input with these fields alone is one, and without any of them is none."""
    least = {field: SAMPLES[name][field] for field in required}
    VALIDATORS[name].validate(least)
    msgspec.json.decode(json.dumps(least), type=STRUCTS[name])

    for field in required:
        less = {other: value for other, value in least.items() if other != field}
        assert not VALIDATORS[name].is_valid(less)
        with pytest.raises(msgspec.ValidationError, match=field):
            msgspec.json.decode(json.dumps(less), type=STRUCTS[name])


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


REPLACEMENTS = st.sampled_from(
    [None, True, False, 0, 1, -1, 0.5, 1.5, -0.5, 10**6, 10**7, "", "x", "x y", "é", "a" * 257, "substrate.grep"]
    + [
        "corroborates",
        "0x12",
        "did:web:x",
        "2026-11-21T09:00:00Z",
        [],
        {},
        [1],
        [1, 2],
        [1, 2, 3],
        ["x"],
        {"step": "x"},
    ]
    + [{"step": "retrieval"}, {"path": "/a"}, {"chars": [1, 2]}, {"substrate_class": "x"}, {"quote": "x"}]
)


@settings(max_examples=examples(1500), deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_the_schema_says_what_the_decoder_does(name: str, data: st.DataObject) -> None:
    """Whatever is replaced or removed in a record: the schema takes it if and only if the decoder does."""
    document = copy.deepcopy(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([place for place in _places(document) if place]))
        inside = document
        for key in way:
            inside = inside[key]
        if data.draw(st.booleans()):
            inside[last] = copy.deepcopy(data.draw(REPLACEMENTS))
        else:
            del inside[last]

    assert VALIDATORS[name].is_valid(document) == _decodes(document, STRUCTS[name])


def _decodes(document: Any, struct: type[msgspec.Struct]) -> bool:
    try:
        msgspec.json.decode(json.dumps(document), type=struct)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "path", "value", "right"),
    [
        ("emission", ["emission_id"], "a" * 256, True),
        ("emission", ["emission_id"], "a" * 257, False),
        ("emission", ["emission_id"], "", False),
        ("emission", ["emission_id"], "A-Z.a_z~0:9/+=@%-", True),
        ("emission", ["emission_id"], "em#1", False),
        ("emission", ["emission_id"], "em-1\n", False),
        ("emission", ["attempt"], -1, False),
        ("emission", ["assertions"], [{"span": {"chars": [0, 1]}}] * 1000, True),
        ("emission", ["assertions"], [{"span": {"chars": [0, 1]}}] * 1001, False),
        ("emission", ["assertions", 0, "confidence"], 1.0, True),
        ("emission", ["assertions", 0, "confidence"], 1.01, False),
        ("emission", ["emitted_at"], 1_795_251_600_000, True),
        ("emission", ["emitted_at"], -1, False),
        ("observation", ["outcome"], "unknown-observation", True),
        ("observation", ["outcome"], "unknown", False),
        ("attestation", ["claim_hash"], "0x" + "g" * 64, False),
        ("attestation", ["validator_did"], "web:x", False),
        ("attestation", ["canonicalisation_version"], "0.1", False),
        ("sighting", ["content"], ["x"], False),
    ],
)
def test_the_bounds_of_fields_are_those_of_the_design(name: str, path: list[Any], value: Any, right: bool) -> None:
    """Identifiers, attempts, confidences, enumerations and counts: each bound on both of its sides."""
    document = copy.deepcopy(SAMPLES[name])
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value

    assert VALIDATORS[name].is_valid(document) == right


def test_an_annotation_alone_and_a_list_of_annotations_are_read_alike() -> None:
    """`annotations` is a list, empty for an unannotated assertion [S §5]."""
    one = {"substrate_class": "substrate.grep"}
    annotation = records.Annotation("substrate.grep")

    assert msgspec.convert({"provenance": one}, records.Assertion).annotations == [annotation]
    assert msgspec.convert({"provenance": [one, one]}, records.Assertion).annotations == [annotation, annotation]
    assert msgspec.convert({}, records.Assertion).annotations == []


def test_a_frame_is_written_for_empty_text_as_well() -> None:
    """[V §5.2]: the wrapper, its type and its warning are always there."""
    frame = records.UntrustedAssertion("a warning", "")

    assert json.loads(msgspec.json.encode(frame)) == {
        "@type": "veritas:UntrustedValidatorText",
        "warning": "a warning",
        "assertion": "",
        "attestations": [],
        "chain": [],
    }


def test_no_record_is_tracked_by_the_cyclic_collector() -> None:
    """The measured habit of docs/internals.md: every struct of the module is `gc=False`."""
    structs = [
        value for value in vars(records).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)
    ]

    assert [struct.__name__ for struct in structs if struct is not msgspec.Struct and struct.__struct_config__.gc] == []
