"""An answer by a strict structured output, as an emission for a sink.

The schema is what `sluice schema emission --strict` prints. Id, time and emitter are the program's: whatever the model
wrote there is replaced.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ...codecs.errors import Fault, schema_fault
from ...codecs.records import Effect, Emission, Emitter
from ...codecs.strict_schema import emission_of_strict
from ...codecs.times import format_time
from ..naming import name_of, trace_headers
from ..recorder import now_ms
from ..sinks import Recorded
from .messages import clean, plain, recorded


def emission_of_answer(
    answer: object,
    *,
    emission_id: str,
    emitter: str | Emitter,
    emitted_at: int | None = None,
    effect: Effect = "internal",
    attempt: int = 0,
) -> Emission | Fault:
    """The emission of an answer.

    Args:
        answer: the JSON that the model wrote: text, bytes, a dictionary, or an object with `model_dump()`. A refusal
            has none: None.
        emission_id: the emission's name.
        emitter: the name of the emitting system, or all that is known of it.
        emitted_at: when the model wrote it, in Unix milliseconds; the present where it is left out.
        effect: where it takes effect.
        attempt: 0, and higher for another try under the same id.

    Returns:
        The emission, or why the answer is none; a wrong answer raises nothing.

    Raises:
        UsageError: a name is empty.
    """
    known: dict[str, Any] = {
        "emission_id": name_of(emission_id, "emission"),
        "emitted_at": format_time(now_ms() if emitted_at is None else emitted_at),
        "emitter": {"system": name_of(emitter, "emitter")} if isinstance(emitter, str) else emitter,
        "effect": effect,
        "attempt": attempt,
        "group": None,
        "part": None,
        "final": None,
    }
    data = _bytes(answer)
    if isinstance(data, Fault):
        return data
    try:
        return emission_of_strict(data, known)
    except (OverflowError, ValueError):
        return schema_fault("$", "numbers that a record can hold", "another")


def recorded_of_answer(
    answer: object,
    *,
    emission_id: str,
    emitter: str | Emitter,
    emitted_at: int | None = None,
    effect: Effect = "internal",
    attempt: int = 0,
    traceparent: str | None = None,
) -> Recorded | Fault:
    """As `emission_of_answer`, ready for a sink; `oversize` where the record is larger than a topic takes.

    Args:
        answer: see there, as the other arguments.
        traceparent: of W3C Trace Context; it goes into the headers.

    Raises:
        UsageError: a name is empty, or the traceparent is none.
    """
    headers = trace_headers(traceparent)
    emission = emission_of_answer(
        answer, emission_id=emission_id, emitter=emitter, emitted_at=emitted_at, effect=effect, attempt=attempt
    )
    return emission if isinstance(emission, Fault) else recorded(emission, headers)


def _bytes(answer: object) -> bytes | Fault:
    if isinstance(answer, bytes):
        return answer
    if isinstance(answer, str):
        return clean(answer).encode()
    if answer is None:
        return schema_fault("$", "the model's answer", "none, as where it refused")
    members = plain(answer)
    try:
        return msgspec.json.encode(members)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return Fault("not-json", f"the answer cannot be written as JSON: {clean(str(error))}")
