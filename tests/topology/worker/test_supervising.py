"""A task of a worker that ends is told of and begun again, unless it was cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiokafka.errors import KafkaConnectionError
from structlog.testing import capture_logs

from sluice.codecs.errors import UnreachableError
from sluice.codecs.notes import Signer
from sluice.topology.engine import app as app_module
from sluice.topology.engine import app as supervising
from sluice.topology.engine.app import create_app, supervised
from sluice.topology.engine.checkpointing import Tips
from sluice.topology.engine.policies import PolicyFeed
from sluice.topology.settings.settings import Settings


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def foreign_cancel() -> None:
    """Awaits something that somebody else has cancelled."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def fails() -> None:
    raise AttributeError("no such thing")


async def ends() -> None:
    """As if all were done."""


@pytest.mark.parametrize(
    ("end", "why"), [(fails, "no such thing"), (ends, "it ended"), (foreign_cancel, "CancelledError()")]
)
async def test_whatever_ends_it_is_told_and_it_begins_again(
    end: Callable[[], object], why: str, monkeypatch: pytest.MonkeyPatch
):
    """Each time in one sentence that names the task and the reason."""
    monkeypatch.setattr(supervising, "FIRST_SECONDS", 0.001)
    begun = list[int]()

    async def run() -> None:
        begun.append(1)
        await end()  # type: ignore[misc]

    with capture_logs() as told:
        task = asyncio.create_task(supervised("the policies", run))
        await until(lambda: len(begun) == 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert [(one["event"], one["task"], one["error"]) for one in told[:2]] == [
        ("a task of the worker ended: it begins again", "the policies", why)
    ] * 2
    assert [one["seconds"] for one in told[:2]] == [0.001, 0.002]


@pytest.mark.parametrize(
    "error", [UnreachableError("no broker answers"), KafkaConnectionError("gone"), OSError("full")]
)
async def test_what_says_all_in_a_sentence_is_a_warning(error: Exception):
    """While a broker is away, each task of the worker would print where in the code that was found."""

    async def run() -> None:
        raise error

    with capture_logs() as told:
        task = asyncio.create_task(supervised("the policies", run))
        await until(lambda: told)
        task.cancel()

    assert [(one["log_level"], one["error"], one.get("exc_info")) for one in told] == [("warning", str(error), None)]


async def test_a_cancel_ends_it_without_a_word():
    """A worker that stops waits for nothing."""
    with capture_logs() as told:
        task = asyncio.create_task(supervised("the policies", asyncio.Event().wait))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert told == []


async def test_the_pause_has_a_bound_and_is_short_again_after_a_long_run(monkeypatch: pytest.MonkeyPatch):
    """What fails at once every time is not tried without end; what ran for long is tried soon."""
    monkeypatch.setattr(supervising, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(supervising, "MOST_SECONDS", 0.02)
    durations = iter([0.0, 0.0, 0.0, 0.1])

    async def run() -> None:
        await asyncio.sleep(next(durations, 60.0))

    with capture_logs() as told:
        task = asyncio.create_task(supervised("the policies", run))
        await until(lambda: len(told) == 4)
        task.cancel()

    assert [one["seconds"] for one in told] == [0.01, 0.02, 0.02, 0.01]


async def test_a_worker_takes_policies_again_after_its_feed_has_failed(monkeypatch: pytest.MonkeyPatch):
    """And hears of checkpoints again: neither task may die while the worker lives."""
    monkeypatch.setattr(supervising, "FIRST_SECONDS", 0.001)
    begun: dict[str, int] = {"policies": 0, "checkpoints": 0}

    async def run(self: PolicyFeed) -> None:
        begun["policies"] += 1
        raise AttributeError("policies")

    async def follow(settings: Settings, tips: Tips, *others: object) -> None:
        begun["checkpoints"] += 1
        raise AttributeError("checkpoints")

    monkeypatch.setattr(PolicyFeed, "run", run)
    monkeypatch.setattr(app_module, "follow", follow)
    app = create_app(Settings())
    app.signer = Signer("worker", bytes([1]) * 32)
    app._follow()
    await until(lambda: begun["policies"] >= 2 and begun["checkpoints"] >= 6)
    for task in app._following:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
