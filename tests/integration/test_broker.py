"""`RealBroker` and `sluice broker run`: data that lasts, and processes that do not."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from commands import SLUICE

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.kafka.local_broker import RealBroker


def topics(address: str, create: str | None = None) -> list[str]:
    """The topics of a broker, one more made first where it is named."""

    async def ask() -> list[str]:
        admin = AIOKafkaAdminClient(bootstrap_servers=address.removeprefix("kafka://"))
        await admin.start()
        try:
            if create is None:
                return await admin.list_topics()
            await admin.create_topics([NewTopic(create, 1, 1)])
            async with asyncio.timeout(150):  # the broker learns from its controller what there is
                while create not in (found := await admin.list_topics()):  # noqa: ASYNC110 -- nobody tells
                    await asyncio.sleep(0.05)
            return found
        finally:
            await admin.close()

    return asyncio.run(ask())


def ends(pid: int, within: float = 60) -> bool:
    """Whether a process that is no child of ours ends in time."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        stat = Path(f"/proc/{pid}/stat")
        try:
            if stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_data_lasts_over_kill_restart_and_a_second_start(tmp_path: Path):
    """Kill and restart keep address and data; a later broker on the same folder finds the data as well.

    The folder's name has what a properties file or a list of folders would stumble over.
    """
    data = tmp_path / "a, b: ü=c"
    with RealBroker(data) as broker:
        address = broker.address
        assert "kept" in topics(address, create="kept")
        first = broker.pid
        broker.kill()
        assert broker.pid is None
        assert broker.restart() == address
        assert broker.pid != first
        assert topics(address) == ["kept"]
        with pytest.raises(UsageError, match="another broker runs on this data folder"):
            RealBroker(data).start()
    assert broker.pid is None
    with RealBroker(data) as broker:
        assert topics(broker.address) == ["kept"]


def test_a_port_that_is_taken_is_reported_in_one_sentence(tmp_path: Path):
    """Before anything is started."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UnreachableError, match=f"port {port} is taken"):
            RealBroker(tmp_path / "data", port).start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_the_address_first_and_ends_when_it_is_told(number: signal.Signals, tmp_path: Path):
    """A broker that is told to end takes its Kafka and its temporary data with it, and exits with 0."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = subprocess.Popen([*SLUICE, "broker", "run"], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert command.stdout is not None
        address = command.stdout.readline().strip()
        assert address.startswith("kafka://127.0.0.1:")
        assert topics(address) == []
        assert list(tmp_path.iterdir())
        command.send_signal(number)
        assert command.wait(150) == 0
    finally:
        command.kill()
        command.wait()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), timeout=5)


def test_kafka_ends_when_its_parent_is_killed(tmp_path: Path):
    """Nobody has to look for orphans: the kernel tells Kafka that its parent is gone."""
    script = (
        "import sys, time; from sluice.topology.kafka.local_broker import RealBroker; "
        "b = RealBroker(sys.argv[1]); b.start(); print(b.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "data")], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.wait()

    assert ends(pid)


def test_a_kafka_that_dies_ends_the_command_with_3(tmp_path: Path):
    """Whoever waits for the broker is told, rather than left with an address where nobody answers."""
    data = tmp_path / "data"
    command = subprocess.Popen(
        [*SLUICE, "broker", "run", "--data", str(data)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert command.stdout is not None
        command.stdout.readline()
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        _, said = command.communicate(timeout=150)
    finally:
        command.kill()
        command.wait()

    assert command.returncode == 3
    assert "sluice: Apache Kafka has ended by itself" in said
