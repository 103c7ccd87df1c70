"""From a record in a program to the record on the wire: valid by the lanes' own decoders, and keyed as they expect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from ...codecs.errors import Fault
from ...codecs.records import Attestation, Emission, Observation, Review, Sighting
from ...codecs.signatures import Signing
from ..kafka.input_records import Prepared, prepare
from .drafts import Draft
from .errors import InvalidRecordError

Json: TypeAlias = Mapping[str, Any] | bytes | str
"""A record without its struct: a mapping of JSON-ready values, or JSON text (`bytes` go out as they are)."""
AnyEmission: TypeAlias = Emission | Draft | Json
AnyObservation: TypeAlias = Observation | Json
AnySighting: TypeAlias = Sighting | Json
AnyReview: TypeAlias = Review | Json
AnyAttestation: TypeAlias = Attestation | Json
AnyRecord: TypeAlias = Emission | Draft | Observation | Sighting | Review | Attestation | Json

_encode = msgspec.json.Encoder().encode


def prepared(topic: str, record: AnyRecord, now: int, signing: Signing | None = None) -> Prepared:
    """The record for an input topic.

    Args:
        topic: its logical name.
        record: a struct, a draft, a mapping, or JSON.
        now: Unix milliseconds, for an emission without `emitted_at`.
        signing: who signs a record without a signature; None leaves it unsigned.

    Raises:
        InvalidRecordError: the lanes would refuse it.
    """
    result = prepare(_encoded(topic, record), topic, now, signing)
    if isinstance(result, Fault):
        raise InvalidRecordError(topic, result)
    return result


def _encoded(topic: str, record: AnyRecord) -> bytes:
    if isinstance(record, bytes):
        return record
    try:
        if isinstance(record, str):
            return record.encode()
        return _encode(record.build() if isinstance(record, Draft) else record)
    except (TypeError, ValueError, RecursionError) as error:  # lone surrogates, sets, a mapping with keys of any kind
        raise InvalidRecordError(topic, Fault("not-json", f"the record is no JSON: {error}")) from None
