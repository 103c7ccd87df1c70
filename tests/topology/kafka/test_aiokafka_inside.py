"""aiokafka's private names: one module has them all, and each is held to the real package."""

from __future__ import annotations

import ast
import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiokafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer import fetcher as aiokafka_fetcher
from aiokafka.consumer.fetcher import Fetcher, PartitionRecords
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.producer.sender import Sender, TxnOffsetCommitHandler
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

from sluice.topology.kafka import aiokafka_inside as inside
from sluice.topology.kafka.local_broker import EmbeddedBroker

ROOT = Path(__file__).parents[3]
DOOR = ROOT / "topology" / "kafka" / "aiokafka_inside.py"
PUBLIC = {"aiokafka", "aiokafka.admin", "aiokafka.errors", "aiokafka.structs", "aiokafka.abc", "aiokafka.helpers"}
"""What aiokafka documents."""
OTHERS = {"aiokafka.admin.config_resource", "aiokafka.partitioner"}
"""Modules of it that have no underscore and no other door to what is in them."""
PLACE = TopicPartition("t", 0)


def modules() -> Iterator[Path]:
    """All that may import aiokafka."""
    for room in ("codecs", "streams", "record", "topology"):
        yield from (ROOT / room).rglob("*.py")


@cache
def parsed(path: Path) -> tuple[str, list[ast.AST]]:
    """A module's text, and all that is in it."""
    text = path.read_text(encoding="utf-8")
    return text, list(ast.walk(ast.parse(text)))


def own_names(path: Path) -> set[str]:
    """What classes of a module define, and set on their objects."""
    found = set[str]()
    for node in parsed(path)[1]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and _is_own(node.value) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def _is_own(node: ast.expr) -> bool:
    """Whether an attribute is of the class that the line stands in."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


@cache
def private_names() -> frozenset[str]:
    """aiokafka's own, as its sources have them."""
    found = set[str]()
    for path in Path(aiokafka.__file__).parent.rglob("*.py"):
        found |= own_names(path)
    return frozenset(name for name in found if name.startswith("_") and not name.startswith("__"))


@cache
def names_of_ours() -> frozenset[str]:
    """What our own classes call theirs."""
    return frozenset[str]().union(*(own_names(path) for path in modules() if path != DOOR))


def touched(path: Path) -> list[str]:
    """What a module uses of aiokafka's inside.

    A private name of aiokafka's is found in every module; where our own classes have the same name, in those only that
    name aiokafka.
    """
    (text, nodes), found = parsed(path), list[str]()
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [
            f"line {node.lineno}: import of {name}"
            for name in names
            if name.split(".")[0] == "aiokafka" and name not in PUBLIC | OTHERS
        ]
    sought = private_names() if "aiokafka" in text else private_names() - names_of_ours()
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in sought and not _is_own(node.value):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Constant) and node.value in sought:
            found.append(f"line {node.lineno}: {node.value!r}")
    return found


@pytest.mark.slow
def test_no_other_module_touches_aiokafka_s_inside():
    """Neither an import of a module that aiokafka does not document, nor a private attribute of its objects."""
    found = {str(path.relative_to(ROOT)): used for path in modules() if path != DOOR and (used := touched(path))}

    assert found == {}


