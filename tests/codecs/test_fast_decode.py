"""The fold reads what everybody decodes, and finds the same faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs.decode import decode_emission, decode_observation, read_emission, read_observation
from sluice.codecs.errors import Fault

NAMES = st.sampled_from(["em-1", "a" * 256, "a" * 257, "", "b d", "ü", "a\n", 'a"b', "a\x00", None, 5])
TIMES = st.sampled_from(["2026-11-21T09:00:00Z", 1_790_000_000_000, "now", -1, True, None])
SPAN = st.sampled_from(
    [
        {"chars": [0, 6]},
        {"chars": [0, 99]},
        {"chars": [3, 3]},
        {"tokens": [0, 2], "tokenizer": "x"},
        {"tokens": [0, 2], "tokenizer": "b d"},
        {"path": "/a"},
        {},
        None,
    ]
)


def either(good: Any, *bad: Any) -> st.SearchStrategy[Any]:
    """Mostly the good value, so that most records have at most one fault; now and then none at all."""
    return st.one_of(*[st.just(good)] * 12, st.just(...), *bad)


def spoilt(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Records with these fields, those drawn as `...` left out."""
    return st.fixed_dictionaries(fields).map(lambda one: {name: item for name, item in one.items() if item is not ...})


ANNOTATION = spoilt(
    substrate_class=either("substrate.grep", NAMES),
    observation_id=either("sha256:1", NAMES),
    ts=either(1_790_000_000_000, TIMES),
    locator=either({"path": "x"}, st.just([])),
)
EMISSIONS = spoilt(
    emission_id=either("em-1", NAMES),
    emitted_at=either("2026-11-21T09:00:00Z", TIMES),
    emitter=spoilt(system=either("bot", NAMES), model=either("m", NAMES), prompt=either("p", NAMES)),
    text=st.sampled_from(["It is. It was.", None]),
    attempt=either(0, st.sampled_from([-1, 1_000_001, "0"])),
    group=either("an-answer", NAMES),
    part=either(3, st.sampled_from([-1, 1_000_001, "0", 1.5, None])),
    final=either(True, st.sampled_from([0, "true", None])),
    assertions=st.lists(
        spoilt(
            span=either({"chars": [0, 6]}, SPAN),
            provenance=either([], ANNOTATION, st.lists(ANNOTATION, max_size=3)),
            cites=either(None, NAMES.map(lambda name: {"context": name})),
            chain=either(None, NAMES.map(lambda name: [{"step": "retrieval", "data": [name]}])),
        ),
        max_size=3,
    )
    | st.none(),
)
OBSERVATIONS = spoilt(
    observation_id=either("sha256:1", NAMES),
    substrate_class=either("substrate.grep", NAMES),
    observed_at=either("2026-11-21T09:00:02Z", TIMES),
    observer=either("observer-1", NAMES),
    subject=spoilt(emission_id=either("em-1", NAMES), span=either({"chars": [0, 6]}, SPAN), attempt=either(0, NAMES)),
    outcome=either("corroborates", NAMES),
    detail=either({"found": []}, st.just(1)),
)


@settings(max_examples=examples(400))
@given(st.one_of(EMISSIONS.map(lambda one: ("emission", one)), OBSERVATIONS.map(lambda one: ("observation", one))))
def test_the_fold_reads_what_everybody_decodes(record: tuple[str, dict[str, Any]]) -> None:
    """The same fields, or the same fault word for word."""
    kind, value = record
    decode, read = {
        "emission": (decode_emission, read_emission),
        "observation": (decode_observation, read_observation),
    }[kind]
    data = json.dumps(value).encode()

    decoded, found = decode(data), read(data)

    assert isinstance(found, Fault) == isinstance(decoded, Fault)
    assert msgspec.to_builtins(found) == msgspec.to_builtins(decoded)


@pytest.mark.parametrize("read", [read_emission, read_observation])
@pytest.mark.parametrize("data", [None, b"", b"{", b"\xff", b'{"emission_id":"\\ud800"}', b"[" * 500, b'{"a":' * 200])
def test_the_fold_reads_no_broken_bytes(read: Callable[[bytes | None], Any], data: bytes | None) -> None:
    """They are the fault that everybody finds."""
    decode = decode_emission if read is read_emission else decode_observation

    assert isinstance(read(data), Fault)
    assert read(data) == decode(data)
