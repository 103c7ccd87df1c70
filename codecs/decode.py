"""Bytes to input records: strict, with errors that say the path, what was expected and what is there; the faster
readers of the fold's two most frequent records; sightings and citations, which the bind lane joins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sized
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar, get_args

import msgspec
from msgspec.structs import force_setattr

from . import inline, records, times
from .errors import Fault, cut, schema_fault, too_many
from .identifiers import (
    IDENTIFIER_CHARACTERS,
    LAST_OFFSET,
    LENGTH,
    Span,
    chars_key,
    check_names,
    is_digest,
    resolve_pointer,
    span_key,
)
from .json_text import MAX_NESTING, decode_any, decoder_of, deeper_than, why_not_json
from .records import (
    MAX_ASSERTIONS,
    Annotation,
    AnyStep,
    Assertion,
    Citation,
    Derived,
    Emission,
    Emitter,
    Observation,
    Retrieval,
    Review,
    Sighting,
    Subject,
)

R = TypeVar("R", bound=msgspec.Struct)

_WORDING = re.compile(r"(?P<problem>.*?)(?: - at (?:`key` in )?`(?P<path>[^`]*)`)?", re.DOTALL)
_EXPECTED_GOT = re.compile(r"Expected `(?P<expected>.*)`, got `(?P<got>.*)`", re.DOTALL)


def decode_json(data: bytes | None, decoder: msgspec.json.Decoder[R]) -> R | Fault:
    """Decodes one value with a typed decoder; `not-json` where it is not JSON, `schema` where it is another shape."""
    if not data:
        return Fault("not-json", "the value is empty; expected a JSON object")
    if deeper_than(MAX_NESTING, data):
        return schema_fault("$", f"at most {MAX_NESTING} arrays and objects inside one another", "more")
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        return _not_json(data) or _as_fault(str(error), data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Fault("not-json", f"the value is not JSON: {why_not_json(data, error)}")


def _not_json(data: bytes) -> Fault | None:
    """The typed decoder stops at the first wrong shape: what comes after it may not even be JSON."""
    try:
        decode_any(data)
    except msgspec.ValidationError:
        return None  # JSON, with a number that nothing can hold
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Fault("not-json", f"the value is not JSON: {why_not_json(data, error)}")
    return None


def _as_fault(message: str, data: bytes) -> Fault:
    """msgspec's sentence in our wording: path, what was expected, what is there."""
    matched = _WORDING.fullmatch(message)
    problem, path = (matched["problem"], matched["path"] or "$") if matched else (message, "$")
    if both := _EXPECTED_GOT.fullmatch(problem):
        return schema_fault(path, both["expected"], both["got"])
    if problem.startswith("Object missing required field"):
        return schema_fault(path, f"the field {problem.split('`')[1]}", "nothing")
    got = _value_at(data, path)
    if path == "$.assertions" and problem.startswith("Expected `array` of length <=") and isinstance(got, Sized):
        return too_many(path, "assertions", records.MAX_ASSERTIONS, len(got))
    if choices := _CHOICES.get(".".join(path.split(".")[-2:])) or _CHOICES.get(path.rpartition(".")[2]):
        return schema_fault(path, "one of " + ", ".join(choices), got)
    if "matching regex" in problem:
        return schema_fault(path, _PATTERNED.get(path.rpartition(".")[2], "an identifier (records.md)"), got)
    if problem.startswith("Expected "):
        return schema_fault(path, problem.removeprefix("Expected "), got)
    return Fault("schema", f"{path}: {problem[:1].lower()}{problem[1:]}")


_CHOICES: dict[str, tuple[str, ...]] = {
    "effect": get_args(records.Effect),
    "kind": get_args(records.Kind),
    "session.kind": get_args(records.SessionKind),
    "outcome": get_args(records.Outcome),
    "tier": get_args(records.Tier),
    "coverage": get_args(records.CoverageLevel),
    "decision": ("admit", "refuse"),
    "verdict": ("VERIFIED", "SUPPORTED", "DISPUTED", "FALSE", "UNVERIFIABLE"),
    "canonicalisation_version": ("0.2", "0.3"),
    "step": ("retrieval", "prompt-transform", "agent-handoff", "derived", "severed", "discard"),
}
_PATTERNED = {
    "claim_hash": "0x and 64 hex digits",
    "validator_did": "a DID",
    "canonical_hash": "sha256: and 64 lower-case hex digits",
    "digest": "sha256: and 64 lower-case hex digits",
}
_STEP_OF_PATH = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def _value_at(data: bytes, path: str) -> object:
    """What stands at a path of msgspec's (`$.a[0].b`); a dictionary's members it only calls `[...]`."""
    try:
        value: Any = decode_any(data)
    except msgspec.ValidationError:
        return "another value"
    for name, place in _STEP_OF_PATH.findall(path):
        try:
            value = value[name] if name else value[int(place)]
        except (LookupError, TypeError):
            return "another value"
    return "another value" if "[...]" in path else value