def test_the_door_has_nothing_that_nobody_uses():
    """What no module asks for any more goes."""
    used = set[str]()
    for path in modules():
        for node in parsed(path)[1]:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == "aiokafka_inside":
                used |= {alias.name for alias in node.names}
            elif path == DOOR and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used.add(node.id)

    defined = {
        node.name for node in ast.parse(parsed(DOOR)[0]).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert {name for name in defined if not name.startswith("_")} | set(inside.__all__) <= used


@pytest.mark.parametrize(
    "line",
    [
        "from aiokafka.consumer.fetcher import Fetcher",
        "import aiokafka.client",
        "from aiokafka import AIOKafkaConsumer\ndef f(consumer): return consumer._fetcher",
        "import aiokafka\ndef f(producer): producer._closed = True",
        "def f(coordinator): coordinator._do_rejoin_group()",
        "def f(producer): return getattr(producer, '_txn_manager')",
        "import aiokafka\ndef f(p): return p._partition('t', None, b'', None, b'', None)",
        "from .aiokafka_inside import HookedFetcher as H\nclass F(H):\n def f(self): super()._proc_fetch_request()",
    ],
)
def test_what_touches_it_is_found(tmp_path: Path, line: str):
    """The search can fail."""
    module = tmp_path / "module.py"
    module.write_text(line)

    assert touched(module)


@pytest.mark.parametrize("line", ["from aiokafka import TopicPartition", "def f(self): return self._client"])
def test_what_does_not_is_not(tmp_path: Path, line: str):
    """What is documented, and other objects' attributes of these names."""
    module = tmp_path / "module.py"
    module.write_text(line)

    assert touched(module) == []


@asynccontextmanager
async def opened(client: Any) -> AsyncIterator[Any]:
    """A client that was started."""
    await client.start()
    try:
        yield client
    finally:
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


@pytest.fixture
def servers() -> Iterator[Any]:
    """The address of an embedded broker."""
    with EmbeddedBroker() as broker:
        yield broker.address.removeprefix("kafka://")


@asynccontextmanager
async def reading(servers: Any, *values: bytes) -> AsyncIterator[Any]:
    """A consumer of one partition that has these records."""
    async with opened(AIOKafkaProducer(bootstrap_servers=servers)) as producer:
        for value in values:
            await producer.send_and_wait("t", value, partition=0)
    async with opened(AIOKafkaConsumer(bootstrap_servers=servers, check_crcs=False)) as consumer:
        inside.hook_fetcher(consumer)
        consumer.assign([PLACE])
        consumer.seek(PLACE, 0)
        yield consumer


async def fetched(consumer: Any) -> Any:
    """What has come of the partition."""
    fetcher = inside.fetcher_of(consumer)
    async with asyncio.timeout(60):
        while PLACE not in inside.waiting_in(fetcher):
            await asyncio.wait([inside.next_answer(fetcher)], timeout=5)
    return inside.waiting_in(fetcher)[PLACE]


@pytest.mark.slow
async def test_each_owner_leads_to_its_parts(servers: Any):
    """On a broker, to the classes that are named."""
    async with (
        opened(AIOKafkaProducer(bootstrap_servers=servers)) as producer,
        opened(AIOKafkaConsumer("t", bootstrap_servers=servers, group_id="g")) as consumer,
        opened(AIOKafkaAdminClient(bootstrap_servers=servers)) as admin,
    ):
        for one in (producer, consumer, admin):
            assert isinstance(inside.client_of(one), AIOKafkaClient)
            assert inside.real_client_of(one) is inside.client_of(one)
        assert isinstance(inside.fetcher_of(consumer), Fetcher)
        assert isinstance(inside.coordinator_of(consumer), GroupCoordinator)
        assert isinstance(inside.subscriptions_of(consumer), SubscriptionState)
        assert isinstance(inside.sender_of(producer), Sender)
        sent = await producer.send_and_wait("t", b"v", key=b"k")
        assert inside.partition_for(producer, "t", b"k") == sent.partition
    assert inside.real_client_of(object()) is None


async def test_a_producer_that_does_not_stop_is_abandoned(servers: Any):
    """Its task ends, and it counts as closed: nothing complains of it afterwards."""
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    inside.consume_exceptions(producer)
    task: Any = inside.sender_of(producer).sender_task
    inside.abandon(producer)
    await asyncio.wait([task], timeout=60)

    assert task.done()
    assert producer._closed
    await inside.client_of(producer).close()


async def test_a_transaction_that_nobody_awaited_is_heard_of(servers: Any):
    """Where aiokafka keeps it, a failed one is taken out: nothing complains of it afterwards."""
    producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id="x")
    manager: Any = producer._txn_manager
    assert manager._transaction_waiter is None
    manager._transaction_waiter = waiter = asyncio.get_running_loop().create_future()
    waiter.set_exception(RuntimeError("fenced"))

    inside.consume_exceptions(producer)

    assert not waiter._log_traceback  # what asyncio would tell of, had nobody looked
    await inside.client_of(producer).close()


