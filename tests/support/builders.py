"""Records as strangers send them: emissions, observations, reviews, sightings and attestations, for all tests.

A builder `*_value` returns a JSON-ready value with the least that a good record has; `emission`, `observation`,
`review` and `sighting` return it with its topic, as lanes of the tests take it. Keywords set or replace members and
say what a test is about; `None` stays `null` (`present` removes it). Other forms are made of a value by `encoded`,
`keyed`, `decoded` and `observed`. No other module of the tests defines functions of these names
(tools/check_builders.py): what else a test needs is a scenario, has a scenario's name, and calls these.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sluice.codecs.blocks import Event, EventKind
from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.records import Emission, Observation
from sluice.streams.policy.policy import DEFAULT_POLICY, PerEffect

Value = dict[str, Any]
Record = tuple[str, Value]
"""A topic and a value."""
Time = int | str
"""Milliseconds since the epoch, or RFC 3339: records may say either."""

T = 1_800_000_000_000
"""2027-01-15T08:00:00Z, in ms: when a record was made unless a test says otherwise."""
TEXT = "It is so."
ENTRY = "CHANGELOG.md has an entry dated 2026-05-25."
GREP, GIT, READ = "substrate.grep", "substrate.git.log", "substrate.code.read"


def present(fields: Value) -> Value:
    """The members that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def span_of(text: str = TEXT, start: int = 0) -> Value:
    """The span of a text that begins at `start`, in characters."""
    return {"chars": [start, start + len(text)]}


def assertion_value(text: str = TEXT, *provenance: str | Value, **fields: Any) -> Value:
    """One assertion over a text, with an annotation for each class (or as given); without any it is unannotated."""
    notes = [{"substrate_class": one} if isinstance(one, str) else one for one in provenance]
    return {"span": span_of(text), **({"provenance": notes} if notes else {}), **fields}


def emission_value(
    emission_id: str = "em-1", text: str = TEXT, *, at: Time = T, claim: Value | None = None, **fields: Any
) -> Value:
    """An emission made at `at`, of one assertion over its text with an annotation of grep, unless told otherwise.

    `claim` sets or replaces members of that assertion, `fields` those of the emission.
    """
    assertions = [assertion_value(text, GREP, **(claim or {}))]
    return {"emission_id": emission_id, "emitted_at": at, "text": text, "assertions": assertions, **fields}


def text_value(
    emission_id: str = "em-1", text: str = "It is out. [substrate.git.log]", *, at: Time | None = None, **fields: Any
) -> Value:
    """An emission as a client hands it over: a text with its annotations in it, and no list of assertions."""
    when = {} if at is None else {"emitted_at": at}
    return {"emission_id": emission_id, **when, "text": text, **fields}


def observation_value(
    substrate_class: str = GREP,
    outcome: str = "corroborates",
    *,
    emission_id: str = "em-1",
    span: Value | None = None,
    attempt: int | None = None,
    at: Time = T,
    **fields: Any,
) -> Value:
    """What an observer saw at `at` of an assertion: the one over TEXT unless `span` names another."""
    subject = {"emission_id": emission_id, "span": span or span_of(TEXT), "attempt": attempt}
    return {
        "observation_id": f"seen:{substrate_class}",
        "substrate_class": substrate_class,
        "observed_at": at,
        "observer": "observer-1",
        "subject": present(subject),
        "outcome": outcome,
        **fields,
    }


def review_value(
    decision: str = "admit", *, emission_id: str = "em-1", span: Value | None = None, **fields: Any
) -> Value:
    """A person's decision about an assertion: the one over TEXT unless `span` names another."""
    value = {"emission_id": emission_id, "span": span or span_of(TEXT), "decision": decision}
    return {**value, "reviewer": "reviewer-1", **fields}


def sighting_value(observation_id: str = "sha256:e3b0", *, at: Time = T, **fields: Any) -> Value:
    """What an observer saw at `at` before anybody cited it."""
    return {
        "observation_id": observation_id,
        "substrate_class": READ,
        "observed_at": at,
        "observer": "observer-2",
        "content": "## 2026-05-25",
        **fields,
    }


def attestation_value(**fields: Any) -> Value:
    """A validator's verdict on a claim."""
    return {
        "claim_hash": "0x" + "ab" * 32,
        "validator_did": "did:web:university.example",
        "verdict": "VERIFIED",
        "consensus_domain": "scientific-default",
        **fields,
    }


def emission(emission_id: str = "em-1", text: str = TEXT, **fields: Any) -> Record:
    """An emission (`emission_value`) for its topic."""
    return "emissions", emission_value(emission_id, text, **fields)


def observation(substrate_class: str = GREP, outcome: str = "corroborates", **fields: Any) -> Record:
    """An observation (`observation_value`) for its topic."""
    return "observations", observation_value(substrate_class, outcome, **fields)


def review(decision: str = "admit", **fields: Any) -> Record:
    """A review (`review_value`) for its topic."""
    return "reviews", review_value(decision, **fields)


def sighting(observation_id: str = "sha256:e3b0", **fields: Any) -> Record:
    """A sighting (`sighting_value`) for its topic."""
    return "sightings", sighting_value(observation_id, **fields)


def event(
    offset: int = 0, value: bytes = b"v", *, source: int = 0, kind: EventKind = EventKind.RECORD, time: int = 7
) -> Event:
    """An event of a block, with the key `k` and no headers."""
    return Event(kind, source, offset, time, [], b"k", value)


def dispositions(how: Any, **others: Any) -> dict[str, PerEffect]:
    """What a policy does with each inadmissible assertion: `how` with all, but for those that `others` name."""
    every = {**dict.fromkeys(DEFAULT_POLICY.disposition, how), **others}
    return {status: PerEffect(internal=given, external=given) for status, given in every.items()}


def encoded(value: Value) -> bytes:
    """The value of a Kafka record."""
    return msgspec.json.encode(value)


def keyed(value: Value) -> tuple[bytes, bytes]:
    """Key and value of a Kafka record: the key is the id of the emission that the record is about."""
    return value.get("subject", value)["emission_id"].encode(), encoded(value)


def decoded(value: Value) -> Emission:
    """An emission as `decode_emission` returns it."""
    found = decode_emission(encoded(value))
    assert not isinstance(found, Fault), found
    return found


def observed(value: Value) -> Observation:
    """An observation as the fold holds it."""
    return msgspec.convert(value, Observation)
