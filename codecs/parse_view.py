"""What `sluice parse` prints: an emission in the JSON form with canonical span keys and flags
(docs/reference/records.md, docs/reference/commands.md).

The flags `terminal` and `unknown` come from the vocabulary, not from the emission. The one exception is an annotation's
own `unknown`: it is kept, since it can only make the verdict stricter. This module reads no text; `inline.py` does.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .records import Annotation, AnyStep, Assertion, Derived, Emission, Retrieval
from .spans import Span
from .times import format_time, parse_time
from .vocabulary import recognise


def parsed_form(emission: Emission) -> dict[str, Any]:
    """The JSON-ready form of an emission that `decode_emission` returned; decoding it again changes nothing.

    The signature is left out: it was made of another record, without the flags.
    """
    form: dict[str, Any] = {"emission_id": emission.emission_id, "emitted_at": _time(emission.emitted_at)}
    if emission.emitter is not None:
        form["emitter"] = msgspec.to_builtins(emission.emitter)
    form["effect"] = emission.effect
    form["vocabulary"] = emission.vocabulary
    if emission.text is not None:
        form["text"] = emission.text
    form["assertions"] = [_assertion(assertion, emission.vocabulary) for assertion in emission.assertions or ()]
    if emission.contexts:
        form["contexts"] = dict(emission.contexts)
    form["attempt"] = emission.attempt
    pieces = {"group": emission.group, "part": emission.part, "final": emission.final}
    return form | {name: value for name, value in pieces.items() if value is not None}


def _assertion(assertion: Assertion, vocabulary: str) -> dict[str, Any]:
    form: dict[str, Any] = {"span": _span(assertion.span), "span_key": assertion.span_key}
    if assertion.assertion is not None:
        form["assertion"] = assertion.assertion
    form["kind"] = assertion.kind
    form["provenance"] = [_annotation(annotation, vocabulary) for annotation in assertion.annotations]
    if assertion.effect is not None:
        form["effect"] = assertion.effect
    if assertion.grounded is not None:
        form["grounded"] = assertion.grounded
    if assertion.confidence is not None:
        form["confidence"] = assertion.confidence
    if assertion.chain is not None:
        form["chain"] = [_step(step) for step in assertion.chain]
    if assertion.cites is not None:
        form["cites"] = msgspec.to_builtins(assertion.cites)
    if assertion.checks is not None:
        form["checks"] = list(assertion.checks)
    return form


def _span(span: Span | None) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.to_builtins(span)
    for form in members.keys() & {"chars", "tokens"}:
        members[form] = list(members[form])  # as JSON has it: no tuples
    return members


def _annotation(annotation: Annotation, vocabulary: str) -> dict[str, Any]:
    recognised = recognise(annotation.substrate_class, vocabulary)
    # One form of a terminal, as the in-line encoding reads it: the memo writes it in either case [S §2, §5].
    name = annotation.substrate_class.lower() if recognised.terminal else annotation.substrate_class
    form: dict[str, Any] = {"substrate_class": name}
    if annotation.observation_id is not None:
        form["observation_id"] = annotation.observation_id
    if annotation.ts is not None:
        form["ts"] = _time(annotation.ts)
    if annotation.locator is not None:
        form["locator"] = annotation.locator
    if recognised.terminal:
        form["terminal"] = True
    if annotation.unknown or recognised.name is None:
        form["unknown"] = True
    if annotation.computed:
        form["computed"] = True
    return form


def _step(step: AnyStep) -> dict[str, Any]:
    form: dict[str, Any] = msgspec.to_builtins(step)
    if isinstance(step, Retrieval) and step.timestamp is not None:
        form["timestamp"] = _time(step.timestamp)
    if isinstance(step, Derived):  # both sides are kept [C §9.1], and both may hold times
        form |= {side: [_step(inner) for inner in steps] for side, steps in _sides(step) if steps}
    return form


def _sides(step: Derived) -> tuple[tuple[str, list[AnyStep]], tuple[str, list[AnyStep]]]:
    return ("left", step.left), ("right", step.right)


def _time(value: str | int) -> str:
    """RFC 3339 with a `Z`, digits finer than a millisecond cut off; what is no time stays as it is."""
    milliseconds = parse_time(value)
    return str(value) if milliseconds is None else format_time(milliseconds)
