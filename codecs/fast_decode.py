"""The fold's door to its two most frequent records: as `decode.py`, in 60% of the time.

A pattern costs a call and a match for each identifier, 0.9 of an observation's 1.4 us and 2 of an emission's 2.9. Here
all identifiers of a record are looked at in one pass. Only the strict decoder reports what is wrong with a record: so
there is one wording of every fault, and what is read here is exactly what is decoded there, field by field. The structs
are subclasses without the patterns, so equal to none that `decode.py` gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from .decode import decode_emission, decode_observation, normalise_emission, normalise_observation, too_annotated
from .digests import LENGTH, is_digest
from .errors import Fault
from .json_decoding import decoder_of
from .nesting import MAX_NESTING, deeper_than
from .records import MAX_ASSERTIONS, Annotation, Assertion, Emission, Emitter, Observation, Subject
from .spans import IDENTIFIER_CHARACTERS

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
_Digest = Annotated[str, msgspec.Meta(min_length=LENGTH, max_length=LENGTH)]


class _Subject(Subject, frozen=True, gc=False, kw_only=True):
    emission_id: _Name
    digest: _Digest | None = None


class _Observation(Observation, frozen=True, gc=False, kw_only=True):
    observation_id: _Name
    observer: _Name
    subject: _Subject


class _Annotation(Annotation, frozen=True, gc=False, kw_only=True):
    observation_id: _Name | None = None


class _Assertion(Assertion, frozen=True, gc=False, kw_only=True):
    provenance: _Annotation | list[_Annotation] | None = None  # pyright: ignore[reportIncompatibleVariableOverride]


class _Emitter(Emitter, frozen=True, gc=False, kw_only=True):
    system: _Name | None = None
    model: _Name | None = None
    prompt: _Name | None = None


class _Emission(Emission, frozen=True, gc=False, kw_only=True):
    emission_id: _Name
    group: _Name | None = None
    emitter: _Emitter | None = None
    assertions: Annotated[list[_Assertion], msgspec.Meta(max_length=MAX_ASSERTIONS)] | None = (  # pyright: ignore[reportIncompatibleVariableOverride]
        None
    )


_fold_emissions = decoder_of(_Emission).decode
_fold_observations = decoder_of(_Observation).decode


def read_emission(data: bytes | None) -> Emission | Fault:
    """As `decode.decode_emission`."""
    if not data or deeper_than(MAX_NESTING, data):
        return decode_emission(data)
    try:
        emission = _fold_emissions(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_emission(data)
    fault = too_annotated(emission)
    if fault is not None:
        return fault
    names, emitter = [emission.emission_id, emission.group or ""], emission.emitter
    if emitter is not None:
        names += (emitter.system or "", emitter.model or "", emitter.prompt or "")
    names += emission.contexts
    for assertion in emission.assertions or ():
        if assertion.cites is not None:
            names.append(assertion.cites.context)
        if assertion.span is not None and assertion.span.tokenizer is not None:
            names.append(assertion.span.tokenizer)
        if assertion.proposal is not None:
            names += (assertion.proposal.by, assertion.proposal.prompt or "")
        names += [one.observation_id for one in assertion.annotations if one.observation_id is not None]
    if _foreign(names):
        return decode_emission(data)
    return normalise_emission(emission)


def read_observation(data: bytes | None) -> Observation | Fault:
    """As `decode.decode_observation`."""
    if not data or deeper_than(MAX_NESTING, data):
        return decode_observation(data)
    try:
        observation = _fold_observations(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode_observation(data)
    subject = observation.subject
    names = (
        observation.observation_id,
        observation.observer,
        subject.emission_id,
        subject.span.tokenizer or "",
        observation.judge or "",
        observation.coverage_by or "",
    )
    if _foreign(names) or (subject.digest is not None and not is_digest(subject.digest)):
        return decode_observation(data)
    return normalise_observation(observation)


_PLAIN = IDENTIFIER_CHARACTERS.replace(b"%", b"")


def _foreign(names: Iterable[str]) -> bool:
    """Whether any of the names has a character that no identifier has, or one that may encode another."""
    return bool("".join(names).encode().translate(None, _PLAIN))