_emissions = decoder_of(Emission)
_observations = decoder_of(Observation)
_reviews = msgspec.json.Decoder(Review)


def decode_emission(data: bytes | None) -> Emission | Fault:
    """An emission in the JSON form: every assertion has `span` and `span_key`, every time is one."""
    emission = decode_json(data, _emissions)
    if isinstance(emission, Fault):
        return emission
    return too_annotated(emission) or check_names(_names_of(emission)) or normalise_emission(emission)


def too_annotated(emission: Emission, most: int = records.MAX_ASSERTIONS) -> Fault | None:
    """`too-many-annotations` where an emission has more assertions, or annotations of all of them, than `most`."""
    assertions, count = emission.assertions or (), 0
    for assertion in assertions:
        provenance = assertion.provenance
        count += len(provenance) if isinstance(provenance, list) else provenance is not None
    if count > most:
        return too_many("$.assertions", "annotations", most, count)
    return too_many("$.assertions", "assertions", most, len(assertions)) if len(assertions) > most else None


def _names_of(emission: Emission) -> Iterator[tuple[str, str | None]]:
    """Every identifier of an emission, with its path."""
    yield "$.emission_id", emission.emission_id
    yield "$.group", emission.group
    if emission.emitter is not None:
        for name in ("system", "model", "prompt"):
            yield f"$.emitter.{name}", getattr(emission.emitter, name)
    for name in emission.contexts:
        yield "$.contexts", name
    for place, assertion in enumerate(emission.assertions or ()):
        for at, annotation in enumerate(assertion.annotations):
            which = f"[{at}]" if isinstance(assertion.provenance, list) else ""
            yield f"$.assertions[{place}].provenance{which}.observation_id", annotation.observation_id
        if assertion.cites is not None:
            yield f"$.assertions[{place}].cites.context", assertion.cites.context
        if assertion.span is not None:
            yield f"$.assertions[{place}].span.tokenizer", assertion.span.tokenizer
        if assertion.proposal is not None:
            yield f"$.assertions[{place}].proposal.by", assertion.proposal.by
            yield f"$.assertions[{place}].proposal.prompt", assertion.proposal.prompt


def normalise_emission(emission: Emission) -> Emission | Fault:
    """Either encoding to the JSON form, and every rule that goes beyond the schema, but that of a JSON form's names.
    Completes the assertions of the record, which must have just been decoded, in place."""
    fault = _check_time("$.emitted_at", emission.emitted_at)
    if fault is not None:
        return fault
    if emission.assertions is None:
        if emission.text is None:
            return schema_fault("$", "`assertions`, or an annotated `text`", "neither")
        read = inline.parse_inline(emission)
        if isinstance(read, Fault):
            return read
        emission = read
        fault = _check_inline_checks(emission.assertions or ())
        if fault is not None:
            return fault
    seen: set[str] = set()
    for place, assertion in enumerate(emission.assertions or ()):
        fault = _place_assertion(emission, assertion, place, seen)
        if fault is not None:
            return fault
    return emission


def _check_inline_checks(assertions: Iterable[Assertion]) -> Fault | None:
    """The bounds that the schema sets for checks, of those that groups hold."""
    for assertion in assertions:
        checks = assertion.checks or ()
        if len(checks) > records.MAX_CHECKS:
            return schema_fault("$.text", f"at most {records.MAX_CHECKS} checks of a sentence", str(len(checks)))
        longest = max(map(len, checks), default=0)
        if longest > records.MAX_CHECK_LENGTH:
            return schema_fault("$.text", f"checks of at most {records.MAX_CHECK_LENGTH} characters", str(longest))
    return None


