"""Records that the compiled core takes in itself: an emission, and evidence for it, with checks and without."""

from __future__ import annotations

import json
from typing import Any

from builders import assertion_value, emission_value, observation_value, span_of
from fold_histories import CLASSES, COMMIT, MINUTE, PLAIN_TEXT, SHA, Step, T
from hypothesis import HealthCheck, settings
from search import examples

from sluice.codecs.times import format_time

WIDE = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))


def _raw(number: int, value: dict[str, Any]) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    """As Python's `json` writes it, with white space: the core has to read that too."""
    return f"em-{number}".encode(), json.dumps(value).encode(), []


def raw_emission(number: int, **more: Any) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    notes = [{"substrate_class": cls, "observation_id": SHA, "ts": T} for cls in CLASSES[:2]]
    fields = {"assertions": [assertion_value("First", *notes)], "emitter": {"system": "bot"}, **more}
    return _raw(number, emission_value(f"em-{number}", at=format_time(T), **{"text": PLAIN_TEXT, **fields}))


def raw_observation(number: int, cls: str, **more: Any) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    about = {"emission_id": f"em-{number}", "span": span_of("First"), "at": format_time(T)}
    return _raw(number, observation_value(**{**about, "substrate_class": cls, "observation_id": SHA, **more}))


LATER: tuple[Step, ...] = tuple(
    (T + minutes * MINUTE, T + minutes * MINUTE, []) for minutes in (11, 61, 1442, 2900, 4400)
)
"""Blocks until nothing is remembered any more."""
VERIFIED: dict[str, Any] = {
    "verified": [0],
    "coverage": "whole",
    "detail": {"checks": [{"path": "a/b.py", "lines": [3, 9], "commit": COMMIT}]},
    "looked_at": {"root": "main", "path": "a/b.py", "content": SHA},
}


def checked(
    number: int, checks: list[str] | None, text: str = PLAIN_TEXT, **more: Any
) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    """An emission whose one assertion, the first word, declares these checks."""
    note = {"substrate_class": CLASSES[0], "observation_id": SHA, "ts": T}
    return raw_emission(
        number, text=text, assertions=[{"span": {"chars": [0, 5]}, "provenance": note, "checks": checks, **more}]
    )