async def test_a_batch_that_was_never_sent_is_heard_of(servers: Any):
    """Its producer is fenced before it goes out: whoever handed it over is told, and asyncio complains of nothing."""
    async with opened(AIOKafkaProducer(bootstrap_servers=servers)) as producer:
        await producer.client._wait_on_metadata("t")
        accumulator: Any = producer._message_accumulator
        inside.sender_of(producer).sender_task.cancel()  # nothing goes out any more
        batch = producer.create_batch()
        batch.append(key=b"k", value=b"v", timestamp=5)
        batch.close()
        sent = await producer.send_batch(batch, "t", partition=0)
        (kept,) = [one for some in accumulator._batches.values() for one in some]
        accumulator.fail_all(RuntimeError("fenced"))
        with pytest.raises(RuntimeError):
            await sent
        assert kept._drain_waiter._log_traceback  # what asyncio would tell of

        inside.consume_exceptions(producer)

        assert not kept._drain_waiter._log_traceback
        accumulator._batches.clear()


async def test_a_client_connects_and_asks_by_other_methods(servers: Any):
    """Those that are put in the place of its own get its calls, and keep no client alive."""
    async with opened(AIOKafkaProducer(bootstrap_servers=servers)) as producer:
        client, asked = inside.client_of(producer), list[str]()
        connection, metadata = (method() for method in inside.connection_methods(client))
        assert (connection.__name__, metadata.__name__) == ("_get_conn", "_metadata_update")

        async def connect(node: Any, **how: Any) -> Any:
            asked.append("connection")
            return await connection(node, **how)

        async def ask(*what: Any) -> bool:
            asked.append("metadata")
            return await metadata(*what)

        inside.replace_connection_methods(client, connect, ask)
        assert await client.force_metadata_update()
        await producer.send_and_wait("t", b"v")
        nodes = [broker.nodeId for broker in client.cluster.brokers()]
        assert any(inside.is_connected(client, node, inside.ConnectionGroup.DEFAULT) for node in nodes)
        assert not inside.is_connected(client, 99, inside.ConnectionGroup.DEFAULT)
        assert {"connection", "metadata"} <= set(asked)
    methods = inside.connection_methods(AIOKafkaClient(bootstrap_servers=servers))
    gc.collect()
    assert [method() for method in methods] == [None, None]


async def test_an_admin_client_asks_any_node_that_is_there(servers: Any):
    """One that metadata name, and nobody reaches, does not fail it."""
    async with opened(inside.AskingAnyNode(bootstrap_servers=servers)) as admin:
        client = inside.client_of(admin)
        ready, refused = client.ready, list[Any]()

        async def ready_but_first(node: Any, **how: Any) -> bool:
            if not refused:
                refused.append(node)
                return False
            return await ready(node, **how)

        await client.force_metadata_update()
        nodes = list(client.cluster.brokers())
        client.cluster.brokers = lambda: nodes * 2
        client.ready = ready_but_first
        assert isinstance(await admin.list_topics(), list)
        assert refused


@pytest.mark.slow
async def test_a_member_beats_and_joins_by_other_methods(servers: Any):
    """What stands in the place of the coordinator's own is called, and what is asked of the group goes through it."""
    options: dict[str, Any] = {"heartbeat_interval_ms": 100, "group_id": "g"}
    async with opened(AIOKafkaConsumer("t", bootstrap_servers=servers, **options)) as consumer:
        coordinator = inside.coordinator_of(consumer)
        beat, rejoin = inside.heartbeat_of(coordinator), inside.rejoin_of(coordinator)
        beaten, joined = asyncio.Event(), asyncio.Event()

        async def beats() -> bool:
            is_member = await beat()
            beaten.set()
            return is_member

        async def joins(subscription: Any) -> bool:
            has_joined = await rejoin(subscription)
            joined.set()
            return has_joined

        inside.replace_heartbeat(coordinator, beats)
        inside.replace_rejoin(coordinator, joins)
        coordinator.request_rejoin()
        async with asyncio.timeout(60):
            while not (beaten.is_set() and joined.is_set()):
                await consumer.getmany(timeout_ms=50)
        assert not inside.is_leaving(coordinator)
    assert inside.is_leaving(coordinator)


