"""Records that the compiled core takes in itself: an emission, and evidence for it, with checks and without."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, settings
from native_world import CLASSES, COMMIT, MINUTE, PLAIN_TEXT, SHA, Step, T

from sluice.codecs.times import format_time

WIDE = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def emission(number: int, **more: Any) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    value = {
        "emission_id": f"em-{number}",
        "emitted_at": format_time(T),
        "emitter": {"system": "bot"},
        "text": PLAIN_TEXT,
        "assertions": [
            {
                "span": {"chars": [0, 5]},
                "provenance": [{"substrate_class": cls, "observation_id": SHA, "ts": T} for cls in CLASSES[:2]],
            }
        ],
        **more,
    }
    return f"em-{number}".encode(), json.dumps(value).encode(), []


def observation(number: int, cls: str, **more: Any) -> tuple[bytes, bytes, list[tuple[str, bytes]]]:
    value = {
        "observation_id": SHA,
        "substrate_class": cls,
        "observed_at": format_time(T),
        "observer": "observer-1",
        "subject": {"emission_id": f"em-{number}", "span": {"chars": [0, 5]}},
        "outcome": "corroborates",
        **more,
    }
    return f"em-{number}".encode(), json.dumps(value).encode(), []


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
    return emission(
        number, text=text, assertions=[{"span": {"chars": [0, 5]}, "provenance": note, "checks": checks, **more}]
    )
