"""Grounded values outside of the program: their record as JSON, and the emission that an agent's answer becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast, get_args, get_origin

import msgspec

from ...codecs.blocks import MAX_INPUT_BYTES
from ...codecs.decode import decode_emission
from ...codecs.errors import Fault, UsageError
from ...codecs.identifiers import Span
from ...codecs.records import Annotation, Assertion, Cites, Effect, Emission, Emitter, Kind, Retrieval
from ...codecs.times import format_time
from .provenance_chain import ProvenanceChain
from .retrieval_clock import present
from .scope import refuse_if_pure
from .value import UNCITED, Carrier, Cited, Grounded, carry, check_claim, parts

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


PROVENANCE: Final = "provenance"
"""The member of a retrieval's metadata that holds annotations: one, or a list."""


class Asserted(msgspec.Struct, frozen=True):
    """An answer with what an emission says of it besides.

    Attributes:
        value: the answer; a plain text is an assertion without a chain.
        kind, effect: as in docs/reference/records.md.
        provenance: annotations, before those of its retrievals.
        grounded: whether it claims to be; None: what its chain bears.
        checks: what must hold for it to hold, as docs/checks.md writes them; without any, its sentence may give one.
    """

    value: Grounded[str] | str
    kind: Kind = "assertion"
    effect: Effect | None = None
    provenance: Sequence[Annotation | dict[str, Any]] = ()
    grounded: bool | None = None
    checks: Sequence[str] = ()


def emission(
    emission_id: str,
    emitter: str | Emitter,
    *assertions: Grounded[str] | str | Asserted,
    emitted_at: str | int | None = None,
    effect: Effect = "internal",
    attempt: int = 0,
    vocabulary: str = "1.0",
    separator: str = "\n",
) -> Emission:
    """One emission with an assertion for each answer, in order; `msgspec.json.encode` makes it a line.

    Args:
        emission_id: identifies it; a re-emission keeps it and counts `attempt` up.
        emitter: the system that emits, or all of the record.
        assertions: answers; `Asserted` to say more about one.
        emitted_at: RFC 3339 or Unix ms; the present by `using_clock`'s clock where it is left out.
        effect: where it takes effect; policy and assertions can only raise it.
        attempt: its number; the first is 0.
        vocabulary: the version of the vocabulary of its annotations.
        separator: what stands between two answers in the emission's text.

    Raises:
        UsageError: it would come back as a dead letter; the sentence says why.
        UngroundedReturn: an `Asserted` claims to be grounded, and its chain does not bear it.
    """
    contexts: dict[str, str] = {}
    texts: list[str] = []
    start, made = 0, list[Assertion]()
    for one in assertions:
        asserted = one if isinstance(one, Asserted) else Asserted(one)
        text = _text(asserted.value)
        made.append(_assertion(asserted, Span(chars=(start, start + len(text))), contexts))
        texts.append(text)
        start += len(text) + len(separator)
    whole = Emission(
        emission_id=emission_id,
        emitted_at=format_time(present()) if emitted_at is None else emitted_at,
        emitter=emitter if isinstance(emitter, Emitter) else Emitter(system=emitter),
        effect=effect,
        vocabulary=vocabulary,
        text=separator.join(texts),
        assertions=made,
        contexts={name: context for context, name in contexts.items()},
        attempt=attempt,
    )
    data = msgspec.json.encode(whole)
    if len(data) > MAX_INPUT_BYTES:
        raise UsageError("an emission is too large", path=emission_id, expected=f"{MAX_INPUT_BYTES} bytes at the most")
    read = decode_emission(data)
    if isinstance(read, Fault):
        raise UsageError(f"no emission: {read.detail}", path=emission_id)
    return whole


def _text(value: Grounded[str] | str) -> str:
    text = parts(value).value
    if not isinstance(text, str):
        raise UsageError("an assertion is a text", expected="Grounded[str]", got=type(text).__name__, hint="map it")
    return text


def _assertion(asserted: Asserted, span: Span, contexts: dict[str, str]) -> Assertion:
    """One assertion; the context that it cites is filed under a name."""
    whole = parts(asserted.value)
    provenance = [_annotation(one) for one in asserted.provenance]
    for step in whole.chain.retrievals():
        provenance += [one for one in _annotations(step) if one not in provenance]
    common: dict[str, Any] = {
        "span": span,
        "kind": asserted.kind,
        "effect": asserted.effect,
        "provenance": provenance or None,
        "checks": list(asserted.checks) or None,
    }
    if asserted.grounded:
        check_claim("an assertion", whole.chain)
    if not isinstance(asserted.value, Carrier):
        return Assertion(**common)
    cites = None
    if whole.cited.contexts:
        context = "\n\n".join(whole.cited.contexts)
        cites = Cites(contexts.setdefault(context, f"ctx-{len(contexts) + 1}"), whole.cited.strictly)
    return Assertion(
        **common,
        grounded=whole.chain.grounded if asserted.grounded is None else asserted.grounded,
        confidence=whole.chain.confidence,
        chain=list(whole.chain),
        cites=cites,
    )


def _annotations(step: Retrieval) -> list[Annotation]:
    """What a retrieval names as its substrates, seen when it was made."""
    named = step.metadata.get(PROVENANCE, [])
    some = [_annotation(one) for one in (named if isinstance(named, list) else [named])]  # pyright: ignore[reportUnknownVariableType]
    return [one if one.ts is not None else msgspec.structs.replace(one, ts=step.timestamp) for one in some]


def _annotation(one: Any) -> Annotation:
    try:
        return one if isinstance(one, Annotation) else msgspec.convert(one, Annotation)
    except msgspec.ValidationError as error:
        raise UsageError(f"no annotation: {error}", path=f"metadata.{PROVENANCE}") from error
