"""The windowed k-distinct join, as every peer in Python runs it: what differs between them is then the framework.

An emission goes on once observations of two distinct classes within an hour of it have come, in either order. Windows
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


class Observation(msgspec.Struct, gc=False):
    """What is needed of an observation."""

    substrate_class: str
    outcome: str


class Seen(msgspec.Struct, gc=False):
    """What is known of one emission: its text once it has come, and each class's newest time."""

    admitted: bool = False
    emitted: int = 0
    text: str | None = None
    span: tuple[int, int] = (0, 0)
    classes: dict[str, int] = {}


class Admitted(msgspec.Struct, gc=False):
    """The output."""

    emission_id: str
    span: tuple[int, int]
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


def advance(seen: Seen, is_emission: bool, value: bytes, at: int) -> bool:
    """Takes a record into what is known of its emission; True where that is admitted by it.

    Args:
        seen: changed in place.
        is_emission: which of the two inputs it came from.
        value: JSON.
        at: the record's timestamp, ms.
    """
    if is_emission:
        if seen.text is not None:
            return False
        emission = _emission(value)
        seen.text, seen.span, seen.emitted = emission.text, emission.assertions[0].span.chars, at
    else:
        observation = _observation(value)
        if observation.outcome != "corroborates":
            return False
        name = observation.substrate_class
        seen.classes[name] = max(at, seen.classes.get(name, 0))
    if seen.admitted or seen.text is None or len(seen.classes) < NEEDED:
        return False
    fresh = sum(abs(other - seen.emitted) <= WINDOW for other in seen.classes.values())
    seen.admitted = fresh >= NEEDED
    return seen.admitted


def output(key: str, seen: Seen) -> bytes:
    """The record that an admitted emission goes on as."""
    return _encode(Admitted(key, seen.span, sorted(seen.classes), seen.text or ""))
