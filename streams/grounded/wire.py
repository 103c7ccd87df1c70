"""Grounded values as JSON or MessagePack, and back: `{"value": …, "chain": […], "cites": {…}}`.

For msgspec: pass `enc_hook` to its encoders and `dec_hook` to its decoders, and any struct may have fields of
`Grounded[T]`. What comes back carries what was written and no more: its chain says whether it may claim to be grounded.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast, get_args, get_origin

import msgspec

from .carrier import UNCITED, Carrier, Cited, carry, parts
from .provenance_chain import ProvenanceChain
from .scope import refuse_if_pure
from .value import Grounded

T = TypeVar("T")


class Record(msgspec.Struct, omit_defaults=True):
    """What a grounded value is on the wire."""

    value: Any
    chain: list[dict[str, Any]] = []
    cites: CitedRecord | None = None


class CitedRecord(msgspec.Struct):
    """What a grounded value may quote from, on the wire."""

    contexts: list[str]
    strictly: bool


def to_record(value: Grounded[Any]) -> dict[str, Any]:
    """A grounded value as plain values; what it carries has to be something that msgspec knows.

    Raises:
        PurityViolation: under `@grounded_pure`: the plain value lies in the record [C §9.3].
    """
    refuse_if_pure("to_record")
    whole = parts(value)
    cites = CitedRecord(list(whole.cited.contexts), whole.cited.strictly) if whole.cited.contexts else None
    record = Record(whole.value, whole.chain.to_records(), cites)
    return msgspec.to_builtins(record, enc_hook=enc_hook)


def from_record(record: dict[str, Any], type: Any = Any) -> Grounded[Any]:
    """The inverse of `to_record`.

    Args:
        type: what it carries.

    Raises:
        msgspec.ValidationError: the record, its chain or its value is not what it should be.
    """
    read = msgspec.convert(record, Record)
    value = msgspec.convert(read.value, type, dec_hook=dec_hook)
    cited = UNCITED if read.cites is None else Cited(tuple(read.cites.contexts), read.cites.strictly)
    return carry(Grounded, value, ProvenanceChain(read.chain), cited)


def enc_hook(value: Any) -> Any:
    """For msgspec's encoders."""
    if isinstance(value, Carrier):
        return to_record(cast("Grounded[Any]", value))
    if isinstance(value, ProvenanceChain):
        return value.to_records()
    raise NotImplementedError(f"{type(value).__name__} is no grounded value")


def dec_hook(wanted: Any, value: Any) -> Any:
    """For msgspec's decoders."""
    origin = get_origin(wanted) or wanted
    if origin is Grounded:
        inner = get_args(wanted)
        return from_record(value, inner[0] if inner and not isinstance(inner[0], TypeVar) else Any)
    if origin is ProvenanceChain:
        return ProvenanceChain(value)
    raise NotImplementedError(f"{wanted} is no grounded value")
