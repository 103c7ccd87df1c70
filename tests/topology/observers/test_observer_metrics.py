"""What the observers count, and the pages on which they tell it, on the embedded broker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing

import aiohttp
import pytest
from aiokafka import TopicPartition
from builders import encoded, text_value
from looking import EMITTED, Repository
from msgspec.structs import replace
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families

from sluice.codecs.errors import UsageError
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.observers.observer_metrics import ObserverMetrics
from sluice.topology.observers.service import ObserverService
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.slow

PATIENCE = 60
READ = "`CHANGELOG.md` contains `parse_time`. [substrate.code.read] [substrate.grep; pattern=parse_time]"


@pytest.fixture
def settings(changelog: Repository) -> Iterator[Settings]:
    """Settings for a broker of this test's own, with a port that is free."""
    with EmbeddedBroker() as running:
        yield Settings(
            broker=running.address,
            delivery="at-least-once",
            root=str(changelog.path),
            session_timeout=4,
            web_port=free_port(),
        )


async def send(settings: Settings, *values: bytes) -> None:
    async with open_producer(settings) as producer:
        for number, value in enumerate(values):
            await producer.send_and_wait("emissions", value, key=f"em-{number}".encode())


def cited_text(number: int) -> bytes:
    return encoded(text_value(f"em-{number}", READ, at=EMITTED))


async def ask(settings: Settings, page: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{settings.web_port}/{page}") as answer,
    ):
        return answer.status, await answer.text()


def values(text: str, name: str) -> dict[tuple[str, ...], float]:
    """The samples of one series, by their labels' values."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


async def until_counted(settings: Settings, name: str, count: float) -> str:
    async with asyncio.timeout(PATIENCE):
        while True:
            _, text = await ask(settings, "metrics")
            if sum(values(text, name).values()) >= count:
                return text
            await asyncio.sleep(0.1)


async def test_the_service_tells_what_it_has_seen(settings: Settings):
    """By class and outcome, with the time of each look, and nothing left to do at the end."""
    service = ObserverService(settings)
    await service.start()
    try:
        await send(settings, *(cited_text(number) for number in range(3)), b"nonsense")
        text = await until_counted(settings, "sluice_observer_emissions_total", 4)
        assert values(text, "sluice_observer_emissions_total") == {
            ("looked-at",): 3,
            ("left-to-the-lane",): 1,
            ("passed-over",): 0,
        }
        assert values(text, "sluice_observer_observations_total") == {
            ("substrate.code.read", "corroborates"): 3,
            ("substrate.grep", "corroborates"): 3,
        }
        looks = values(text, "sluice_observer_look_seconds_count")
        assert looks == {("substrate.code.read",): 3, ("substrate.grep",): 3}
        async with asyncio.timeout(PATIENCE):
            while sum(values(text, "sluice_observer_lag_records").values()):
                _, text = await ask(settings, "metrics")
        assert values(text, "sluice_observer_lag_records")
        assert values(text, "sluice_observer_in_flight") == {(): 0}
        assert (await ask(settings, "healthz"))[0] == (await ask(settings, "readyz"))[0] == 200
    finally:
        await service.stop()
    with pytest.raises(aiohttp.ClientConnectionError):
        await ask(settings, "healthz")


async def test_what_is_under_way_is_lag(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """An emission whose look does not end counts, and so does whatever was fetched behind it in its partition."""
    import threading

    release = threading.Event()
    service = ObserverService(settings)
    observe = service._observe

    def slow(*arguments: object) -> object:
        release.wait(PATIENCE)
        return observe(*arguments)

    monkeypatch.setattr(service, "_observe", slow)
    await service.start()
    try:
        await send(settings, cited_text(0))
        text = await until_counted(settings, "sluice_observer_in_flight", 1)
        assert sum(values(text, "sluice_observer_lag_records").values()) == 1
        release.set()
        await until_counted(settings, "sluice_observer_emissions_total", 1)
    finally:
        release.set()
        await service.stop()


async def test_it_is_not_ready_before_the_group_has_met_and_ill_once_it_fails(settings: Settings):
    """503 with the reason, for either probe."""
    service = ObserverService(settings)
    await service.start()
    try:
        assert await ask(settings, "readyz") == (503, "waiting for the group to say which partitions are here\n")
        service._fail(UsageError("the disk is made of cheese"))
        assert await ask(settings, "healthz") == (503, "the disk is made of cheese\n")
    finally:
        await service.stop()


async def test_it_is_not_ready_where_nothing_can_be_seen(settings: Settings, changelog: Repository):
    """A root that is empty, or away: whatever is asked would be `unavailable`."""
    service = ObserverService(settings)
    await service.start()
    try:
        await send(settings, cited_text(0))
        await until_counted(settings, "sluice_observer_emissions_total", 1)
        assert await ask(settings, "readyz") == (200, "ok\n")
        changelog.path.rename(changelog.path.with_name("away"))
        assert await ask(settings, "readyz") == (503, "the root is not there\n")
        changelog.path.mkdir()
        assert await ask(settings, "readyz") == (503, "the root is empty\n")
        assert (await ask(settings, "healthz"))[0] == 200
    finally:
        await service.stop()


async def test_without_a_port_nothing_listens(settings: Settings):
    """The pages are asked for, or are not there; a port that is taken is told."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", settings.web_port or 0))
        taken.listen()
        service = ObserverService(replace(settings, web_port=None))
        await service.start()
        await service.stop()
        with pytest.raises(UsageError, match="web_port"):
            await ObserverService(settings).run()


def test_a_look_that_fails_is_timed_as_well():
    """However it ends: what hangs and then fails is what one wants to see."""
    metrics = ObserverMetrics(lambda: {TopicPartition("emissions", 2): 5}, lambda: 7)
    with pytest.raises(ZeroDivisionError), metrics.looking("substrate.grep"):
        raise ZeroDivisionError
    text = metrics.text().decode()
    assert values(text, "sluice_observer_look_seconds_count") == {("substrate.grep",): 1}
    assert values(text, "sluice_observer_lag_records") == {("2",): 5}
    assert values(text, "sluice_observer_in_flight") == {(): 7}
