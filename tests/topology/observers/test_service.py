"""The observers as a service, on the embedded broker."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from builders import keyed, text_value
from looking import EMITTED, Repository
from msgspec.structs import replace

from sluice.codecs.decode import decode_observation
from sluice.codecs.errors import Fault, UnreachableError, UsageError
from sluice.codecs.identifiers import digest_of
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.records import Observation
from sluice.codecs.signatures import domain_of, holds
from sluice.topology.engine.signing import new_signer, save_signer
from sluice.topology.kafka import connect
from sluice.topology.kafka.connect import open_consumer, open_producer
from sluice.topology.kafka.local_broker import PARTITIONS
from sluice.topology.observers import service as service_module
from sluice.topology.observers.look import StoppedError, look
from sluice.topology.observers.observation_record import written
from sluice.topology.observers.service import ObserverService, _DoneOffsets
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.slow

TEXT = "`CHANGELOG.md` contains `parse_time`. [substrate.code.read] [substrate.grep; pattern=parse_time]"
PATIENCE = 60


@pytest.fixture
def settings(broker: str, changelog: Repository, request: pytest.FixtureRequest) -> Settings:
    """Settings with a prefix and a group of this test's own."""
    name = request.node.name[:60].replace("[", "-").replace("]", "")
    return Settings(
        broker=broker,
        delivery="at-least-once",
        topic_prefix=f"{name}.",
        app_id=name,
        root=str(changelog.path),
        session_timeout=4,  # the mock cluster gathers a group for 3 s, and hangs with less
    )


def numbered(number: int, text: str = TEXT, **fields: Any) -> tuple[bytes, bytes]:
    return keyed(text_value(f"em-{number}", text, at=EMITTED, **fields))


async def send(settings: Settings, *records: tuple[bytes | None, bytes]) -> None:
    async with open_producer(settings) as producer:
        for key, value in records:
            await producer.send_and_wait(f"{settings.topic_prefix}emissions", value, key=key)


async def observations(settings: Settings, count: int) -> list[tuple[bytes, int, Observation]]:
    """So many observations (and whatever else is there then), as (key, partition, observation)."""
    found: list[tuple[bytes, int, Observation]] = []
    places = [TopicPartition(f"{settings.topic_prefix}observations", number) for number in range(PARTITIONS)]
    async with asyncio.timeout(PATIENCE), open_consumer(settings) as consumer:
        consumer.assign(places)
        await consumer.seek_to_beginning(*places)
        while len(found) < count:
            for place, records in (await consumer.getmany(timeout_ms=100)).items():
                for record in records:
                    one = decode_observation(record.value)
                    assert not isinstance(one, Fault), one.detail
                    found.append((record.key, place.partition, one))
    return found


async def committed(settings: Settings) -> int:
    """The sum of the positions that the group has committed."""
    async with open_consumer(settings, group_id=f"{settings.app_id}-observe") as consumer:
        topic = f"{settings.topic_prefix}emissions"
        return sum([await consumer.committed(TopicPartition(topic, n)) or 0 for n in range(PARTITIONS)])


@asynccontextmanager
async def running(settings: Settings, **options: Any) -> AsyncIterator[ObserverService]:
    service = ObserverService(settings, **options)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def test_each_emission_is_looked_at(settings: Settings):
    """Observations come keyed by the emission's id, in the partition that the key names, under the observer's name.
    Each names the record that was looked at."""
    sent = dict(numbered(number) for number in range(6))
    async with running(settings):
        await send(settings, *sent.items())
        found = await observations(settings, 12)
    assert all(one.subject.digest == digest_of(sent[key]) for key, _, one in found)
    assert sorted({key for key, _, _ in found}) == [f"em-{number}".encode() for number in range(6)]
    assert all(place == PARTITIONERS["murmur2"](key, PARTITIONS) for key, place, _ in found)
    assert {(one.outcome, one.observer, one.subject.attempt) for _, _, one in found} == {
        ("corroborates", "observer-1", 0)
    }
    assert await committed(settings) == 6


async def test_each_observer_looks_at_each_emission(settings: Settings):
    """`min_observers` counts names: two observers that shared the emissions between them could never reach 2.
    Processes of one name share them."""
    from msgspec.structs import replace

    second = replace(settings, observer="lab/2")
    async with running(settings), running(second), running(second):
        await send(settings, *(numbered(number) for number in range(6)))
        found = await observations(settings, 24)
    seen = Counter((one.observer, one.subject.emission_id) for _, _, one in found)
    assert seen == {(name, f"em-{number}"): 2 for name in ("observer-1", "lab/2") for number in range(6)}


