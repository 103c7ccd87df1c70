"""What people, models and observers send, good and bad: drawn from a seed, and nothing is sent here."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

from builders import attestation_value
from lanes_on_kafka import records

POLICY = """\
[admissibility]
horizon = "3s"
max_validity = "30s"
review_window = "10s"
max_skew = "5s"
max_stall = "60s"
max_attempts = 3
[admissibility.window]
default = "15s"
"substrate.fs.mtime" = "15s"
"substrate.do.sse-count" = "15s"
[disposition]
unverified-inference = "review"
unannotated = "discard"
below-floor = "review"
decayed-to-uncertainty = "re-emit"
contradicted = "refuse"
rejected = "review"
"""
"""Short times, so that everything that can become of an assertion does so within a run."""
OVERSIZE = 1_000_100
"""Bytes of a record that the broker takes and no block keeps."""


class Sending(NamedTuple):
    """A record to be sent `after` so many seconds. A partition of None is the key's own."""

    after: float
    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None


class Workload:
    """Records, step by step. The times in them are real ones; everything else depends on the seed alone."""

    def __init__(self, random: Random, partitions: int) -> None:
        self._random, self._partitions = random, partitions
        self._steps = 0

    def step(self) -> Iterator[Sending]:
        """One emission with what belongs to it, now and then an attestation, and now and then poison."""
        number, self._steps = self._steps, self._steps + 1
        random = self._random
        (_, key, emission), *evidence = records(number)
        observed = [value for _, _, value in evidence]
        choice = random.choice(_STORIES)
        yield from choice(random, key, emission, observed)
        if random.random() < 0.3:
            yield _attestation_of_any_kind(random, number)
        if random.random() < 0.06:
            yield self._poison(key, emission)

    def _poison(self, key: bytes, emission: bytes) -> Sending:
        random = self._random
        topic = random.choice(("emissions", "observations", "reviews", "attestations"))
        match random.randrange(20):
            case 0:
                return Sending(0, topic, key, bytes([random.randrange(32, 127)]) * OVERSIZE)
            case 1 | 2:
                return Sending(0, topic, key, None)
            case 3 | 4 | 5:
                return Sending(0, topic, key, emission[:-1] + b"\xff")
            case 6 | 7:
                return Sending(0, topic, key, b"[" * 400 + b"]" * 400)
            case 8 | 9 | 10:
                return Sending(0, "emissions", b"another", emission.replace(key, key + b"-x"))
            case 11 | 12 | 13:
                return Sending(0, "emissions", key, emission, random.randrange(self._partitions))
            case _:
                return Sending(0, topic, key if random.random() < 0.8 else None, random.randbytes(40))


def _plain(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    yield Sending(0, "emissions", key, emission)
    for value in observed:
        yield Sending(0, "observations", key, value)


def _twice(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    yield from _plain(random, key, emission, observed)
    yield Sending(random.uniform(0, 2), "emissions", key, emission)
    for value in observed:
        yield Sending(random.uniform(0, 5), "observations", key, value)


def _late(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    yield Sending(0, "emissions", key, emission)
    for value in observed:
        yield Sending(random.uniform(1, 8), "observations", key, value)


def _early(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    for value in observed:
        yield Sending(0, "observations", key, value)
    yield Sending(random.uniform(0.1, 5), "emissions", key, emission)


def _elsewhere(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    yield Sending(0, "emissions", key, emission)
    for value in observed:
        yield Sending(0, "observations", key, _with(value, subject={"span": {"chars": [3, 9]}}))


def _opposed(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    yield Sending(0, "emissions", key, emission)
    outcome = random.choice(("contradicts", "unknown-observation", "absent", "unavailable"))
    for value in (_with(observed[0], outcome=outcome), *observed[1:]):
        yield Sending(random.uniform(0, 1), "observations", key, value)


def _again(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    yield Sending(0, "emissions", key, emission)
    yield Sending(1, "emissions", key, _with(emission, attempt=1))
    for value in observed:
        yield Sending(1.2, "observations", key, _with(value, subject={"attempt": 1}))


def _reviewed(random: Random, key: bytes, emission: bytes, observed: list[bytes]) -> Iterator[Sending]:
    yield Sending(0, "emissions", key, emission)
    review = {
        "emission_id": key.decode(),
        "span": json.loads(emission)["assertions"][0]["span"],
        "decision": random.choice(("admit", "refuse")),
        "reviewer": "reviewer-1",
        "reason": "looked at by a person",
        "decided_at": time.time_ns() // 1_000_000,
    }
    yield Sending(random.uniform(0, 6), "reviews", key, json.dumps(review).encode())


_STORIES = [_plain] * 6 + [_twice, _late, _late, _early, _elsewhere, _opposed, _again, _reviewed]


def _with(value: bytes, **fields: Any) -> bytes:
    """The record with these fields; those of an object are put into the one that is there."""
    record = json.loads(value)
    for name, field in fields.items():
        record[name] = {**record[name], **field} if isinstance(field, dict) else field
    return json.dumps(record).encode()


def _attestation_of_any_kind(random: Random, number: int) -> Sending:
    """A validator's word on a claim, of four one wrong: in its type, its domain, its key."""
    claim = "0x" + sha256(b"%d" % (number // 3)).hexdigest()
    body = attestation_value(
        claim_hash=claim,
        validator_did=f"did:web:validator-{number % 3}.example",
        verdict=random.choice(("VERIFIED", "SUPPORTED", "DISPUTED", "FALSE")),
        rationale=f"Number {number}: the lоg\u200b bears it out.",
        evidence=[{"quote": "An entry.", "uri": "https://example.org/log"}, {"quote": "x", "uri": "javascript:x"}],
        issued_at=1_779_700_000_000 + number,
    )
    key = claim.encode()
    match random.randrange(12):
        case 0:
            body["verdict"] = "MAYBE"
        case 1:
            body["consensus_domain"] = "unheard-of"
        case 2:
            key = b"another"
        case _:
            pass
    return Sending(0, "attestations", key, json.dumps(body, ensure_ascii=False).encode())
