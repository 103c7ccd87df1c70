"""Adjudication without a broker: JSON lines become blocks of one lane, and go through the very same fold
(docs/reference/commands.md).

The ledger that a lane would write is made here too, block by block, since outputs name their block's hash; it is
thrown away. The watermark is the line's time: a filter has nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ...codecs.blocks import Event, Output
from ...codecs.decode import decode_json
from ...codecs.errors import Fault, UsageError, schema_fault
from ...codecs.times import EXPECTED, parse_time
from ...streams.adjudication import fold as core
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import NO_SECRETS, Secrets
from .block_builder import BlockBuilder
from .folds import Adjudicate


class Line(msgspec.Struct, gc=False):
    """One line of input; `value` is kept as its bytes stand, since duplicates are judged by bytes."""

    at: str | int
    topic: str | None = None
    key: str | UnsetType | None = UNSET
    value: msgspec.Raw = msgspec.Raw(b"")
    headers: dict[str, str] = {}


_lines = msgspec.json.Decoder(Line)


def parse_until(text: str | None) -> int | None:
    """The time of `--until`, Unix ms.

    Raises:
        UsageError: it is no time.
    """
    if text is None:
        return None
    time = parse_time(int(text) if text.isdecimal() else text)
    if time is None:
        raise UsageError("--until is not a time", expected=EXPECTED, got=text)
    return time


class FoldFilter:
    """One lane fed by lines. Invariant: block times never decrease."""

    def __init__(self, policy: Policy, secrets: Secrets = NO_SECRETS) -> None:
        self._policy = policy
        self._builder = BlockBuilder(Adjudicate(secrets=secrets), 0, 1, policy.hash)
        self._time = -1

    def line(self, data: bytes) -> Iterator[Any]:
        """The outputs of one line, as JSON-ready values; a Fault for a line that cannot be read."""
        line = self._decode(data)
        if isinstance(line, Fault):
            yield line
            return
        time = parse_time(line.at)
        if time is None:
            yield schema_fault("$.at", EXPECTED, line.at)
        elif time < self._time:
            yield schema_fault("$.at", "a time that is not before that of the line before", line.at)
        elif line.topic is None:
            yield from self.pass_time(time)
        elif line.topic not in core.INPUTS:
            yield schema_fault("$.topic", "one of " + ", ".join(core.INPUTS), line.topic)
        else:
            yield from self._record(time, line.topic, line)

    def together(self, time: int, topic: str, values: Sequence[bytes]) -> Iterator[dict[str, Any]]:
        """The outputs of several records of one topic in one block, as a lane takes what arrives together.

        Args:
            time: Unix ms, not before that of the last block.
            topic: one of the inputs.
            values: the records, at most as many as a block holds (`codecs.blocks.MAX_EVENTS`).
        """
        source, offset = core.INPUTS.index(topic), self._builder.position(topic)
        events: list[Event] = []
        for place, value in enumerate(values):
            key = _own_key(value)
            encoded = None if key is None else key.encode()
            events.append(core.event_for(source, offset + place, time, [], encoded, value))
        yield from self._settle(time)
        yield from self._close(time, events)

    def pass_time(self, time: int) -> Iterator[dict[str, Any]]:
        """The outputs of letting time pass."""
        yield from self._settle(time)
        yield from self._close(time, [])

    def end(self, until: int | None) -> Iterator[dict[str, Any]]:
        """The outputs of letting time pass at the end of input, if `until` is later than the last line."""
        if until is not None and until > self._time:
            yield from self.pass_time(until)

    def _decode(self, data: bytes) -> Line | Fault:
        return decode_json(data, _lines)

    def _record(self, time: int, topic: str, line: Line) -> Iterator[dict[str, Any]]:
        value = _raw_bytes(line.value)
        key = _own_key(value) if line.key is UNSET else line.key
        headers = [(name, text.encode()) for name, text in line.headers.items()]
        source = core.INPUTS.index(topic)
        offset = self._builder.position(topic)
        event = core.event_for(source, offset, time, headers, None if key is None else str(key).encode(), value)
        yield from self._settle(time)
        yield from self._close(time, [event])

    def _settle(self, time: int) -> Iterator[dict[str, Any]]:
        """The ledger's beginning, and empty blocks while more timers are due than fire in one."""
        if self._builder.head.height < 0:
            yield from map(_shown, self._builder.start(time, self._policy.document).outputs)
            self._time = time
        while core.due(self._builder.state, time, time) > core.MAX_TIMERS:
            yield from self._close(time, [])

    def _close(self, time: int, events: list[Event]) -> Iterator[dict[str, Any]]:
        outputs = self._builder.add(time, time, events).outputs
        self._time = time
        return map(_shown, outputs)


def _raw_bytes(value: msgspec.Raw) -> bytes | None:
    data = bytes(value)
    if data[:1] == b'"':
        return msgspec.json.decode(data, type=str).encode()
    return None if data in (b"", b"null") else data


def _own_key(value: bytes | None) -> str | None:
    """The key that a producer would have given the record."""
    try:
        record: Any = msgspec.json.decode(value or b"")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    subject = record.get("subject")
    key = subject.get("emission_id") if isinstance(subject, dict) else record.get("emission_id")
    return key if isinstance(key, str) else None


def _shown(output: Output) -> dict[str, Any]:
    """An output as a line; a dead letter's raw value as the object that it is, else as text."""
    value: Any = msgspec.Raw(output.value)
    if output.topic == "dead-letters":
        try:
            if not isinstance(msgspec.json.decode(output.value), dict):
                value = output.value.decode(errors="replace")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            value = output.value.decode(errors="replace")
    return {
        "topic": output.topic,
        "key": None if output.key is None else output.key.decode(errors="replace"),
        "value": value,
        "headers": {name: content.decode(errors="replace") for name, content in output.headers},
    }
