"""A worker in this process, on the embedded broker: what it checks first, and that its lanes run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaTimeoutError, NodeNotReadyError
from yarl import URL

from sluice.codecs.errors import DoesNotHoldError, UnreachableError, UsageError
from sluice.codecs.times import format_time
from sluice.topology.engine import app
from sluice.topology.engine import worker as module
from sluice.topology.engine.interfaces import LaneStatus
from sluice.topology.engine.worker import Worker
from sluice.topology.kafka import connect
from sluice.topology.kafka.connect import open_consumer
from sluice.topology.kafka.transport import LaneConsumerThread
from sluice.topology.settings.process import now_ms
from sluice.topology.settings.settings import Settings, bootstrap


async def test_a_broker_that_does_not_answer_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    """Exit status 3, once the time for a broker that is just starting is over."""
    monkeypatch.setattr(connect, "START_SECONDS", 0.6)

    with pytest.raises(UnreachableError, match="no Kafka broker answers") as unreachable:
        await Worker(Settings(broker="kafka://127.0.0.1:1")).start()

    assert unreachable.value.exit_status == 3


@pytest.mark.slow
async def test_each_question_of_the_start_is_asked_again_while_the_broker_restarts(
    broker: str, monkeypatch: pytest.MonkeyPatch
):
    """Not only the first one: a broker may go at any moment of the start."""
    settings = Settings(broker=broker, delivery="at-least-once", topic_prefix="r.", app_id="r")
    failures = dict[str, int]()

    def fails_first(owner: object, name: str, fail: Callable[..., Any]) -> None:
        real = getattr(owner, name)

        def asked(*args: Any, **options: Any) -> Any:
            failures[name] = failures.get(name, 0) + 1
            return fail(*args, **options) if failures[name] <= 2 else real(*args, **options)

        monkeypatch.setattr(owner, name, asked)

    def raising(error: Exception) -> Callable[..., Any]:
        async def fail(*args: Any, **options: Any) -> None:
            raise error

        return fail

    def of_no_broker(thread: Any, transport: Any, make: Any = LaneConsumerThread._create_worker_consumer) -> Any:
        return make(thread, SimpleNamespace(url=[URL("lanes://127.0.0.1:1")], default_port=1))

    for owner, name, error in (
        (module, "_check", UnreachableError("gone")),
        (module, "demand_ledgers", NodeNotReadyError("gone")),
        (module, "identify", KafkaTimeoutError("gone")),
        (app, "worker_key", TimeoutError()),
    ):
        fails_first(owner, name, raising(error))
    fails_first(LaneConsumerThread, "_create_worker_consumer", of_no_broker)  # the last client that a start opens
    monkeypatch.setattr(connect, "AGAIN_SECONDS", 0.01)
    worker = Worker(settings)
    await worker.start()
    try:
        async with asyncio.timeout(60):
            await worker.wait_until_running()
    finally:
        await worker.stop()

    assert len(failures) == 5
    assert min(failures.values()) == 3


async def test_other_partition_counts_are_reported_before_anything_is_written(broker: str):
    """Lanes of the wrong count would refuse their ledgers one by one; this is one sentence for all of them."""
    with pytest.raises(UsageError, match="another number of partitions than the settings say") as usage:
        await Worker(Settings(broker=broker, delivery="at-least-once", partitions=7)).start()

    assert usage.value.exit_status == 2
    assert "expected 7 each" in str(usage.value)


@pytest.mark.slow
async def test_lanes_run_at_least_once_on_the_embedded_broker(broker: str):
    """An emission with evidence of two classes is admitted, with nothing installed."""
    settings = Settings(broker=broker, delivery="at-least-once", topic_prefix="w.", app_id="w")
    worker, now = Worker(settings), format_time(now_ms())
    span = {"chars": [0, 6]}
    emission = {"emission_id": "em-1", "emitted_at": now, "text": "It is.", "assertions": [{"span": span}]}
    observation = {
        "observation_id": "x",
        "observed_at": now,
        "observer": "observer-1",
        "subject": {"emission_id": "em-1", "span": span},
        "outcome": "corroborates",
    }
    await worker.start()
    try:
        async with asyncio.timeout(30):
            await worker.wait_until_running()
            producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
            await producer.start()
            await producer.send_and_wait("w.emissions", json.dumps(emission).encode(), b"em-1")
            for name in ("substrate.grep", "substrate.code.read"):
                value = json.dumps(observation | {"substrate_class": name}).encode()
                await producer.send_and_wait("w.observations", value, b"em-1")
            await producer.stop()
            async with open_consumer(settings, isolation_level="read_uncommitted") as consumer:
                consumer.assign([TopicPartition("w.admitted", lane) for lane in range(4)])
                await consumer.seek_to_beginning()
                record = await consumer.getone()
    finally:
        await worker.stop()

    assert json.loads(record.value)["status"] == "admitted"
    assert json.loads(record.value)["classes"] == ["substrate.code.read", "substrate.grep"]


@pytest.mark.slow
async def test_what_makes_it_fail_reaches_who_waits(broker: str, monkeypatch: pytest.MonkeyPatch):
    """A lane that must not go on ends the worker, with the lane's own reason."""
    settings = Settings(broker=broker, delivery="at-least-once", topic_prefix="f.", app_id="f")
    worker = Worker(settings)
    await worker.start()
    try:
        reason = UsageError("must not go on")
        assert worker._app is not None
        worker._app.lanes._on_fatal(reason)
        with pytest.raises(UsageError, match="must not go on"):
            await asyncio.wait_for(worker.wait(), 60)
    finally:
        await worker.stop()


async def test_lanes_that_failed_make_it_unready_by_name_and_not_ill():
    """Each with its reason; the worker is not to be started again for them, and who waits for lanes hears of it."""
    worker: Any = Worker(Settings())
    running = LaneStatus("adjudicate", 0, "running", 3, 1, 1, 0, 0, {})
    status = [
        running,
        running._replace(lane=1, phase="failed", reason="ledger of lane 1: the chain of blocks is broken"),
        running._replace(fold="bind", lane=2, phase="taking-over"),
        running._replace(fold="frame", lane=3, phase="failed", reason="a bug"),
    ]
    worker._app = SimpleNamespace(lanes=SimpleNamespace(assigned=True, is_member=True, status=status))

    assert worker._why_not_ready().splitlines() == [
        "adjudicate lane 1 has failed: ledger of lane 1: the chain of blocks is broken",
        "frame lane 3 has failed: a bug",
    ]
    assert worker._why_ill() == ""
    with pytest.raises(DoesNotHoldError, match="the chain of blocks is broken"):
        await worker.wait_until_running()


async def test_a_worker_whose_coordinator_is_silent_is_not_ready():
    """It has no lane then, and a worker without lanes would read as a standby that waits for work."""
    worker: Any = Worker(Settings())
    worker._app = SimpleNamespace(lanes=SimpleNamespace(assigned=True, is_member=False, status=[]))

    assert (
        worker._why_not_ready() == "the group's coordinator has not answered for a session, so the lanes were given up"
    )
