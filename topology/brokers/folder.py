"""The data folder of a Kafka of ours: who may use it, its configuration, and its formatting."""

from __future__ import annotations

import base64
import fcntl
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...codecs.errors import UnreachableError, UsageError

FORMAT_SECONDS = 60
LOCK = ".lock"
MAX_MESSAGE_BYTES = 4_194_304

_PROPERTIES = """\
# Written anew at each start by `sluice broker run`.
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
# Relative to the data folder, which is the working directory: whatever is in its name needs no quoting here.
log.dirs=log
auto.create.topics.enable=false
message.max.bytes={max_message}
# As many replicas as there are brokers, and few partitions, of which each costs files and start-up time.
default.replication.factor={replicas}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=4
# Tests join groups all the time; nobody else is coming.
group.initial.rebalance.delay.ms=0
# After a crash the controller takes the new broker for a second one until the old one's session ends: 9 s by default.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
# A controlled shutdown of the last broker leaves partitions without a leader. Kafka 4.3 takes those for deleted: it
# calls a transaction committed whose markers it never wrote, and the lane's ledger hangs for ever (docs/limits.md).
# Of several brokers one that goes without it is missed after its session, 3 s.
controlled.shutdown.enable=false
# Half of the heap otherwise.
log.cleaner.dedupe.buffer.size=16777216
"""


class Node(NamedTuple):
    """One node among those of its cluster.

    Attributes:
        id: its own, from 1.
        controllers: the port of each node's controller on 127.0.0.1, by the node's id.
        cluster: the cluster's id, which all its nodes are formatted with.
    """

    id: int
    controllers: Mapping[int, int]
    cluster: str

    @property
    def voters(self) -> str:
        """The quorum as Kafka's configuration names it."""
        return ",".join(f"{node}@127.0.0.1:{port}" for node, port in self.controllers.items())


def new_cluster_id() -> str:
    """An id in Kafka's form, which no other cluster has."""
    return "k" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]  # never a leading `-`


def check_folder(data: Path) -> None:
    """Makes the folder where it is not there.

    Raises:
        UsageError: it cannot be made or read, or it holds something else: a mistyped path must not fill a home.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in data.iterdir()}
    except OSError as error:
        raise UsageError(f"cannot be a data folder: {error.strerror}", path=str(data), hint="name another") from None
    if names - {LOCK} and "server.properties" not in names:
        raise UsageError(
            "the folder holds something else than a broker's data", path=str(data), hint="name an empty one"
        )


def lock_folder(data: Path) -> int:
    """The open file whose lock keeps a second broker away for as long as any process has it open.

    Raises:
        UsageError: another broker has it, or it cannot be made.
    """
    try:
        lock = os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"cannot be a data folder: {error.strerror}", path=str(data), hint="name another") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise UsageError(
            "another broker runs on this data folder", path=str(data), hint="stop it, or name another folder"
        ) from None
    return lock


def write_properties(data: Path, ports: tuple[int, int], node: Node, further: Mapping[str, str]) -> None:
    """Kafka's configuration for these ports (of the listener, of the controller), and what further settings say."""
    replicas = len(node.controllers)
    text = _PROPERTIES.format(
        port=ports[0],
        controller=ports[1],
        node=node.id,
        voters=node.voters,
        replicas=replicas,
        in_sync=2 if replicas >= 3 else 1,
        max_message=MAX_MESSAGE_BYTES,
    )
    ours = [line for line in text.splitlines() if line.partition("=")[0] not in further]
    theirs = [f"{name}={value.format(port=ports[0], controller=ports[1])}" for name, value in further.items()]
    path = data / "server.properties"
    path.touch(0o600)  # it may hold a password
    path.write_text("\n".join([*ours, *theirs, ""]), "utf-8")


def format_folder(java: Sequence[str], libs: Path, data: Path, users: Mapping[str, str], cluster: str) -> None:
    """Gives a new data folder its cluster id, and users with their passwords (SCRAM); one that has it stays as it is.

    `java` is the program and options of it.

    Raises:
        UnreachableError: Kafka's storage tool fails.
    """
    if (data / "log" / "meta.properties").exists():
        return
    command = [*java, "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{libs}/*"]
    command += ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", "server.properties"]
    for name, password in users.items():
        command += ["--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]"]
    try:
        done = subprocess.run(command, cwd=data, capture_output=True, text=True, timeout=FORMAT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UnreachableError(f"Kafka's storage is not formatted after {FORMAT_SECONDS} s", path=str(data)) from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise UnreachableError(f"Kafka's storage cannot be formatted: {said[-1] if said else 'no word why'}")