async def test_bad_emissions_are_left_to_the_lane(settings: Settings):
    """What does not decode, is too large, or stands under another key is skipped, and what follows is looked at."""
    key, good = numbered(1)
    async with running(settings):
        await send(
            settings,
            (key, b"nonsense"),
            (b"other", good),
            (None, good),
            (key, b" " * 1_048_600),
            (key, b""),
            (key, good),
        )
        found = await observations(settings, 2)
    assert [one.subject.emission_id for _, _, one in found] == ["em-1", "em-1"]
    assert await committed(settings) == 6


async def test_a_slow_look_holds_nobody_up(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """While one emission is looked at for long, the others' observations go out; its offset waits for it."""
    import threading

    release = threading.Event()

    def slow(emission: Any, *arguments: Any, **options: Any) -> list[Observation]:
        if emission.emission_id == "em-0":
            release.wait(PATIENCE)
        return look(emission, *arguments, **options)

    monkeypatch.setattr(service_module, "look", slow)
    async with running(settings):
        await send(settings, *(numbered(number) for number in range(5)))
        early = await observations(settings, 8)
        assert "em-0" not in {one.subject.emission_id for _, _, one in early}
        release.set()
        await observations(settings, 10)
    assert await committed(settings) == 5


def listed(tmp_path: Path, kind: str, more: str = "") -> str:
    """A list with one MCP server of that kind (mcp_server.py)."""
    server = str(Path(__file__).with_name("mcp_server.py"))
    path = tmp_path / "list.toml"
    path.write_text(
        f"[mcp.tracker]\ncommand = {json.dumps([sys.executable, server, kind])}\n"
        f"tools.brief = {{ arguments.issue = true, read_only = true }}\n{more}\n"
    )
    return str(path)


BRIEF = "[substrate.mcp.brief; server=tracker; tool=brief]"


async def test_a_slow_substrate_holds_back_no_other(settings: Settings, tmp_path: Path):
    """Of the same emission, the others' observations are there while a server that never answers is waited for."""
    from msgspec.structs import replace

    slow = replace(settings, look_timeout=3)
    async with running(slow, substrates=listed(tmp_path, "silent")):
        await send(settings, *(numbered(number, f"{TEXT} {BRIEF}") for number in range(20)))
        early = await observations(settings, 40)
        assert {one.outcome for _, _, one in early} == {"corroborates"}
        assert "substrate.mcp.brief" not in {one.substrate_class for _, _, one in early}
        late = await observations(settings, 60)
    assert [one.outcome for _, _, one in late if one.substrate_class == "substrate.mcp.brief"] == ["unavailable"] * 20
    assert await committed(settings) == 20


async def test_one_session_serves_the_service(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Emissions that ask the same are answered by one call of one process, which ends with the service."""
    for name in ("STARTS", "CALLS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    path = listed(tmp_path, "prompt", 'env = ["STARTS", "CALLS"]')
    text = f"It was `closed on 2026-05-25`. {BRIEF} [substrate.git.log; check=contains(%22closed%20on%202026-05-25%22)]"
    async with running(settings, substrates=path):
        await send(settings, *(numbered(number, text) for number in range(10)))
        found = [one for _, _, one in await observations(settings, 20)]
    assert {tuple(one.verified or ()) for one in found if one.substrate_class == "substrate.mcp.brief"} == {(0,)}
    assert len((tmp_path / "CALLS").read_text().split()) == 1
    (pid,) = (tmp_path / "STARTS").read_text().split()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


async def test_what_is_not_stored_is_not_committed(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """Without the broker's acknowledgement the service fails, and the next one looks again."""

    async def refuse(*arguments: Any, **options: Any) -> None:
        raise KafkaError("no")

    service = ObserverService(settings)
    await service.start()
    monkeypatch.setattr(service._producer, "send", refuse)
    await send(settings, numbered(1))
    with pytest.raises(UnreachableError):
        async with asyncio.timeout(PATIENCE):
            await service.wait()
    await service.stop()
    assert await committed(settings) == 0
    async with running(settings):
        assert len(await observations(settings, 2)) == 2


async def test_a_restart_goes_on_where_it_stopped(settings: Settings):
    """What was committed is not looked at again."""
    async with running(settings):
        await send(settings, numbered(1))
        await observations(settings, 2)
    async with running(settings):
        await send(settings, numbered(2))
        found = await observations(settings, 4)
    assert len(found) == 4


async def test_a_look_under_way_does_not_hold_the_end_up(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """Asked to stop in the middle of a long emission, the service ends; the emission is left to the next one."""
    import threading
    import time

    began = threading.Event()

    def endless(emission: Any, *arguments: Any, stopped: Callable[[], bool], **options: Any) -> list[Observation]:
        began.set()
        while not stopped():
            time.sleep(0.01)
        raise StoppedError

    monkeypatch.setattr(service_module, "look", endless)
    service = ObserverService(settings)
    await service.start()
    await send(settings, numbered(1))
    assert await asyncio.to_thread(began.wait, PATIENCE)
    async with asyncio.timeout(60):
        await service.stop()
    assert await committed(settings) in (None, 0)


async def test_a_defect_is_no_silence(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """Where a look fails for a reason of ours, the annotations get `unavailable`, and the service goes on."""

    def broken(emission: Any, *arguments: Any, **options: Any) -> list[Observation]:
        if emission.emission_id == "em-1":
            raise ZeroDivisionError
        return look(emission, *arguments, **options)

    monkeypatch.setattr(service_module, "look", broken)
    async with running(settings):
        await send(settings, numbered(1), numbered(2))
        found = await observations(settings, 4)
    assert {(one.subject.emission_id, one.outcome) for _, _, one in found} == {
        ("em-1", "unavailable"),
        ("em-2", "corroborates"),
    }


async def test_a_root_that_goes_away_is_reported(settings: Settings, changelog: Repository):
    """Emissions that come while the root is not there are answered with `unavailable`."""
    async with running(settings):
        changelog.path.rename(changelog.path.with_name("gone"))
        await send(settings, numbered(1))
        found = await observations(settings, 2)
    assert {one.outcome for _, _, one in found} == {"unavailable"}


async def test_a_missing_root_or_broker_is_not_to_be_reached(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Starting says which; nothing is left open, and stopping what never started does nothing."""
    monkeypatch.setattr(connect, "START_SECONDS", 0.6)
    for wrong in (replace(settings, root=str(tmp_path / "no")), replace(settings, broker="kafka://127.0.0.1:1")):
        service = ObserverService(wrong)
        with pytest.raises(UnreachableError):
            await service.run()
        await service.stop()


async def test_a_start_waits_for_a_broker_that_restarts_and_ends_when_asked_to(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    """As a worker's does; a first attempt that fails leaves nothing open."""
    fails, real = 2, open_consumer

    def opened(settings: Settings, **options: Any) -> Any:
        nonlocal fails
        fails -= 1
        return real(replace(settings, broker="kafka://127.0.0.1:1") if fails >= 0 else settings, **options)

    monkeypatch.setattr(service_module, "open_consumer", opened)
    async with running(settings):
        await send(settings, numbered(1))
        assert len(await observations(settings, 2)) == 2
    assert fails < 0

    waiting = ObserverService(replace(settings, broker="kafka://127.0.0.1:1"))
    run = asyncio.create_task(waiting.run())
    await asyncio.sleep(0.1)
    assert not run.done()
    waiting.request_stop()
    async with asyncio.timeout(PATIENCE):
        await run


async def test_asking_it_to_stop_ends_the_run(settings: Settings):
    """`run` returns after `request_stop`, without an error."""
    service = ObserverService(settings)
    task = asyncio.create_task(service.run())
    await asyncio.sleep(0.3)
    service.request_stop()
    async with asyncio.timeout(PATIENCE):
        await task


def test_progress_never_passes_what_is_not_done():
    """The position is behind the longest run of emissions that are all done, in whatever order they end."""
    progress = _DoneOffsets()
    for offset in (3, 4, 7, 8):
        progress.begin(offset)
    positions = []
    for offset in (4, 3, 8, 7):
        progress.end(offset)
        positions.append(progress.position)
    assert positions == [None, 5, 5, 9]


async def test_observations_are_signed_where_there_is_a_key(settings: Settings, tmp_path: Path):
    """What stands on the topic verifies as it stands there; a key that is none keeps the service from starting."""
    signer, file = new_signer("observer/1"), tmp_path / "observer.key"
    save_signer(signer, file)
    async with running(replace(settings, observer_key=str(file))):
        await send(settings, numbered(1))
        await observations(settings, 2)
    values: list[bytes] = []
    async with asyncio.timeout(PATIENCE), open_consumer(settings) as consumer:
        places = [TopicPartition(f"{settings.topic_prefix}observations", number) for number in range(PARTITIONS)]
        consumer.assign(places)
        await consumer.seek_to_beginning(*places)
        while len(values) < 2:
            batches = await consumer.getmany(timeout_ms=100)
            values += [record.value for records in batches.values() for record in records]

    domain, key = domain_of("observations", settings.origin), str(signer.verifier)
    assert all(holds(key, json.loads(value)["signature"], value, domain) for value in values)
    with pytest.raises(UsageError, match="private key"):
        await ObserverService(replace(settings, observer_key=str(tmp_path / "none"))).start()


async def test_records_full_of_annotations_end_no_observer(settings: Settings):
    """Eight of nearly a megabyte with 36,000 annotations each: left to the lane, and what follows is looked at."""
    flood = "It is so." + "[substrate.grep;path=abc]" * 36_000
    async with running(settings):
        await send(settings, *(numbered(number, flood) for number in range(8)), numbered(8))
        found = await observations(settings, 2)
    assert {one.subject.emission_id for _, _, one in found} == {"em-8"}
    assert await committed(settings) == 9


async def test_a_record_that_always_fails_is_passed_over(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """It is tried `TRIES` times, told and counted; the others are looked at, and the offset goes on."""
    tried = Counter[str]()

    def failing(one: Observation, *more: Any) -> dict[str, Any]:
        tried[one.subject.emission_id] += 1
        if one.subject.emission_id == "em-1":
            raise MemoryError
        return written(one, *more)

    monkeypatch.setattr(service_module, "written", failing)
    async with running(settings) as service:
        await send(settings, *(numbered(number) for number in range(3)))
        found = await observations(settings, 4)
        await passed_over(service)
    assert {one.subject.emission_id for _, _, one in found} == {"em-0", "em-2"}
    assert tried["em-1"] >= service_module.TRIES
    assert await committed(settings) == 3


async def test_a_record_that_ends_processes_is_passed_over(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """Starts that get no further are counted with the group's offset; the one record is passed over, no neighbour."""

    async def dies(service: ObserverService, place: Any, record: Any, held: Any) -> str:
        if record.key == b"em-1":
            ended.set()
            await asyncio.Event().wait()  # the process is killed here
        return await handled(service, place, record, held)

    handled, ended = ObserverService._handled, asyncio.Event()
    monkeypatch.setattr(ObserverService, "_handled", dies)
    monkeypatch.setattr(service_module, "COMMIT_SECONDS", 0.05)
    await send(settings, *(numbered(number) for number in range(3)))
    starts: list[ObserverService] = []
    found: list[Any] = []
    while not found and len(starts) < service_module.TRIES + 3:
        ended.clear()
        async with running(settings) as service:
            starts.append(service)
            waits = {asyncio.create_task(passed_over(service)), asyncio.create_task(ended.wait())}
            await asyncio.wait(waits, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            for task in waits:
                task.cancel()
            if not ended.is_set():
                found = await observations(settings, 4)
            else:
                killed(service)
    # The first may end before it has stored what it did; of `TRIES` more the last ones take the record alone.
    assert service_module.TRIES < len(starts) <= service_module.TRIES + 2
    assert {one.subject.emission_id for _, _, one in found} == {"em-0", "em-2"}
    assert await committed(settings) == 3


async def passed_over(service: ObserverService) -> None:
    """Waits until the service has counted one."""
    for _ in range(20 * PATIENCE):
        if b'result="passed-over"} 1.0' in service._metrics.text():
            return
        await asyncio.sleep(0.05)


def killed(service: ObserverService) -> None:
    """Has the service commit nothing more, as a process that was killed."""

    async def nothing(*_: Any, **__: Any) -> None:
        pass

    service._commit = service._commit_at = nothing  # type: ignore[method-assign]
    service.request_stop()
    for task in service._working:
        task.cancel()
