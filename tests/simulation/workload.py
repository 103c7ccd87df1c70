"""What simulated producers send in one run: emissions with evidence before and after them, reviews, attestations.

A few emissions with all that can happen to them say more than many of one kind: they come twice, in conflict, in newer
attempts; evidence is fresh, stale, contradicting, for spans that are not there; and some records are no records at all.
Some batches are transactions, which commit late or never, so inputs have gaps for markers and aborted records.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import msgspec

from sluice.codecs.blocks import UnreadableReason
from sluice.codecs.notes import Signer
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams.policy.policy import (
    Admissibility,
    Attestations,
    Floor,
    LeastObservers,
    Observer,
    PerEffect,
    Policy,
    PrivacyRules,
    Sightings,
)

INPUTS = ("emissions", "observations", "reviews", "attestations", "sightings", "citations")
SECOND = 1000
_CLASSES = sorted(CLASSES_1_0)
_SYSTEMS = ("release-notes-bot",) * 18 + ("release-notes@v1.2", "somebody@release.example")
_TEXT = "CHANGELOG.md has an entry dated 2026-05-25. It was written by the release job."
_SPANS = ({"chars": [0, 43]}, {"chars": [44, 78]})
_BROKEN = (b"", b"{", b"[]", b'{"emission_id":"em-0"}', b"\xff\xfe", b'{"claim_hash":"0x12","verdict":"MAYBE"}')
_OBSERVERS = (LeastObservers(), LeastObservers(), LeastObservers(), LeastObservers(internal=1, external=2))
_PRIVACY = (PrivacyRules(), PrivacyRules(), PrivacyRules("omitted", "omitted"), PrivacyRules("hashed", "hashed"))
_KEYED = {"observer-1": Observer(public_key=str(Signer("observer-1", b"1" * 32).verifier))}
_encode = msgspec.json.Encoder().encode


class Sending(NamedTuple):
    """A batch for one partition.

    Attributes:
        seconds: when it is sent.
        ends: of a transaction: so many seconds later, and whether it is committed.
        unreadable: why nobody can read it, if so.
    """

    seconds: float
    topic: str
    number: int
    records: list[tuple[bytes | None, bytes, list[tuple[str, bytes]]]]
    ends: tuple[float, bool] | None
    unreadable: UnreadableReason | None = None


def policy_of(random: Random) -> Policy:
    """Rules under which something happens within seconds."""
    horizon = random.choice((1, 3, 8)) * SECOND
    window = random.choice((2, 6, 20)) * SECOND
    dispositions = ("discard", "review", "re-emit", "refuse")
    names = ("below-floor", "unverified-inference", "decayed-to-uncertainty", "contradicted", "rejected", "unannotated")
    return Policy(
        admissibility=Admissibility(
            k=Floor(internal=random.choice((1, 2)), external=2),
            horizon=horizon,
            max_validity=window + horizon + random.choice((0, 10)) * SECOND,
            max_skew=random.choice((1, 30)) * SECOND,
            max_stall=random.choice((5, 60)) * SECOND,
            review_window=random.choice((4, 30)) * SECOND,
            window=dict.fromkeys(_CLASSES, window),
            min_observers=random.choice(_OBSERVERS),
        ),
        disposition={
            name: PerEffect(internal=random.choice(dispositions), external=random.choice(dispositions))  # type: ignore[arg-type]
            for name in names
        },
        attestations=Attestations(consensus_domains=["scientific-default"]),
        sightings=Sightings(classes=random.choice(([], [], _CLASSES[:3], _CLASSES))),
        privacy=random.choice(_PRIVACY),
        observers=random.choice(({}, {}, {}, _KEYED)),
    )


class Workload:
    """All sendings of one run, in order of time."""

    def __init__(self, random: Random, epoch: int, lanes: int, seconds: float, emissions: int) -> None:
        self._random, self._epoch, self._lanes, self._seconds = random, epoch, lanes, seconds
        self._single: list[tuple[float, str, bytes | None, bytes]] = []
        for number in range(emissions):
            self._emission(f"em-{number}", random.uniform(0, seconds))
        for number in range(random.randrange(1, 2 + emissions)):
            self._attestation(number)
        for number in range(random.randrange(0, 2 + emissions)):
            self._sighting(number, random.uniform(0, seconds))
        for _ in range(random.randrange(0, 3)):
            self._put(random.uniform(0, seconds), random.choice(INPUTS), random.choice((b"em-0", None)), _BROKEN)
        self.sendings = self._batched()

    def _put(self, at: float, topic: str, key: bytes | None, *values: Any) -> None:
        value = self._random.choice(values[0]) if isinstance(values[0], tuple) else values[0]
        self._single.append((max(0.0, at), topic, key, value if isinstance(value, bytes) else _encode(value)))

    def _ms(self, at: float) -> int:
        return self._epoch + int(at * 1000)

    # ------------------------------------------------------------ records

    def _emission(self, name: str, at: float, attempt: int = 0) -> None:
        random, key = self._random, name.encode()
        count = random.choice((1, 1, 2))
        emission = {
            "emission_id": name,
            "emitted_at": self._ms(at) - random.choice((0, 0, 300, 20_000)),
            "emitter": {"system": random.choice(_SYSTEMS)},
            "effect": random.choice(("internal", "internal", "external")),
            "text": _TEXT,
            "attempt": attempt,
            "assertions": [self._assertion(at, span) for span in _SPANS[:count]],
        }
        self._put(at, "emissions", key, emission)
        if random.random() < 0.15:
            self._put(at + random.uniform(0, 4), "emissions", key, emission)
        if random.random() < 0.1:
            self._put(at + random.uniform(0, 4), "emissions", key, emission | {"text": _TEXT + " Or not."})
        for span in _SPANS[: count + (random.random() < 0.1)]:
            for _ in range(random.choice((0, 1, 2, 2, 3))):
                self._observation(name, attempt, span, at + random.uniform(-3, 8))
            if random.random() < 0.2:
                review = {"emission_id": name, "span": span, "attempt": attempt, "reviewer": "r-1"}
                self._put(
                    at + random.uniform(0, 12),
                    "reviews",
                    key,
                    review | {"decision": random.choice(("admit", "refuse"))},
                )
        if attempt == 0 and random.random() < 0.2:
            self._emission(name, at + random.uniform(-1, 6), 1)

    def _assertion(self, at: float, span: Any) -> dict[str, Any]:
        random = self._random
        names = random.sample(_CLASSES, random.choice((0, 1, 2, 2)))
        if random.random() < 0.1:
            names.append(random.choice(("substrate.nowhere", "unverified-inference")))
        annotations = [
            {"substrate_class": name, "observation_id": f"o-{random.randrange(3)}", "ts": self._ms(at) - 500}
            for name in names
        ]
        found: dict[str, Any] = {"span": span, "provenance": annotations} if annotations else {"span": span}
        if random.random() < 0.1:
            found["kind"] = random.choice(("denial", "refusal"))
        return found

    def _observation(self, name: str, attempt: int, span: Any, at: float) -> None:
        random = self._random
        outcome = random.choice(("corroborates",) * 7 + ("contradicts", "unknown-observation", "absent"))
        observation = {
            "observation_id": f"o-{random.randrange(3)}",
            "substrate_class": random.choice(_CLASSES[:4]),
            "observed_at": self._ms(max(0.0, at)) - random.choice((0, 100, 100, 8000)),
            "observer": f"observer-{random.randrange(2)}",
            "subject": {"emission_id": name, "span": span, "attempt": attempt},
            "outcome": outcome,
        }
        self._put(at, "observations", name.encode(), observation)

    def _sighting(self, number: int, at: float) -> None:
        random = self._random
        name = f"o-{random.randrange(3)}"
        sighting = {
            "observation_id": name,
            "substrate_class": random.choice(_CLASSES),
            "observed_at": self._ms(at) - random.choice((0, 100, 8000)),
            "observer": f"seer-{number}",  # so that no two sightings of a run say the same
            "content": random.choice((_TEXT, "nothing of the kind", 7)),
        }
        self._put(at, "sightings", name.encode(), sighting)
        if random.random() < 0.3:
            self._put(at + random.uniform(0, 4), "sightings", name.encode(), sighting)

    def _attestation(self, number: int) -> None:
        random = self._random
        claim, at = f"0x{random.randrange(4):064x}", random.uniform(0, self._seconds)
        attestation = {
            "claim_hash": claim,
            "validator_did": f"did:web:validator-{number % 3}.example",
            "verdict": random.choice(("VERIFIED", "FALSE", "UNVERIFIABLE")),
            "consensus_domain": random.choice(("scientific-default", "scientific-default", "elsewhere")),
            "rationale": random.choice(("It is <b>so</b>.", "It is so.", "It is so.")),
        }
        if random.random() < 0.7:  # of these some come late, after newer ones
            attestation["issued_at"] = self._ms(at) - random.choice((0, 0, 3000, 20_000))
        self._put(at, "attestations", claim.encode(), attestation)
        if random.random() < 0.2:
            self._put(at + random.uniform(0, 4), "attestations", claim.encode(), attestation | {"replayed": True})

    # ------------------------------------------------------------ batches

    def _batched(self) -> list[Sending]:
        """Puts what goes to one partition at about the same time into one batch, now and then a transaction."""
        random, found = self._random, list[Sending]()
        places: dict[tuple[str, int], list[tuple[float, bytes | None, bytes]]] = {}
        for at, topic, key, value in sorted(self._single, key=lambda one: one[0]):
            number = PARTITIONERS["murmur2"](key or b"", self._lanes)
            if random.random() < 0.02:
                number = random.randrange(self._lanes)
            places.setdefault((topic, number), []).append((at, key, value))
        for (topic, number), singles in places.items():
            while singles:
                size = random.choice((1, 1, 2, 5))
                batch, singles = singles[:size], singles[size:]
                records = [
                    (key, value, [("traceparent", b"00-aa-bb-01")] if random.random() < 0.1 else [])
                    for _, key, value in batch
                ]
                ends = (random.choice((0.01, 0.5, 3.0)), random.random() < 0.6) if random.random() < 0.1 else None
                found.append(Sending(batch[-1][0], topic, number, records, ends))
        return sorted(found, key=lambda one: one.seconds)
