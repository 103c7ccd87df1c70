"""The windowed k-distinct join, as every peer in Python runs it: what differs between them is then the framework.

A statement of an emission goes on once observations of two distinct classes within an hour of the emission have come
for it, in either order. Windows
are judged by the records' Kafka timestamps, which costs the peers less than the times in the records that sluice
reads. Nothing is sanitised, hashed, framed or written down besides the output: it is less work than sluice's.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

NEEDED = 2
WINDOW = 3_600_000
"""Milliseconds."""


class Span(msgspec.Struct, gc=False):
    """Where an assertion stands."""

    chars: tuple[int, int]


class Assertion(msgspec.Struct, gc=False):
    """What is needed of an assertion."""

    span: Span


class Emission(msgspec.Struct, gc=False):
    """What is needed of an emission."""

    text: str
    assertions: list[Assertion]


class Subject(msgspec.Struct, gc=False):
    """What an observation is about."""

    span: Span


class Observation(msgspec.Struct, gc=False):
    """What is needed of an observation."""

    subject: Subject
    substrate_class: str
    outcome: str


class Found(msgspec.Struct, gc=False):
    """What is known of one statement: whether it has come and gone on, and each class's newest time."""

    stated: bool = False
    admitted: bool = False
    classes: dict[str, int] = {}


class Seen(msgspec.Struct, gc=False):
    """What is known of one emission: its text once it has come, and its statements by the span's ends, `0-43`."""

    emitted: int = 0
    text: str | None = None
    statements: dict[str, Found] = {}


class Admitted(msgspec.Struct, gc=False):
    """The output."""

    emission_id: str
    span: Span
    classes: list[str]
    text: str


class Arguments(NamedTuple):
    """What the runner tells a peer: `broker prefix begun threads folder`."""

    broker: str
    prefix: str
    begun: Path
    threads: int
    folder: str


_emission = msgspec.json.Decoder(Emission).decode
_observation = msgspec.json.Decoder(Observation).decode
_encode = msgspec.json.Encoder().encode


def arguments() -> Arguments:
    """The command line; it is emptied, since some frameworks read it as well."""
    broker, prefix, begun, threads, folder = sys.argv[1:6]
    del sys.argv[1:]
    return Arguments(broker, prefix, Path(begun), int(threads), folder)


def tell_begun(path: Path) -> None:
    """Writes down when the first record reached the application: there its start-up ends."""
    path.write_text(repr(time.time()))


def advance(seen: Seen, is_emission: bool, value: bytes, at: int, key: str) -> list[bytes]:
    """Takes a record into what is known of its emission; the records that statements admitted by it go on as.

    Args:
        seen: changed in place.
        is_emission: which of the two inputs it came from.
        value: JSON.
        at: the record's timestamp, ms.
        key: of the record.
    """
    if is_emission:
        if seen.text is not None:
            return []
        emission = _emission(value)
        seen.text, seen.emitted = emission.text, at
        spans = [assertion.span.chars for assertion in emission.assertions]
        for span in spans:
            _found(seen, span).stated = True
    else:
        observation = _observation(value)
        if observation.outcome != "corroborates":
            return []
        spans = [observation.subject.span.chars]
        classes, name = _found(seen, spans[0]).classes, observation.substrate_class
        classes[name] = max(at, classes.get(name, 0))
    return [_output(key, seen, span, found) for span in spans if _goes_on(seen, found := _found(seen, span))]


def _found(seen: Seen, span: tuple[int, int]) -> Found:
    name = f"{span[0]}-{span[1]}"
    if name not in seen.statements:
        seen.statements[name] = Found()
    return seen.statements[name]


def _goes_on(seen: Seen, found: Found) -> bool:
    if found.admitted or not found.stated or len(found.classes) < NEEDED:
        return False
    fresh = sum(abs(other - seen.emitted) <= WINDOW for other in found.classes.values())
    found.admitted = fresh >= NEEDED
    return found.admitted


def _output(key: str, seen: Seen, span: tuple[int, int], found: Found) -> bytes:
    return _encode(Admitted(key, Span(span), sorted(found.classes), (seen.text or "")[span[0] : span[1]]))
