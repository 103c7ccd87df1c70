"""What `sluice consume` says where it prints nothing: how many assertions wait for a verdict, and until when.

A verdict falls when enough evidence came, or else a horizon after the lane took the emission in. So an assertion
without a verdict stands on `emissions` within the last horizon, and on no topic of verdicts. That is counted here,
within bounds of time and records: it is a help for people, decides nothing, and says nothing rather than something
wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, NamedTuple

from aiokafka.errors import KafkaError

from ...codecs import times
from ...codecs.decode import decode_emission
from ...codecs.errors import Fault, SluiceError, UsageError
from ...streams.policy.policy import DEFAULT_POLICY
from ..settings.settings import Settings
from ..settings.showing import DECIDED, parse

MOST_RECORDS = 20_000
"""Of each topic: beyond that it is «at least»."""
SECONDS = 5.0
"""So long it may take to find out."""
SLACK = 60_000
"""Milliseconds by which the clocks of producer and broker may differ."""


class Pending(NamedTuple):
    """What waits for a verdict.

    Attributes:
        assertions: how many; of emissions that are whole.
        emissions: of how many emissions.
        until: when the last of their verdicts is due, Unix milliseconds; 0 where none waits.
        horizon: how long evidence is waited for, milliseconds.
        is_all: everything was read, within the bounds.
    """

    assertions: int
    emissions: int
    until: int
    horizon: int
    is_all: bool = True


async def pending_sentence(settings: Settings, topic: str, now: int, hidden: int = 0) -> str | None:
    """The sentence for a reader of `topic` to whom nothing was printed; None where nothing can be known.

    Args:
        settings: the broker and prefix.
        topic: the logical name; of `grounded` and `dead-letters` nothing waits.
        now: the present time in Unix milliseconds.
        hidden: how many records were read and not printed.
    """
    if topic not in DECIDED:
        return None
    nothing = f"nothing to show from {topic}"
    if hidden:
        whose = _number(hidden, "record")
        nothing += f" ({whose} read, past valid_until or not of what was asked for)"
    with suppress(SluiceError, KafkaError, OSError):  # a TimeoutError is an OSError
        async with asyncio.timeout(SECONDS):
            horizon = await _horizon(settings)
            if horizon is None:
                return f"{nothing}: no worker has run yet; `sluice worker` decides"
            return f"{nothing}: {sentence(await pending(settings, horizon, now))}"
    return None


def sentence(found: Pending) -> str:
    """What is pending, for a person."""
    horizon = times.format_duration(found.horizon)
    if not found.assertions:
        return f"no assertion of the last {horizon} waits for a verdict"
    count = f"{'' if found.is_all else 'at least '}{_number(found.assertions, 'assertion')}"
    verb = "waits" if found.assertions == 1 else "wait"
    until = times.format_time(found.until - found.until % 1000)
    of = _number(found.emissions, "emission")
    return f"{count} of {of} {verb} for a verdict, the last one until {until} (horizon {horizon})"


async def pending(settings: Settings, horizon: int, now: int) -> Pending:
    """What waits for a verdict now.

    Raises:
        SluiceError: no broker answers, or a topic is not there.
    """
    since = now - horizon - SLACK
    waiting: dict[bytes, tuple[int, int]] = {}  # by key of its outputs: the attempt, and when the verdict is due
    is_all = True
    async with aclosing(_since(settings, "emissions", since)) as records:
        async for number, record in _numbered(records):
            is_all = number < MOST_RECORDS
            if not is_all:
                break
            due = record.timestamp + horizon
            emission = decode_emission(record.value)
            if due <= now or isinstance(emission, Fault):
                continue
            for assertion in emission.assertions or ():
                key = f"{emission.emission_id}#{assertion.span_key}".encode()
                if key not in waiting or waiting[key][0] < emission.attempt:
                    waiting[key] = emission.attempt, due
    for topic in DECIDED if waiting else ():
        async with aclosing(_since(settings, topic, since)) as records:
            async for number, record in _numbered(records):
                if number >= MOST_RECORDS:
                    raise UsageError("more verdicts than can be compared at once", path=topic)
                _decided(waiting, record.key or b"", parse(topic, record).value.get("attempt"))
    emissions = {key.rpartition(b"#")[0] for key in waiting}
    until = max((due for _, due in waiting.values()), default=0)
    return Pending(len(waiting), len(emissions), until, horizon, is_all)


def _decided(waiting: dict[bytes, tuple[int, int]], key: bytes, attempt: Any) -> None:
    if key in waiting and isinstance(attempt, int) and attempt >= waiting[key][0]:
        del waiting[key]


async def _horizon(settings: Settings) -> int | None:
    """The longest horizon of the policies in force; None where no lane has decided anything yet."""
    from ..engine.policies import document_of, in_force

    hashes = {lane.hash for lane in await in_force(settings)} - {""}
    found: list[int] = []
    for digest in hashes:
        policy = DEFAULT_POLICY if digest == DEFAULT_POLICY.hash else await document_of(settings, digest)
        if policy is None:
            raise UsageError("the policy in force is not to be found", path=digest)
        found.append(policy.admissibility.horizon)
    return max(found, default=None)


async def _since(settings: Settings, topic: str, since: int) -> AsyncGenerator[Any, None]:
    """The records since a time; from a broker that looks up no times, all."""
    from ..kafka.topic_reader import read

    try:
        async with aclosing(read(settings, topic, since=max(since, 0), tell=_unsaid)) as records:
            async for record in records:
                yield record
        return
    except UsageError:
        pass
    async with aclosing(read(settings, topic, tell=_unsaid)) as records:
        async for record in records:
            if record.timestamp >= since:
                yield record


def _unsaid(*_: Any) -> None:
    """A batch that cannot be read: what is pending is said as well as it is known."""


async def _numbered(records: AsyncIterator[Any]) -> AsyncIterator[tuple[int, Any]]:
    number = 0
    async for record in records:
        yield number, record
        number += 1


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
