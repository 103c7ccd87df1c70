"""A record of the topic `verdicts` as the service reads it, filters it, and words it for programs. Pure.

Only identifiers, enumerated values, numbers and times stand in it, and what does not look like that is refused: who may
write to the topic is for the broker to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

import msgspec

from ...codecs.decode import decode_json
from ...codecs.errors import Fault
from ...codecs.json_decoding import decode_any
from ...codecs.records import Effect, Status
from ...codecs.times import parse_time

STATUSES: Final = frozenset({"pending", *get_args(Status)} - {"renewed"})
"""What a verdict can be: `renewed` is a word about an assertion that is `admitted`."""
EFFECTS: Final = frozenset(get_args(Effect))
_SPAN_KEY: Final = re.compile(r"[A-Za-z0-9._~:/+=@%-]{1,2048}")


class AssertionVerdict(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What became of one assertion; see docs/serving.md for the members."""

    span_key: str
    status: str
    attempt: int = 0
    kind: str = "assertion"
    effect: str = "internal"
    reason: str | None = None
    disposition: str | None = None
    classes_seen: list[str] = []
    missing_floor: int = 0
    valid_until: str | None = None


class Verdicts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What became of one emission."""

    emission_id: str
    settled: bool
    attempt: int = 0
    emitter: str | None = None
    decided_at: str | None = None
    assertions: list[AssertionVerdict] = []


class Read(NamedTuple):
    """A record that may be shown: its words, and all of it as it came."""

    verdicts: Verdicts
    record: dict[str, Any]
    at: int


_verdicts = msgspec.json.Decoder(Verdicts)


def read_verdicts(key: bytes | None, value: bytes | None) -> Read | None:
    """The record of an emission; None where it is none, or says more than it may.

    Args:
        key: of the Kafka record: the emission id.
        value: of it.
    """
    found = decode_json(value, _verdicts)
    if isinstance(found, Fault):
        return None
    record = decode_any(value or b"")
    if key != found.emission_id.encode() or not all(_fits(one) for one in _strings(record)):
        return None
    return Read(found, record, (parse_time(found.decided_at) if found.decided_at else None) or 0)


def _strings(value: Any) -> Iterator[str]:
    todo: list[Any] = [value]  # no recursion: each string would pass through every level that it stands in
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            todo += cast("list[Any]", one)
        elif isinstance(one, dict):
            todo += [part for member in cast("dict[str, Any]", one).items() for part in member]


def _fits(text: str) -> bool:
    """An identifier, or the name of a check that is negated."""
    return _SPAN_KEY.fullmatch(text.removeprefix("not ")) is not None


class Filter(NamedTuple):
    """Which verdicts somebody wants to hear of; an empty part lets all through.

    Attributes:
        emitters: names of systems.
        statuses, effects: one assertion of the newest attempt has to have one of each.
    """

    emitters: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()

    def unknown(self) -> tuple[str, str] | None:
        """The name of a part and a value of it that no verdict can have; None where every value can occur."""
        for name, values, known in (("status", self.statuses, STATUSES), ("effect", self.effects, EFFECTS)):
            for value in sorted(values - known):
                return name, value
        return None

    def takes(self, verdicts: Verdicts) -> bool:
        """Whether the record is wanted."""
        if self.emitters and verdicts.emitter not in self.emitters:
            return False
        if not self.statuses and not self.effects:
            return True
        return any(
            (not self.statuses or one.status in self.statuses) and (not self.effects or one.effect in self.effects)
            for one in verdicts.assertions
        )


# ---------------------------------------------------------------- positions


def position_text(offsets: Sequence[int]) -> str:
    """The id of an event among all verdicts: of each partition the offset to go on at, with dots between them."""
    return ".".join(str(offset) for offset in offsets)


def parse_position(text: str | None, partitions: int) -> list[int] | None:
    """The position that an event's id names; None where it is none of these topics.

    Args:
        text: what a client gives back as Last-Event-ID.
        partitions: of the topic.
    """
    if not text or len(text) > 20 * partitions or not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,18})*", text):
        return None
    offsets = [int(one) for one in text.split(".")]
    return offsets if len(offsets) == partitions else None


# ---------------------------------------------------------------- events on the wire


def event(name: str, data: bytes, id_: str) -> bytes:
    """A server-sent event; `data` is one line of JSON."""
    return b"id: " + id_.encode() + b"\nevent: " + name.encode() + b"\ndata: " + data + b"\n\n"


def beat(id_: str) -> bytes:
    """Keeps a connection open, and moves the id on without an event."""
    return b": \n" + (b"id: " + id_.encode() + b"\n" if id_ else b"") + b"\n"


def sdk_start(emission_id: str) -> bytes:
    """The first part of a message of the AI SDK."""
    return sdk_part({"type": "start", "messageId": emission_id})


def sdk_parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The data parts of a record: one an assertion, which replaces the one of its id, and one of the whole."""
    emission_id, attempt = record["emission_id"], record.get("attempt", 0)
    parts: list[dict[str, Any]] = [
        {"type": "data-verdict", "id": f"{emission_id}#{one['span_key']}", "data": {"emission_id": emission_id, **one}}
        for one in record.get("assertions", ())
        if one.get("attempt", 0) == attempt
    ]
    whole = {"emission_id": emission_id, "attempt": attempt, "settled": record["settled"]}
    return [*parts, {"type": "data-settled" if record["settled"] else "data-pending", "id": emission_id, "data": whole}]


SDK_END: Final = ({"type": "finish"},)


def sdk_part(part: dict[str, Any], id_: str = "") -> bytes:
    """One part as the AI SDK's stream protocol has it."""
    head = b"id: " + id_.encode() + b"\n" if id_ else b""
    return head + b"data: " + msgspec.json.encode(part) + b"\n\n"


SDK_DONE: Final = b"data: [DONE]\n\n"
