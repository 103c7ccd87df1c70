"""The emitter: what it refuses, what it adds, that it slows its callers down, and what it says when it gives up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from builders import text_value

from sluice.codecs.identifiers import Span
from sluice.codecs.records import (
    Annotation,
    Assertion,
    Attestation,
    Emission,
    Observation,
    Review,
    Sighting,
    Subject,
)
from sluice.topology.client import (
    AsyncEmitter,
    ClosedError,
    Draft,
    FakeSluice,
    InvalidRecordError,
    RefusedError,
    Settings,
    UnreachableError,
    UsageError,
)
from sluice.topology.client.ports import StoredAt
from sluice.topology.kafka.input_records import Prepared

NOW = 1_795_251_600_000
EMISSION = text_value(text="It is so. [substrate.grep]")


class Slow:
    """A broker that stores what it was sent when it is told to."""

    def __init__(self) -> None:
        self.sent: list[Prepared] = []
        self.answers: list[asyncio.Future[StoredAt]] = []
        self.closed = False

    async def open(self) -> None:
        pass

    async def send(self, record: Prepared) -> asyncio.Future[StoredAt]:
        self.sent.append(record)
        self.answers.append(asyncio.get_running_loop().create_future())
        return self.answers[-1]

    def answer(self, count: int = 1) -> None:
        for _ in range(count):
            self.answers.pop(0).set_result(StoredAt(3, 7, NOW))

    async def close(self) -> None:
        self.closed = True


def emitter(slow: Slow, **options: Any) -> AsyncEmitter:
    return AsyncEmitter(Settings(), outlet=slow, clock=lambda: NOW, **options)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


# ---------------------------------------------------------------- what is sent


async def test_headers_go_with_the_record() -> None:
    """Those that were given, in their order; none where none were."""
    slow, headers = Slow(), [("traceparent", b"00-ab-cd-01"), ("tracestate", b"")]
    async with emitter(slow) as one:
        await one.emit(text_value(text="It is."), headers=headers)
        await one.emit(text_value("em-2", "It is."))
        await until(lambda: len(slow.sent) == 2)
        slow.answer(2)

    assert [record.headers for record in slow.sent] == [tuple(headers), ()]


SPAN = Span(chars=(0, 9))
STRUCTS: list[tuple[str, Any, bytes]] = [
    (
        "emit",
        Emission("em-1", 5, text="It is so.", assertions=[Assertion(SPAN, provenance=Annotation("x.y"))]),
        b"em-1",
    ),
    ("observe", Observation("o-1", "substrate.grep", 5, "observer-1", Subject("em-1", SPAN), "absent"), b"em-1"),
    ("sight", Sighting("o-1", "substrate.grep", 5, "observer-1", "It is so."), b"o-1"),
    ("review", Review("em-1", SPAN, "admit"), b"em-1"),
    ("attest", Attestation("0x" + "ab" * 32, "did:web:example.org", "VERIFIED", "d"), b"0x" + b"ab" * 32),
]
TOPICS = {
    "emit": "emissions",
    "observe": "observations",
    "sight": "sightings",
    "review": "reviews",
    "attest": "attestations",
}


@pytest.mark.parametrize(("method", "record", "key"), STRUCTS)
async def test_each_kind_of_record_goes_to_its_topic_under_its_key(method: str, record: Any, key: bytes):
    """Structs, mappings, JSON text and bytes are one."""
    import msgspec

    slow = Slow()
    async with emitter(slow) as emitting:
        raw = msgspec.json.encode(record)
        for form in (record, msgspec.to_builtins(record), raw.decode(), raw):
            await getattr(emitting, method)(form)
        await until(lambda: len(slow.sent) == 4)
        slow.answer(4)
    assert {(one.topic, one.key) for one in slow.sent} == {(TOPICS[method], key)}
    assert [json.loads(one.value) for one in slow.sent] == [json.loads(raw)] * 4


async def test_a_missing_emitted_at_is_the_present():
    """Drafts too leave it to the emitter."""
    slow = Slow()
    async with emitter(slow) as emitting:
        await emitting.emit(EMISSION)
        await emitting.emit(Draft("em-2").say("It is so."))
        await until(lambda: len(slow.sent) == 2)
        slow.answer(2)
    assert [json.loads(one.value)["emitted_at"] for one in slow.sent] == ["2026-11-21T09:00:00Z"] * 2


async def test_a_delivery_says_where_the_record_stands():
    """With the bytes, which sent again are a duplicate."""
    slow = Slow()
    async with emitter(slow) as emitting:
        delivery = await emitting.emit(EMISSION)
        await settle()
        assert not delivery.done()
        slow.answer()
        delivered = await delivery
    assert (delivered.topic, delivered.partition, delivered.offset) == ("emissions", 3, 7)
    assert delivered.value == slow.sent[0].value


@pytest.mark.parametrize(
    ("record", "reason", "path", "said"),
    [
        ({"emission_id": "a b", "text": "x"}, "schema", "$.emission_id", "identifier"),
        (
            {**EMISSION, "assertions": [{"span": {"chars": [0, 99]}}]},
            "span-out-of-range",
            "$.assertions[0].span",
            "lie",
        ),
        ({"emission_id": "em-1"}, "schema", "$", "neither"),
        ({"emission_id": "em-1", "text": "x" * 1_000_000}, "oversize", "", "1000000 at the most"),
        ({"emission_id": "em-1", "text": {1, 2}}, "schema", "$.text", "str"),
        ({"emission_id": "em-1", "text": object()}, "not-json", "", "no JSON"),
        ({"emission_id": "em-1", "text": "\ud800"}, "not-json", "", "no JSON"),
        (b"nonsense", "not-json", "", "not JSON"),
        (Emission("em-1", "yesterday", text="x"), "schema", "$.emitted_at", "RFC 3339"),
    ],
)
async def test_what_the_lanes_would_refuse_is_refused_with_one_sentence(record: Any, reason: str, path: str, said: str):
    """It names the path, and nothing is sent."""
    slow = Slow()
    async with emitter(slow) as emitting:
        with pytest.raises(InvalidRecordError) as caught:
            await emitting.emit(record)
        assert emitting.held == 0
    assert (caught.value.reason, caught.value.path) == (reason, path)
    assert said in str(caught.value)
    assert slow.sent == []


# ---------------------------------------------------------------- the buffer


async def test_a_full_buffer_makes_its_caller_wait_until_there_is_room():
    """And not longer; the order stays."""
    slow = Slow()
    async with emitter(slow, buffer=2) as emitting:
        for number in (1, 2):
            await emitting.emit({**EMISSION, "emission_id": f"em-{number}"})
        third = asyncio.create_task(emitting.emit({**EMISSION, "emission_id": "em-3"}))
        await asyncio.sleep(0.02)
        assert not third.done()
        assert emitting.held == 2
        slow.answer()
        await until(third.done)
        await until(lambda: len(slow.sent) == 3)
        slow.answer(2)
    assert [one.key for one in slow.sent] == [b"em-1", b"em-2", b"em-3"]


async def test_bytes_bound_the_buffer_as_well():
    """But a single record always fits: else the greatest one could never be sent."""
    slow = Slow()
    async with emitter(slow, buffer_bytes=10) as emitting:
        await emitting.emit(EMISSION)
        second = asyncio.create_task(emitting.emit(EMISSION))
        await asyncio.sleep(0.02)
        assert not second.done()
        slow.answer()
        await until(lambda: len(slow.sent) == 2)
        slow.answer()
    assert (emitting.held, emitting.byte_count, emitting.stored) == (0, 0, 2)


async def test_who_stops_waiting_for_room_sends_nothing():
    """The buffer is as it was."""
    slow = Slow()
    async with emitter(slow, buffer=1) as emitting:
        await emitting.emit(EMISSION)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await emitting.emit(EMISSION)
        assert emitting.held == 1
        await until(lambda: len(slow.sent) == 1)
        slow.answer()
    assert len(slow.sent) == 1


async def test_who_stops_waiting_for_a_delivery_calls_nothing_back():
    """The record stays in the buffer until it is stored, and leaving waits for it."""
    slow = Slow()
    async with emitter(slow) as emitting:
        delivery = await emitting.emit(EMISSION)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(delivery, 0.02)
        assert emitting.held == 1
        asyncio.get_running_loop().call_later(0.02, slow.answer)
    assert (emitting.held, emitting.stored) == (0, 1)


async def test_leaving_waits_until_all_is_stored():
    """Though the caller failed elsewhere: what was taken is taken."""
    slow = Slow()
    emitting = emitter(slow)

    async def work() -> None:
        async with emitting:
            await emitting.emit(EMISSION)
            asyncio.get_running_loop().call_later(0.05, slow.answer)
            raise KeyError("elsewhere")

    with pytest.raises(KeyError):
        await work()
    assert emitting.stored == 1
    assert slow.closed


async def test_a_cancelled_caller_does_not_wait():
    """Whoever ends a task wants it to end."""
    slow = Slow()

    async def work() -> None:
        async with emitter(slow) as emitting:
            await emitting.emit(EMISSION)
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await until(lambda: len(slow.sent) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert slow.closed


# ---------------------------------------------------------------- giving up


async def test_a_broker_that_acknowledges_nothing_is_given_up():
    """Deliveries, waiting callers, flush and leaving all say so; nothing more is taken."""
    slow = Slow()
    emitting = emitter(slow, buffer=1, delivery_timeout=0.1)
    await emitting.__aenter__()
    delivery = await emitting.emit(EMISSION)
    waiting = asyncio.create_task(emitting.emit(EMISSION))
    with pytest.raises(UnreachableError, match=r"no answer for 0.1 s; 0 were stored before, 1 were not"):
        await delivery
    for late in (waiting, emitting.flush(), emitting.emit(EMISSION), emitting.close()):
        with pytest.raises(UnreachableError):
            await late
    assert slow.closed


async def test_a_broker_that_is_slow_is_not_given_up():
    """Only silence counts."""
    slow = Slow()
    async with emitter(slow, delivery_timeout=0.1) as emitting:
        for _ in range(4):
            await emitting.emit(EMISSION)
        for _ in range(4):
            await asyncio.sleep(0.06)
            slow.answer()
    assert emitting.stored == 4


async def test_a_refusal_of_the_broker_ends_it():
    """With its words."""
    slow = Slow()
    emitting = emitter(slow)
    await emitting.__aenter__()
    delivery = await emitting.emit(EMISSION)
    await settle()
    slow.answers[0].set_exception(OSError("disk full"))
    with pytest.raises(UnreachableError, match="disk full"):
        await delivery
    with pytest.raises(UnreachableError, match="disk full"):
        await emitting.close()


async def test_outside_of_its_block_it_takes_nothing():
    """Before and after."""
    slow = Slow()
    emitting = emitter(slow)
    with pytest.raises(ClosedError, match="the emitter is not open"):
        await emitting.emit(EMISSION)
    async with emitting:
        pass
    await emitting.close()
    with pytest.raises(ClosedError):
        await emitting.emit(EMISSION)


def test_settings_or_an_address_but_not_both():
    """Which of them would hold?"""
    with pytest.raises(UsageError, match="not both"):
        AsyncEmitter(Settings(), bootstrap="127.0.0.1:9092")


async def test_a_broker_that_is_away_is_reported_on_entering():
    """In one sentence."""
    with pytest.raises(UnreachableError, match="no Kafka broker answers"):
        async with AsyncEmitter(bootstrap="127.0.0.1:1"):
            pass


async def test_a_fakes_emitter_is_the_same():
    """Its records are decided at once."""
    fake = FakeSluice()
    async with fake.async_emitter() as emitting:
        delivered = await (await emitting.emit(EMISSION))
    assert (delivered.topic, delivered.offset) == ("emissions", 0)
    assert fake.records("emissions")[0]["emitted_at"] == fake.time


async def test_a_record_that_the_broker_refuses_fails_alone():
    """Its delivery has the reason; the others are stored, and the next flush says that one was not."""
    slow = Slow()
    async with emitter(slow) as emitting:
        refused, stored = await emitting.emit(EMISSION), await emitting.emit(EMISSION)
        await settle()
        slow.answers.pop(0).set_exception(RefusedError("the broker refuses it: not authorized"))
        await settle()
        slow.answer()
        with pytest.raises(RefusedError, match="not authorized"):
            await emitting.flush()
        await stored
        with pytest.raises(RefusedError):
            await refused
        assert not emitting.is_broken
        assert (emitting.held, emitting.byte_count, emitting.stored, emitting.refused) == (0, 0, 1, 1)
        await emitting.flush()
