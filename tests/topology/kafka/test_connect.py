"""Clients as sluice opens them: what is asked of them is answered, or one sentence says why not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from aiokafka.errors import (
    CorruptRecordException,
    KafkaConnectionError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
)

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.kafka import connect
from sluice.topology.kafka.connect import open_admin, open_consumer, open_producer, partitions_of, until_answered
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.settings.settings import Settings

Opened = Callable[[Settings], AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize("opened", [open_consumer, open_producer, open_admin])
@pytest.mark.parametrize(
    ("error", "becomes", "said"),
    [
        (KafkaTimeoutError("no offsets in 40000 ms"), UnreachableError, "answers in time: no offsets in 40000 ms"),
        (KafkaTimeoutError(), UnreachableError, "no Kafka broker answers"),
        (KafkaConnectionError("127.0.0.1"), UnreachableError, "no Kafka broker answers"),
        (ConnectionResetError(), UnreachableError, "no Kafka broker answers"),
        (TimeoutError(), UnreachableError, "no Kafka broker answers"),
        (TopicAuthorizationFailedError("admitted"), UnreachableError, "the Kafka broker refuses: .*admitted"),
        (CorruptRecordException("bad"), CorruptRecordException, "bad"),
        (FileNotFoundError("a file"), FileNotFoundError, "a file"),
        (UsageError("wrong"), UsageError, "wrong"),
    ],
)
async def test_what_a_broker_does_not_answer_is_told_in_one_sentence(
    broker: str, opened: Opened, error: Exception, becomes: type[Exception], said: str
):
    """Whatever is asked while a client is open, but for records that cannot be read, files and our own sentences."""
    with pytest.raises(becomes, match=said) as raised:
        async with opened(Settings(broker=broker)):
            raise error

    assert type(raised.value) is becomes


async def test_a_broker_that_went_is_not_told_as_a_topic_that_is_missing(monkeypatch: pytest.MonkeyPatch):
    """Exit status 2 would have an operator look for the topic."""
    monkeypatch.setattr(connect, "METADATA_SECONDS", 0.2)
    embedded = EmbeddedBroker()
    settings = Settings(broker=embedded.start())
    async with open_consumer(settings) as consumer:
        embedded.stop()
        with pytest.raises(UnreachableError, match="no Kafka broker answers"):
            await partitions_of(consumer, settings, "emissions")


@pytest.mark.parametrize(
    ("answers", "result", "said"),
    [
        (["ok"], "ok", ""),
        ([UnreachableError("a"), TimeoutError(), KafkaTimeoutError(), "ok"], "ok", ""),
        ([UsageError("wrong"), "ok"], None, "wrong"),
        ([UnreachableError("a"), *[UnreachableError("no more")] * 1000], None, "no more"),
    ],
)
async def test_a_start_waits_for_its_broker_and_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch, answers: list[Any], result: str | None, said: str
):
    """The last attempt says why it failed; what is wrong for good is told at once."""
    monkeypatch.setattr(connect, "START_SECONDS", 0.3)
    monkeypatch.setattr(connect, "AGAIN_SECONDS", 0.01)
    left = iter(answers)

    async def ask() -> str:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    if result is not None:
        assert await until_answered(Settings(), ask) == result
        return
    with pytest.raises((UnreachableError, UsageError), match=said):
        await until_answered(Settings(), ask)