def _place_assertion(emission: Emission, assertion: Assertion, place: int, seen: set[str]) -> Fault | None:
    """Gives an assertion its span and key in place: the record has just been decoded, and nobody else holds it."""
    span, text, key = assertion.span, emission.text, None
    if span is not None and text is not None and assertion.assertion is None:
        key = chars_key(span, len(text))  # nearly always: nothing else can be wrong with it
    if key is None:
        found = _closer_look(emission, assertion, f"$.assertions[{place}]", place)
        if isinstance(found, Fault):
            return found
        key = found
    if key in seen:
        return schema_fault(f"$.assertions[{place}].span", "a span that no other assertion has", key)
    seen.add(key)
    if assertion.span_key != key:
        force_setattr(assertion, "span_key", key)
    return _check_assertion_times(place, assertion)


def _closer_look(emission: Emission, assertion: Assertion, path: str, place: int) -> str | Fault:
    """The key of an assertion's span, whatever its form; an assertion without a span gets one."""
    span, text = assertion.span, emission.text
    if span is None:
        if assertion.assertion is None:
            return schema_fault(path, "`span` or `assertion`", "neither")
        span = _memo_span(assertion.assertion, text, place)
        force_setattr(assertion, "span", span)
    problem = span.problem() or span.hidden()
    if problem is not None:
        return schema_fault(f"{path}.span", *problem)
    if not span.in_range(None if text is None else len(text)):
        length = "no text" if text is None else f"a text of {len(text)} code points"
        return Fault("span-out-of-range", f"{path}.span: {span_key(span)} does not lie in {length}")
    if assertion.assertion is None:
        if text is None:
            return schema_fault(path, "`text` in the emission, or `assertion` here", "neither")
        if span.path is not None and _at(_structured(text), span.path) is _NOTHING:
            where = cut(repr(span.path))
            return Fault("span-out-of-range", f"{path}.span: nothing stands at {where} in the text")
    elif span.chars is not None and text is not None and text[slice(*span.chars)] != assertion.assertion:
        return schema_fault(f"{path}.assertion", "the text of its span", assertion.assertion)
    return span_key(span)


def assertion_text(emission: Emission, assertion: Assertion) -> str:
    """What an assertion of an emission that `decode_emission` returned says. Empty for token offsets without an
    `assertion` text."""
    if assertion.assertion is not None:
        return assertion.assertion
    span, text = assertion.span, emission.text or ""
    if span is None or span.tokens is not None:
        return ""
    if span.chars is not None:
        start, end = span.chars
        return text[start:end]
    value = _at(_structured(text), span.path or "")
    if value is _NOTHING:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _memo_span(text: str, whole: str | None, place: int) -> Span:
    if whole is not None and text and whole.count(text) == 1:
        start = whole.index(text)
        if whole.find(text, start + 1) < 0:  # count() does not see overlapping occurrences
            return Span(chars=(start, start + len(text)))
    return Span(path=f"/assertions/{place}")


_NOTHING: Final = object()  # where None is a value: JSON's null


@lru_cache(maxsize=1)  # the assertions of one emission point into one text: decoded once, not once each
def _structured(text: str) -> Any:
    data = text.encode()
    try:
        return _NOTHING if deeper_than(MAX_NESTING, data) else decode_any(data)
    except msgspec.DecodeError:
        return _NOTHING


def _at(document: Any, pointer: str) -> Any:
    try:
        return resolve_pointer(document, pointer)
    except LookupError:
        return _NOTHING


def _check_time(path: str, value: str | int | None) -> Fault | None:
    if value is not None and times.parse_time(value) is None:
        return schema_fault(path, times.EXPECTED, value)
    return None


def _check_assertion_times(place: int, assertion: Assertion) -> Fault | None:
    for at, annotation in enumerate(assertion.annotations):
        if annotation.ts is not None and times.parse_time(annotation.ts) is None:
            which = f"[{at}]" if isinstance(assertion.provenance, list) else ""
            return _check_time(f"$.assertions[{place}].provenance{which}.ts", annotation.ts)
    if assertion.proposal is not None:
        fault = _check_time(f"$.assertions[{place}].proposal.at", assertion.proposal.at)
        if fault is not None:
            return fault
    if assertion.session is not None:
        fault = _check_time(f"$.assertions[{place}].session.at", assertion.session.at)
        if fault is not None:
            return fault
    return check_chain(f"$.assertions[{place}].chain", assertion.chain) if assertion.chain else None