async def test_what_was_fetched_is_read_otherwise(servers: Any):
    """The bytes as they came, once; and the position that whatever stands in their place says."""
    async with reading(servers, b"a", b"b") as consumer:
        result = await fetched(consumer)
        records = inside.records_in(result)
        assert inside.partition_of(result) == PLACE
        assert inside.error_of(result) is None
        assert inside.is_fetched(records)
        assert not inside.is_fetched(object())
        answer = inside.answer_of(records)
        assert (answer.partition, answer.position, answer.aborted) == (PLACE, 0, [])
        assert (answer.check_crcs, answer.committed_only) == (False, False)
        assert b"\x02a\x00" in answer.raw  # the value with its length, and no headers
        assert (inside.end_told(result) or 0) >= 1
        state = inside.state_of(inside.fetcher_of(consumer), PLACE)
        records.next_fetch_offset = 1
        inside.replace_records(result, records)
        inside.move_position(result)
        assert (state.position, await consumer.position(PLACE)) == (1, 1)
        inside.drop_records(result)
        assert not result.has_more()


async def test_what_waits_is_let_go_of_and_comes_again(servers: Any):
    """A partition whose records are dropped is fetched from its position."""
    async with reading(servers, b"a") as consumer:
        fetcher = inside.fetcher_of(consumer)
        await inside.assignment_settled(fetcher)
        first = await fetched(consumer)
        inside.drop_and_refetch(fetcher, PLACE)
        assert PLACE not in inside.waiting_in(fetcher)
        assert await fetched(consumer) is not first
        inside.forget_fetched(fetcher, PLACE)
        inside.forget_fetched(fetcher, PLACE)
        assert PLACE not in inside.waiting_in(fetcher)
        assert inside.is_assigned(fetcher, PLACE)
        assert not inside.is_assigned(fetcher, TopicPartition("t", 1))
        assert not inside.is_closed(consumer)
    assert inside.is_closed(consumer)
    assert inside.is_fetcher_closed(fetcher)


def test_an_error_that_waits_is_told():
    """aiokafka keeps it beside the records, under the same keys."""
    error = RuntimeError("none")

    assert inside.error_of(aiokafka_fetcher.FetchError(error=error, backoff=0)) is error


class Hooked(inside.HookedFetcher):
    """Keeps what it is asked and told."""

    told: asyncio.Queue[int]
    asked = 0
    waits = frozenset[bool]()

    def __init__(self) -> None:
        raise AssertionError("a fetcher that is there is not made again")

    async def before_request(self) -> None:
        self.asked += 1

    def after_request(self, waiting: int) -> None:
        self.told.put_nowait(waiting)

    def longest_wait_ms(self, *, anything_waits: bool) -> int:
        self.waits |= {anything_waits}
        return 10


async def test_a_fetcher_asks_when_a_request_goes_out(servers: Any):
    """And how long the broker may hold it, and tells what came, as it travelled."""
    async with reading(servers, b"a" * 1000) as consumer:
        fetcher = inside.hook_fetcher(consumer, Hooked)
        fetcher.told = asyncio.Queue()
        assert fetcher is inside.fetcher_of(consumer)
        await fetched(consumer)
        inside.drop_and_refetch(fetcher, PLACE)
        async with asyncio.timeout(60):
            while await fetcher.told.get() < 1000:
                pass
        assert fetcher.asked >= 1
        assert False in fetcher.waits
        assert fetcher._fetch_max_wait_ms == 10


