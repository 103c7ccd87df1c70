"""aiokafka's private names: one door for them, held to the real package, and a list of the modules that go deeper."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.producer.sender import Sender

from sluice.topology.brokers import EmbeddedBroker
from sluice.topology.kafka import aiokafka_inside as inside

ROOT = Path(__file__).parents[3]
DEEPER = {
    "topology/kafka/aiokafka_inside.py",
    "topology/kafka/assignor.py",  # an assignor is a subclass of aiokafka's
    "topology/kafka/batches/packing.py",
    "topology/kafka/batches/unpacking.py",
    "topology/kafka/claiming.py",
    "topology/kafka/consumer.py",
    "topology/kafka/membership.py",
    "topology/kafka/polling.py",
    "topology/kafka/reconnect.py",
    "topology/kafka/requests.py",
}
"""Modules that replace parts of aiokafka, or speak its protocol. The list may get shorter; a new one needs a reason."""
PUBLIC = {"aiokafka", "aiokafka.admin", "aiokafka.errors", "aiokafka.structs", "aiokafka.abc", "aiokafka.helpers"}
"""What aiokafka documents."""
OTHERS = {"aiokafka.admin.config_resource", "aiokafka.partitioner"}
"""Modules of it that have no underscore and no other door to what is in them."""
INNER = {
    "_client",
    "_closed",
    "_coordinator",
    "_fetcher",
    "_isolation_level",
    "_partition",
    "_partition_records",
    "_sender",
    "_subscription",
    "_subscriptions",
    "_txn_manager",
}
"""Attributes of aiokafka's objects, in modules that import it."""
DISTINCT = {
    "_coordinator_dead",
    "_create_fetch_waiter",
    "_do_heartbeat",
    "_do_rejoin_group",
    "_do_txn_offset_commit",
    "_find_coordinator",
    "_txn_manager",
    "_wait_consume_future",
}
"""Attributes that nothing else has: they are found in every module."""


def modules() -> Iterator[Path]:
    """All that may import aiokafka."""
    for room in ("codecs", "streams", "record", "topology"):
        yield from (ROOT / room).rglob("*.py")


def touched(path: Path) -> list[str]:
    """What a module uses of aiokafka's inside."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), list[str]()
    knows = False
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "aiokafka":
                knows = True
                if name not in PUBLIC | OTHERS:
                    found.append(f"line {node.lineno}: import of {name}")
    sought = INNER | DISTINCT if knows else DISTINCT
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in sought and not _is_own(node.value):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def _is_own(node: ast.expr) -> bool:
    """Whether an attribute is of the class that the line stands in."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def test_no_other_module_touches_aiokafka_s_inside():
    """Neither an import of a module that aiokafka does not document, nor a private attribute of its objects."""
    found = {
        str(path.relative_to(ROOT)): used
        for path in modules()
        if str(path.relative_to(ROOT)) not in DEEPER and (used := touched(path))
    }

    assert found == {}


def test_the_list_names_nothing_that_does_not_go_deeper():
    """A module that was cleared leaves the list."""
    assert [
        name for name in sorted(DEEPER) if not touched(ROOT / name) and name != "topology/kafka/membership.py"
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        "from aiokafka.consumer.fetcher import Fetcher",
        "import aiokafka.client",
        "from aiokafka import AIOKafkaConsumer\ndef f(consumer): return consumer._fetcher",
        "import aiokafka\ndef f(producer): producer._closed = True",
        "def f(coordinator): coordinator._do_rejoin_group()",
        "import aiokafka\ndef f(p): return p._partition('t', None, b'', None, b'', None)",
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


async def test_the_real_package_has_what_is_reached_for():
    """Each door leads to the class that it names, on a broker."""
    with EmbeddedBroker() as broker:
        servers: Any = broker.address.removeprefix("kafka://")
        producer = AIOKafkaProducer(bootstrap_servers=servers)
        consumer = AIOKafkaConsumer("t", bootstrap_servers=servers, group_id="g")
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await producer.start()
        await consumer.start()
        try:
            for one in (producer, consumer, admin):
                assert isinstance(inside.client_of(one), AIOKafkaClient)
            assert isinstance(inside.fetcher_of(consumer), Fetcher)
            assert isinstance(inside.coordinator_of(consumer), GroupCoordinator)
            assert isinstance(inside.subscriptions_of(consumer), SubscriptionState)
            assert isinstance(inside.sender_of(producer), Sender)
            sent = await producer.send_and_wait("t", b"v", key=b"k")
            assert inside.partition_for(producer, "t", b"k") == sent.partition
            inside.hear(producer)
            task: Any = inside.sender_of(producer).sender_task
            inside.abandon(producer)
            await asyncio.wait([task], timeout=60)
            assert task.done()
        finally:
            await consumer.stop()
            await inside.client_of(producer).close()
            await admin.close()


async def test_a_transaction_that_nobody_awaited_is_heard_of():
    """Where aiokafka keeps it, a failed one is taken out: nothing complains of it afterwards."""
    with EmbeddedBroker() as broker:
        servers: Any = broker.address.removeprefix("kafka://")
        producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id="x")
        manager: Any = producer._txn_manager
        assert manager._transaction_waiter is None
        manager._transaction_waiter = waiter = asyncio.get_running_loop().create_future()
        waiter.set_exception(RuntimeError("fenced"))

        inside.hear(producer)

        assert not waiter._log_traceback  # what asyncio would tell of, had nobody looked
        await inside.client_of(producer).close()