def check_chain(path: str, chain: list[AnyStep]) -> Fault | None:
    """The first time in a chain that is none."""
    for place, step in enumerate(chain):
        if isinstance(step, Retrieval):
            fault = _check_time(f"{path}[{place}].timestamp", step.timestamp)
        elif isinstance(step, Derived):
            fault = check_chain(f"{path}[{place}].left", step.left) or check_chain(f"{path}[{place}].right", step.right)
        else:
            fault = None
        if fault is not None:
            return fault
    return None


def decode_observation(data: bytes | None) -> Observation | Fault:
    """An observation whose time is one and whose span is well formed."""
    observation = decode_json(data, _observations)
    if isinstance(observation, Fault):
        return observation
    names = (
        ("$.observation_id", observation.observation_id),
        ("$.observer", observation.observer),
        ("$.subject.emission_id", observation.subject.emission_id),
        ("$.subject.span.tokenizer", observation.subject.span.tokenizer),
        ("$.judge", observation.judge),
        ("$.coverage_by", observation.coverage_by),
    )
    return check_names(names) or normalise_observation(observation)


def normalise_observation(observation: Observation) -> Observation | Fault:
    """Every rule that goes beyond the schema."""
    span = observation.subject.span
    if times.parse_time(observation.observed_at) is not None and chars_key(span, LAST_OFFSET) is not None:
        return observation  # nearly always
    return _check_time("$.observed_at", observation.observed_at) or _check_span("$.subject.span", span) or observation


def decode_review(data: bytes | None) -> Review | Fault:
    """A review whose time is one and whose span is well formed."""
    review = decode_json(data, _reviews)
    if isinstance(review, Fault):
        return review
    names = (
        ("$.emission_id", review.emission_id),
        ("$.reviewer", review.reviewer),
        ("$.role", review.role),
        ("$.span.tokenizer", review.span.tokenizer),
    )
    fault = check_names(names)
    return fault or _check_time("$.decided_at", review.decided_at) or _check_span("$.span", review.span) or review


def _check_span(path: str, span: Span) -> Fault | None:
    problem = span.problem() or span.hidden()
    if problem is not None:
        return schema_fault(path, *problem)
    if not span.in_range(None):
        return Fault("span-out-of-range", f"{path}: {span_key(span)} is empty or runs backwards")
    return None


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


MAX_CONTENT_BYTES: Final = 64_000
"""The text of a sighting (docs/reference/records.md: «at most 64 kB»)."""
MAX_TEXT: Final = 20_000
"""Characters of a sentence that a citation has, as observers read it (docs/observing.md)."""

_sightings = decoder_of(Sighting)
_citations = decoder_of(Citation)


def decode_sighting(data: bytes | None) -> Sighting | Fault:
    """A sighting whose time is one, and whose content is not too long."""
    sighting = decode_json(data, _sightings)
    if isinstance(sighting, Fault):
        return sighting
    names = (("$.observation_id", sighting.observation_id), ("$.observer", sighting.observer))
    fault = check_names(names)
    if fault is not None:
        return fault
    if times.parse_time(sighting.observed_at) is None:
        return schema_fault("$.observed_at", times.EXPECTED, sighting.observed_at)
    length = len(sighting.content.encode()) if isinstance(sighting.content, str) else 0
    if length > MAX_CONTENT_BYTES:
        return schema_fault("$.content", f"at most {MAX_CONTENT_BYTES} octets", f"{length}")
    return sighting


def decode_citation(data: bytes | None) -> Citation | Fault:
    """A citation whose time is one, whose span is well formed, and whose sentence is not too long."""
    citation = decode_json(data, _citations)
    if isinstance(citation, Fault):
        return citation
    if times.parse_time(citation.cited_at) is None:
        return schema_fault("$.cited_at", times.EXPECTED, citation.cited_at)
    problem = citation.span.problem() or citation.span.hidden()
    if problem is not None:
        return schema_fault("$.span", *problem)
    names = (
        ("$.span.tokenizer", citation.span.tokenizer),
        ("$.emission_id", citation.emission_id),
        ("$.observation_id", citation.observation_id),
        ("$.proposer", citation.proposer),
    )
    fault = check_names(names)
    if fault is not None:
        return fault
    if not citation.span.in_range(None):
        return Fault("span-out-of-range", f"$.span: {span_key(citation.span)} is empty or runs backwards")
    if len(citation.text or "") > MAX_TEXT:
        return schema_fault("$.text", f"at most {MAX_TEXT} characters", f"{len(citation.text or '')}")
    return citation
