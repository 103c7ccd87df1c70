"""From a line of JSON to a record for an input topic: which topic, valid or not, and under which key
(docs/reference/records.md).

Validity is what the lanes' own decoders say, so nothing is sent that would only come back as a dead letter for its
shape. The bytes of a line go out as they came; only a missing `emitted_at` is put in front, and where a key is given a
record without a signature is signed, a review with the time of its decision (`decided_at`). No clock is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ...codecs import decode, times
from ...codecs.blocks import MAX_INPUT_BYTES
from ...codecs.canonical import CanonicalError, parse_json
from ...codecs.decode import decode_sighting
from ...codecs.errors import Fault, schema_fault
from ...codecs.records import Attestation
from ...codecs.signatures import SIGNATURE, Signing, domain_of, signed


class Prepared(NamedTuple):
    """A record ready to be sent. `topic` is the logical name."""

    topic: str
    key: bytes
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class _Shape(msgspec.Struct, gc=False):
    """The fields that tell the kinds of records apart, whatever they hold."""

    emission_id: Raw | UnsetType = UNSET
    emitted_at: Raw | UnsetType = UNSET
    text: Raw | UnsetType = UNSET
    assertions: Raw | UnsetType = UNSET
    subject: Raw | UnsetType = UNSET
    outcome: Raw | UnsetType = UNSET
    observation_id: Raw | UnsetType = UNSET
    content: Raw | UnsetType = UNSET
    decision: Raw | UnsetType = UNSET
    decided_at: Raw | UnsetType = UNSET
    claim_hash: Raw | UnsetType = UNSET
    signature: Raw | UnsetType = UNSET


_shapes = msgspec.json.Decoder(_Shape)
_attestations = msgspec.json.Decoder(Attestation)

_TELLING: tuple[tuple[str, str], ...] = (
    # A record is of a topic when it has one of the topic's telling fields: each is required there, or one of two.
    ("emissions", "text"),
    ("emissions", "assertions"),
    ("observations", "subject"),
    ("observations", "outcome"),
    ("sightings", "content"),
    ("reviews", "decision"),
    ("attestations", "claim_hash"),
)


def prepare(line: bytes, topic: str | None, now: int, signing: Signing | None = None) -> Prepared | Fault:
    """The record of one line, or why it is refused; the arguments are those of `prepare_read`."""
    found = prepare_read(line, topic, now, signing)
    return found if isinstance(found, Fault) else found[0]


def prepare_read(
    line: bytes, topic: str | None, now: int, signing: Signing | None = None
) -> tuple[Prepared, msgspec.Struct] | Fault:
    """The record of one line, and what is read in it; or why it is refused.

    Args:
        line: a JSON object in UTF-8.
        topic: the logical name of an input topic, or None: then the record's fields tell.
        now: the present time in Unix milliseconds, for an emission without `emitted_at`, and a review without
            `decided_at` that is signed here.
        signing: signs a record that has no signature yet; None: it goes out as it is.
    """
    shape = decode.decode_json(line, _shapes)
    if isinstance(shape, Fault):
        return shape
    chosen = topic or _topic_of(shape)
    if isinstance(chosen, Fault):
        return chosen
    if chosen == "emissions" and shape.emitted_at is UNSET:
        line = _with_time(line, "emitted_at", now)
    if signing is not None and chosen == "reviews" and shape.decided_at is UNSET and shape.signature is UNSET:
        line = _with_time(line, "decided_at", now)
    if signing is not None and shape.signature is UNSET:
        signed_line = _signed(line, chosen, signing)
        if isinstance(signed_line, Fault):
            return signed_line
        line = signed_line
    if len(line) > MAX_INPUT_BYTES:
        return Fault("oversize", f"the record has {len(line)} bytes; an input has {MAX_INPUT_BYTES} at the most")
    kind = _KINDS[chosen]
    record = kind.read(line)
    return record if isinstance(record, Fault) else (Prepared(chosen, kind.key(record).encode(), line), record)


def _topic_of(shape: _Shape) -> str | Fault:
    fits = sorted({topic for topic, field in _TELLING if getattr(shape, field) is not UNSET})
    if len(fits) == 1:
        return fits[0]
    got = f"fields of {' and '.join(fits)}" if fits else "none of their fields"
    return schema_fault("$", "an emission, observation, sighting, review or attestation (or name --topic)", got)


def _with_time(line: bytes, name: str, now: int) -> bytes:
    start = line.index(b"{") + 1  # it decoded as an object
    rest = line[start:]
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return line[:start] + f'"{name}":"'.encode() + times.format_time(now).encode() + b'"' + comma + rest


def _signed(line: bytes, topic: str, signing: Signing) -> bytes | Fault:
    try:
        record: Any = parse_json(line)
        made = signed(record, signing.signer, domain_of(topic, signing.origin))
    except CanonicalError as error:
        return Fault("schema", f"$: expected a record that can be signed, which needs an RFC 8785 form, got {error}")
    start = line.index(b"{") + 1  # it decoded as an object
    comma = b"" if line[start:].lstrip().startswith(b"}") else b","
    return line[:start] + b'"' + SIGNATURE.encode() + b'":"' + made[SIGNATURE].encode() + b'"' + comma + line[start:]


# ---------------------------------------------------------------- validity and key of each kind


def _decode_attestation(line: bytes) -> Attestation | Fault:
    attestation = decode.decode_json(line, _attestations)
    if isinstance(attestation, Fault):
        return attestation
    if attestation.issued_at is not None and times.parse_time(attestation.issued_at) is None:
        return schema_fault("$.issued_at", times.EXPECTED, attestation.issued_at)
    return attestation


def _claim_key(attestation: Attestation) -> str:
    return attestation.claim_hash.lower()  # one claim in either case


class _Kind(NamedTuple):
    """How a topic's records are read, and which of their members is the key."""

    read: Callable[[bytes], Any]
    key: Callable[[Any], str]


_KINDS: Mapping[str, _Kind] = {
    "emissions": _Kind(decode.decode_emission, attrgetter("emission_id")),
    "observations": _Kind(decode.decode_observation, attrgetter("subject.emission_id")),
    "sightings": _Kind(decode_sighting, attrgetter("observation_id")),
    "reviews": _Kind(decode.decode_review, attrgetter("emission_id")),
    "attestations": _Kind(_decode_attestation, _claim_key),
}
INPUT_TOPICS = tuple(_KINDS)
"""The topics that people and observers write to; citations are the lanes' own."""


def read_record(prepared: Prepared) -> msgspec.Struct:
    """The record that `prepare` found valid, in the form that lanes work with."""
    record = _KINDS[prepared.topic].read(prepared.value)
    assert not isinstance(record, Fault), "it was prepared"
    return record
