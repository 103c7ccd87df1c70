"""`explain` for strangers' readers: the story of an emission (explanation.py), with every free text in a frame [V §5].

The story is told by the code of `sluice explain`, from the ledger, in a thread of its own: a lane that is folded from
its beginning must not hold up other answers. Its texts are sanitised there; here they are put where a client looks for
untrusted text, and whatever else is no identifier goes with them. What was verified stands in a frame first; of an
emitter's words that were admitted in part, what no check speaks of is left out, as in the records. The broker's address
is left out: clients have no need of it.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from ...codecs.records import SanitationMeta
from ...codecs.spans import parse_span_key
from ...codecs.vocabulary import recognise
from ...streams.sanitise import WARNING, Trace
from ..explain.explain import explain
from ..explain.explanation import Assertion, Explanation
from ..ledger.log_reader import open_logs
from ..settings.clock import now_ms
from ..settings.settings import Settings
from .answer_pages import Badly, cursor_of, start_of
from .checked import HOLDING

FREE: Final = frozenset({"rendered", "assertion", "text", "check", "place", "looked_at", "locator", "detail"})
"""Members that hold what strangers wrote, whatever stands in them; a reviewer's `reason` is one as well."""
NAMES: Final = frozenset(
    {"emission_id", "observation_id", "observer", "judge", "reviewer", "emitter", "locator", "looked_at"}
)
"""Members that hold identifiers which strangers chose; a span's key is one where it names a pointer or a tokenizer."""
UNCHECKED: Final = frozenset({"marked", "left_open"})
"""Members that show what no check speaks of: for people, not for models."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9._~:/+=@%#-]{0,2048}")


class ExplainedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The story of an emission, a page of its assertions at a time; members as `sluice explain --json` has them."""

    type_: Literal["sluice:Explanation"] = field(name="@type", default="sluice:Explanation")
    version: Literal["1.0"] = field(name="@version", default="1.0")
    untrusted_text: Annotated[
        dict[str, Any], Meta(description="The frame with the emission's id, which its emitter chose")
    ] = field(name="_untrusted_text")
    lane: int
    lanes: int
    ledger: dict[str, Any]
    attempts: list[dict[str, Any]]
    assertions: list[dict[str, Any]]
    inputs: list[dict[str, Any]]
    as_of: str
    next_cursor: str | UnsetType = UNSET
    meta: SanitationMeta = field(name="_meta")


class _Cancelled(Exception):
    """Nobody waits for the story any more."""


async def explanation_from_broker(
    settings: Settings, emission_id: str, span_key: str | None, tell: Callable[[int, int], None]
) -> Explanation:
    """The story from the broker.

    Args:
        settings: the broker.
        emission_id: whose.
        span_key: canonical; None for all of its assertions.
        tell: how many blocks of how many have been read; called in this loop.

    Raises:
        Badly: the span is no span key.
        DoesNotHoldError: the ledger knows nothing of it, or does not hold.
        UnreachableError: no broker answers.
    """
    if span_key is not None and parse_span_key(span_key) is None:
        raise Badly("the argument span is wrong", expected="a span key such as c:0-43, t:name:3-9 or p:/a/b")
    loop, cancelled, last = asyncio.get_running_loop(), threading.Event(), -1

    def progress(offset: int, first: int, end: int) -> None:
        nonlocal last
        if cancelled.is_set():
            raise _Cancelled
        percent = 100 * (offset + 1 - first) // max(1, end - first)
        if percent != last:
            last = percent
            loop.call_soon_threadsafe(tell, offset + 1 - first, end - first)

    async def read() -> Explanation:
        async with open_logs(settings) as logs:
            return await explain(logs, emission_id, span_key, now_ms(), progress)

    try:
        return await asyncio.to_thread(lambda: asyncio.run(read()))
    finally:
        cancelled.set()


def framed(explanation: Explanation, limit: int, cursor: str | None, now: str) -> ExplainedAnswer:
    """The answer: a page of the story's assertions, and the inputs that are about them."""
    question = ("explain", explanation.emission_id, *{one.span_key for one in explanation.assertions[:1]})
    start = start_of(cursor, *question)
    page = explanation.assertions[start : start + limit]
    keys = {one.span_key for one in page}
    inputs = [one for one in explanation.inputs if one.span_key in keys or (start == 0 and one.span_key is UNSET)]
    ledger = {name: value for name, value in explanation.ledger.items() if name in ("height", "block", "time")}
    more = start + limit < len(explanation.assertions)
    return ExplainedAnswer(
        untrusted_text=_frame({"emission_id": explanation.emission_id}),
        lane=explanation.lane,
        lanes=explanation.lanes,
        ledger=ledger,
        attempts=_framed(msgspec.to_builtins(explanation.attempts)),
        assertions=[_framed(_as_recorded(one)) for one in page],
        inputs=_framed(msgspec.to_builtins(inputs)),
        as_of=now,
        next_cursor=cursor_of(start + len(page), *question) if more else UNSET,
        meta=Trace().meta(),
    )


def _as_recorded(assertion: Assertion) -> dict[str, Any]:
    """An assertion's story with its text as the record of its admission shows it."""
    held = [one.assertion for one in assertion.verdicts if one.status in HOLDING and one.assertion is not UNSET]
    return msgspec.to_builtins(assertion) | ({"text": held[-1]} if held else {})


def _framed(value: Any) -> Any:
    """The same with every free text moved into a frame in the object that it stood in."""
    if isinstance(value, list):
        return [_framed(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    outside: dict[str, Any] = {}
    inside: dict[str, Any] = {}
    members = cast("dict[str, Any]", value)
    review = "decision" in members
    for name, member in members.items():
        if name in UNCHECKED:
            continue
        free = name in FREE or name in NAMES or (review and name == "reason")
        free = free or (name == "span_key" and not str(member).startswith("c:"))
        free = free or (name == "substrate_class" and not _is_class(member))
        if free or not _IDENTIFIER.fullmatch(name) or not _is_outside(member):
            inside[name] = member
        else:
            outside[name] = _framed(member)
    if inside:
        outside["_untrusted_text"] = _frame(inside)
    return outside


def _is_class(name: object) -> bool:
    """Whether a class is of a loaded vocabulary or a terminal; any other name is whatever its writer liked."""
    return isinstance(name, str) and recognise(name).name is not None


def _frame(inside: dict[str, Any]) -> dict[str, Any]:
    return {"@type": "veritas:UntrustedValidatorText", "warning": WARNING, **inside}


def _is_outside(member: Any) -> bool:
    """Whether a text, or each of a list, is of the characters of identifiers and times. Objects are looked into."""
    if isinstance(member, str):
        return _IDENTIFIER.fullmatch(member) is not None
    if isinstance(member, list):
        return all(_is_outside(one) for one in cast("list[Any]", member))
    return True