def test_formats_0_and_1_are_read_from_the_kept_bytes():
    """By aiokafka's own reader, of as many bytes as are of these formats."""
    builder = LegacyRecordBatchBuilder(1, 0, 10**6)
    builder.append(0, 5, b"k", b"v")
    raw = bytes(builder.build())
    kept: Any = inside.KeptRecords(raw)
    answer = inside.answer_of(PartitionRecords(PLACE, kept, None, 0, None, None, True, 1))

    assert kept.raw == answer.raw == raw
    assert [(one.offset, one.value) for one in inside.old_records(answer, raw)] == [(0, b"v")]
    assert answer.committed_only


@pytest.mark.parametrize(("key", "is_abort"), [(b"\0\0\0\0", True), (b"\0\0\0\1", False)])
def test_a_marker_is_read(key: bytes, is_abort: bool):
    """Version and kind, two bytes each."""
    assert inside.is_abort_marker(key) is is_abort


class Once(inside.ClosedBatch):
    """A batch of bytes that aiokafka made."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.sender = raw, None

    def record_count(self) -> int:
        return 1

    def size(self) -> int:
        return len(self.raw)

    def sent_by(self, producer_id: int, epoch: int, sequence: int) -> None:
        self.sender = (producer_id, epoch, sequence)

    def built(self) -> bytes:
        return self.raw


async def test_a_batch_of_our_own_is_sent(servers: Any):
    """aiokafka tells it who sends it, and sends what it builds."""
    asked = {name for name in dir(BatchBuilder) if not name.startswith("__")} - {"append", "metadata", "_serialize"}
    assert asked <= set(dir(Once))
    async with opened(AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True)) as producer:
        await producer.client._wait_on_metadata("t")
        made = producer.create_batch()
        made.append(key=b"k", value=b"v", timestamp=5)
        made.close()
        batch = Once(bytes(made._build()))
        sent = await producer.send_batch(batch, "t", partition=0)  # type: ignore[arg-type]
        assert (await sent).offset == 0
        assert batch.sender is not None
        assert batch.sender[2] == 0  # the first of its partition


async def test_what_was_refused_takes_no_place(servers: Any):
    """The next record of the partition has the number that the refused one had."""
    async with opened(AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True)) as producer:
        await producer.send_and_wait("t", b"v", partition=0)
        manager: Any = producer._txn_manager
        manager.increment_sequence_number(PLACE, 1)  # as the sender does for a batch that is refused
        inside.pass_refused(producer, PLACE)
        assert manager.sequence_number(PLACE) == 1
    async with opened(AIOKafkaProducer(bootstrap_servers=servers)) as producer:
        inside.pass_refused(producer, PLACE)
        assert producer._txn_manager is None


def test_a_commit_of_offsets_is_one_of_aiokafka_s():
    """tests/topology/kafka/test_claiming.py puts one through aiokafka's sender and transaction manager."""
    assert issubclass(inside.OffsetsCommit, TxnOffsetCommitHandler)
    assert {"create_request", "handle_response", "do"} <= set(dir(TxnOffsetCommitHandler))
    assert callable(Sender._do_txn_offset_commit)


_IMPORTING = """
import importlib, pkgutil, aiokafka
modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(aiokafka.__path__, "aiokafka.")]

def state():
    for module in modules:
        for name, value in vars(module).items():
            members = vars(value) if isinstance(value, type) else value if isinstance(value, dict) else {}
            if name != "__builtins__":
                yield (module.__name__, name), (id(value), {str(key): id(member) for key, member in members.items()})

before = dict(state())
import sluice.topology.client
print([name for name, value in state() if before.get(name) != value])
"""


@pytest.mark.slow
def test_importing_the_client_changes_nothing_of_aiokafka():
    """A program that uses aiokafka itself has it as it was: what is replaced is replaced in objects of our own."""
    done = subprocess.run([sys.executable, "-c", _IMPORTING], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
