"""Brokers on this machine: for `sluice broker run`, the demo, tests and faults on purpose.

`RealBroker` is an Apache Kafka (KRaft) as a child process, from its published jars; `RealCluster` is several of them
that are one cluster; `EmbeddedBroker` is librdkafka's mock cluster in this process, with nothing to install.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import fcntl
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from ...codecs.errors import UnreachableError, UsageError

KAFKA_VERSION = "4.3.0"
JAVA_NEEDED = 17
HINT = (
    f"install OpenJDK {JAVA_NEEDED} or later and Maven 3.8 or later (Debian: apt install openjdk-17-jre-headless maven)"
)
START_SECONDS = 60
"""Kafka is up in 2 to 3 s; a machine under load may take ten times as long."""
STOP_SECONDS = 10
RECORD_SECONDS = 60
"""As `STOP_SECONDS`, for a Kafka that writes the archive of its classes when it ends: that takes 3 s."""
READY = b"Kafka Server started"
"""Kafka logs it once its listener is open and the controller has let the broker in: earlier, requests still fail."""
NODE_HEAP = 320
"""MB of heap of each node: three of them fit where one of 1 GB does."""
PARTITIONS = 4
"""Partitions of every topic of the mock cluster; librdkafka has no option for it."""
_LOCK = ".lock"
# Ports below the range from which the system takes those of outgoing connections (32768 up): while a killed broker is
# away, a client that tries again and again to reach its port can be given that very port for its own end, connect to
# itself, and so keep the broker from coming back.
_PORTS = range(20_000, 32_000)

_POM = f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluice</groupId>
  <artifactId>kafka-for-development</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId> <artifactId>kafka_2.13</artifactId> <version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <!-- The line of the slf4j API that Kafka brings: a backend of 2.x is not found by it. -->
      <groupId>org.slf4j</groupId> <artifactId>slf4j-simple</artifactId> <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""

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
message.max.bytes=4194304
# As many replicas as there are brokers, and few partitions, of which each costs files and start-up time.
default.replication.factor={replicas}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=4
# Tests join groups all the time; no other member is coming.
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

# Java, asked to end when we end. PR_SET_PDEATHSIG (1) outlives execv; a parent gone before it was set shows in getppid.
_CHILD = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


# Kafka's jars, fetched once with Maven into a folder that the next start finds.


def find_java() -> str:
    """The `java` to run Kafka with: `JAVA_HOME`'s, else the first on the path.

    Raises:
        UnreachableError: there is none, or it is older than Kafka needs.
    """
    home = os.environ.get("JAVA_HOME")
    java = (shutil.which("java", path=str(Path(home, "bin"))) if home else None) or shutil.which("java")
    if java is None:
        raise UnreachableError(f"Apache Kafka needs Java {JAVA_NEEDED} or later, and there is no `java`", hint=HINT)
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"`{java} -version` does not answer: {error}", hint=HINT) from None
    # `1.8.0_402` is 8, `17.0.15` is 17, `21-ea` is 21.
    matched = re.search(r'version "(?:1\.)?(\d+)', output)
    if matched is None or int(matched[1]) < JAVA_NEEDED:
        raise UnreachableError(
            f"Apache Kafka {KAFKA_VERSION} does not run on this Java",
            path=java,
            expected=f"Java {JAVA_NEEDED} or later",
            got=matched[1] if matched else "an unknown version",
            hint=HINT,
        )
    return java


def cache_folder() -> Path:
    """The folder for fetched software: `$XDG_CACHE_HOME/sluice`, by default `~/.cache/sluice`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice"


def tell_stderr(message: str) -> None:
    """Writes one line of progress to standard error."""
    print(f"sluice: {message}", file=sys.stderr, flush=True)


def missing() -> str:
    """Why no Kafka can be started on this machine, in one sentence; empty where one can. Fetches nothing."""
    try:
        find_java()
    except UnreachableError as error:
        return str(error)
    return "" if _libs().is_dir() or shutil.which("mvn") else str(_no_maven())


def fetch_kafka(tell: Callable[[str], None] = tell_stderr) -> Path:
    """The folder with Kafka's jars, fetched first where it is not there.

    A download becomes visible by one rename at its end, so a broken one is never taken for whole; of two at once,
    the first to end stays.

    Raises:
        UnreachableError: Maven is missing, or cannot fetch the jars.
    """
    libs, cache = _libs(), cache_folder()
    if libs.is_dir():
        return libs
    maven = shutil.which("mvn")
    if maven is None:
        raise _no_maven()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f"kafka-{KAFKA_VERSION}.", dir=cache))
    except OSError as error:
        raise UnreachableError(
            f"cannot write there: {error.strerror}", path=str(cache), hint="set XDG_CACHE_HOME"
        ) from None
    try:
        tell(f"fetching Apache Kafka {KAFKA_VERSION} with Maven, once, about 45 MB")
        _copy_dependencies(maven, workplace)
        try:
            os.rename(workplace, libs.parent)
            libs.parent.chmod(0o755)
        except OSError:
            if not libs.is_dir():  # otherwise another process was first, and its jars are as good
                raise
        tell(f"Apache Kafka {KAFKA_VERSION} is in {libs.parent}")
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return libs


def _libs() -> Path:
    return cache_folder() / f"kafka-{KAFKA_VERSION}" / "libs"


def _no_maven() -> UnreachableError:
    return UnreachableError("Maven fetches Apache Kafka's jars, and there is no `mvn`", hint=HINT)


def _copy_dependencies(maven: str, workplace: Path) -> None:
    (workplace / "pom.xml").write_text(_POM, "utf-8")
    command = [maven, "--quiet", "--batch-mode", "--strict-checksums"]
    command += ["org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={workplace / 'libs'}"]
    try:
        done = subprocess.run(
            command,
            cwd=workplace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=900,  # 45 MB over a slow line
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"Maven does not fetch Apache Kafka's jars: {error}") from None
    if done.returncode != 0:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it says nothing")
        said = re.sub(r"\x1b\[[0-9;]*m", "", said).replace("[ERROR] ", "")
        raise UnreachableError(f"Maven cannot fetch Apache Kafka's jars: {said[:400]}", hint="is the network there?")


# One node, and several.


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


def _new_cluster_id() -> str:
    return "k" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]  # never a leading `-`


def _is_no_brokers(names: set[str]) -> bool:
    return bool(names - {_LOCK}) and "server.properties" not in names


def _data_folder(data: Path, refuses: Callable[[set[str]], bool], what: str) -> Path:
    """Makes a data folder where it is not there; a mistyped path must not fill a home.

    Raises:
        UsageError: it cannot be made or read, or it holds something else.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in data.iterdir()}
    except OSError as error:
        raise UsageError(f"cannot be a data folder: {error.strerror}", path=str(data), hint="name another") from None
    if refuses(names):
        raise UsageError(f"the folder holds something else than {what}", path=str(data), hint="name an empty one")
    return data


class _Running:
    """What runs from `start` to `stop`, as a context manager."""

    def start(self) -> str:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class RealBroker(_Running):
    """One Kafka on one data folder, as a context manager.

    Ports and data stay the same from `start` over `kill` and `restart` until `stop`. The child is told to end when
    the *thread* that started it ends: start it from one that lives as long as the broker shall.

    The first Kafka that ends in order keeps its classes as Java has them once they are loaded and verified (class data
    sharing), beside the jars: later ones start in half the time.

    Args:
        data: folder to keep the data in, made where it is not there; None is a temporary one, removed by `stop`.
        port: of the listener; None picks a free one.
        heap: of the Java machine, in MB.
        tell: is called with each line of progress; by default standard error.
        properties: further settings of the server, or others than ours; `{port}`, `{controller}` stand for ports.
        users: passwords by user (SCRAM-SHA-512), known to a new data folder from the beginning.
        node: which node of a cluster it is; by default the only one of its own. Its controller's port is `node`'s.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        port: int | None = None,
        *,
        heap: int = 512,
        tell: Callable[[str], None] = tell_stderr,
        properties: Mapping[str, str] | None = None,
        users: Mapping[str, str] | None = None,
        node: Node | None = None,
    ) -> None:
        self._properties, self._users, self._node = properties or {}, users or {}, node
        self._kept, self._port_wanted, self._heap, self._tell = data, port, heap, tell
        self._data: Path | None = None
        self._lock = -1
        self._ports: tuple[int, int] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._recorded: tuple[Path, Path] | None = None  # an archive of classes while it is written, and afterwards
        self._begun = 0  # where this start begins in Kafka's log

    @property
    def address(self) -> str:
        """`kafka://127.0.0.1:port`, or an empty text where it was not started."""
        return f"kafka://127.0.0.1:{self._ports[0]}" if self._ports else ""

    @property
    def pid(self) -> int | None:
        """Kafka's process id while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> str:
        """Starts Kafka, waits until it is ready, and returns its address; without effect on one that runs.

        Raises:
            UnreachableError: Java or Maven is missing, the port is taken, or Kafka does not come up.
            UsageError: the data folder is another broker's at the moment, or holds something else.
        """
        if self.pid is None:
            try:
                self.launch()
                self.await_ready()
            except BaseException:
                self.stop()
                raise
        return self.address

    def launch(self) -> None:
        """The first half of `start`: Kafka runs, and `await_ready` says when it answers. A node needs the others."""
        java, libs = find_java(), fetch_kafka(self._tell)
        atexit.register(self.stop)
        data = self._take_data()
        if self._ports is None and self._node is not None:
            self._ports = free_ports(1, self._port_wanted)[0], self._node.controllers[self._node.id]
        elif self._ports is None:
            listener, controller = free_ports(2, self._port_wanted)
            self._ports = listener, controller
        node = self._node or Node(1, {1: self._ports[1]}, _new_cluster_id())
        self._write_properties(data, node)
        if not (data / "log" / "meta.properties").exists():
            self._format(java, libs, data, node.cluster)
        self._launch(java, libs, data)

    def stop(self) -> None:
        """Ends Kafka, gently first, and removes temporary data; without effect on one that does not run."""
        atexit.unregister(self.stop)
        self._end(signal.SIGTERM)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        if self._kept is None and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
        self._data, self._ports = None, None

    def kill(self) -> None:
        """Ends Kafka as a crash would (SIGKILL); data and ports stay for `restart`."""
        self._end(signal.SIGKILL)

    def restart(self) -> str:
        """Starts Kafka again on the same data and ports, after `kill` or, gently ended first, while it runs."""
        self._end(signal.SIGTERM)
        return self.start()

    def wait(self, seconds: float) -> bool:
        """Waits for Kafka to end by itself; False where it still runs after so many seconds."""
        try:
            if self._process is not None:
                self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def complaint(self, begun: int = 0) -> str:
        """The last line of Kafka's log, from an offset on, that tells of an error."""
        if self._data is None:
            return ""
        said = (self._data / "kafka.log").read_bytes()[begun:].decode("utf-8", "replace").splitlines()
        errors = [line for line in said if " ERROR " in line or "Exception" in line or "Error" in line]
        return (errors or said or ["it says nothing"])[-1].strip()[:400]

    def await_ready(self) -> None:
        """The second half of `start`.

        Raises:
            UnreachableError: Kafka does not come up.
        """
        assert self._data is not None, "launch comes first"
        end = time.monotonic() + START_SECONDS
        while READY not in (self._data / "kafka.log").read_bytes()[self._begun :]:
            if self.wait(0.05):
                raise UnreachableError(
                    f"Apache Kafka {KAFKA_VERSION} ended at its start: {self.complaint(self._begun)}"
                )
            if time.monotonic() > end:
                raise UnreachableError(f"Apache Kafka is not up after {START_SECONDS} s: {self.complaint(self._begun)}")

    def _take_data(self) -> Path:
        """The data folder, locked for us. Kafka inherits the lock, so it holds until both have ended.

        Raises:
            UsageError: another broker has it, or it is no data folder.
        """
        if self._data is not None:
            return self._data
        if self._kept is None:
            data = Path(tempfile.mkdtemp(prefix="sluice-kafka-"))
        else:
            data = _data_folder(Path(self._kept).absolute(), _is_no_brokers, "a broker's data")
        try:
            lock = os.open(data / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(
                f"cannot be a data folder: {error.strerror}", path=str(data), hint="name another"
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise UsageError(
                "another broker runs on this data folder", path=str(data), hint="stop it, or name another folder"
            ) from None
        self._data, self._lock = data, lock
        return data

    def _write_properties(self, data: Path, node: Node) -> None:
        assert self._ports is not None
        ports, replicas = dict(zip(("port", "controller"), self._ports, strict=True)), len(node.controllers)
        text = _PROPERTIES.format(
            **ports,
            node=node.id,
            voters=",".join(f"{number}@127.0.0.1:{voter}" for number, voter in node.controllers.items()),
            replicas=replicas,
            in_sync=2 if replicas >= 3 else 1,
        )
        ours = [line for line in text.splitlines() if line.partition("=")[0] not in self._properties]
        theirs = [f"{name}={value.format(**ports)}" for name, value in self._properties.items()]
        path = data / "server.properties"
        path.touch(0o600)  # it may hold a password
        path.write_text("\n".join([*ours, *theirs, ""]), "utf-8")

    def _format(self, java: str, libs: Path, data: Path, cluster: str) -> None:
        """Gives a new data folder its cluster's id and its users."""
        command = [java, "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{libs}/*"]
        command += ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", "server.properties"]
        for name, password in self._users.items():
            command += ["--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]"]
        try:
            done = subprocess.run(command, cwd=data, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            raise UnreachableError("Kafka's storage is not formatted after 60 s", path=str(data)) from None
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise UnreachableError(f"Kafka's storage cannot be formatted: {said[-1] if said else 'no word why'}")

    def _launch(self, java: str, libs: Path, data: Path) -> None:
        command = [java, *self._class_sharing(java, libs), "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"]
        command += [f"-Xmx{self._heap}m", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
        command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        command += ["-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info"]
        command += ["-cp", f"{libs}/*", "kafka.Kafka", "server.properties"]
        with open(data / "kafka.log", "ab") as log:
            self._begun = log.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CHILD, str(os.getpid()), *command],
                cwd=data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(self._lock,),
                start_new_session=True,  # Ctrl-C is for us: we end Kafka, and in our order
            )

    def _class_sharing(self, java: str, libs: Path) -> list[str]:
        """Options of Java that use the archive of Kafka's classes, or write one when Kafka ends in order.

        Each Java has its own: another file, or a newer one at its place, refuses it.
        """
        program = Path(java).resolve()
        name = hashlib.sha256(f"{program} {program.stat().st_mtime_ns}".encode()).hexdigest()[:16]
        archive = libs.parent / f"classes-{name}.jsa"
        if archive.exists():
            return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
        self._recorded = archive.with_suffix(f".{os.getpid()}.{id(self)}"), archive
        return [f"-XX:ArchiveClassesAtExit={self._recorded[0]}"]

    def _end(self, first: signal.Signals) -> None:
        process, self._process = self._process, None
        recorded, self._recorded = self._recorded, None
        if process is None:
            return
        process.send_signal(first)
        try:
            process.wait(STOP_SECONDS if recorded is None else RECORD_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if recorded is not None:
            with contextlib.suppress(OSError):  # Kafka was killed, or the folder cannot be written
                os.replace(*recorded)


def free_ports(count: int, wanted: int | None = None) -> list[int]:
    """Returns so many free ports of 127.0.0.1; the first one is the wanted one, where there is one.

    Raises:
        UnreachableError: the wanted one is taken, or there are not enough.
    """
    if wanted is not None and not _is_free(wanted):
        raise UnreachableError(f"port {wanted} is taken", hint="name another, or none for a free one")
    ports = [] if wanted is None else [wanted]
    for port in random.SystemRandom().sample(_PORTS, 200):
        if len(ports) == count:
            return ports
        if port not in ports and _is_free(port):
            ports.append(port)
    raise UnreachableError(f"no free port from {_PORTS.start} to {_PORTS.stop} on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Kafka does: old connections do not hold it
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class RealCluster(_Running):
    """A cluster of Kafkas, as a context manager.

    Ports and data of a node stay the same over its `kill` and `restart`, until `stop`. The children are told to end
    when the thread that started them ends.

    Args:
        data, port, heap, tell: as for `RealBroker`; the port is the first node's.
        count: how many nodes; the quorum needs more than half of them.

    Attributes:
        nodes: the node of each id, from 1.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        port: int | None = None,
        *,
        count: int = 3,
        heap: int = NODE_HEAP,
        tell: Callable[[str], None] = tell_stderr,
    ) -> None:
        self._kept, self._port, self._count, self._heap, self._tell = data, port, count, heap, tell
        self._data: Path | None = None
        self.nodes: dict[int, RealBroker] = {}

    @property
    def address(self) -> str:
        """`kafka://127.0.0.1:port,127.0.0.1:port,...` of all nodes; an empty text where it was not started."""
        there = [node.address.removeprefix("kafka://") for node in self.nodes.values() if node.address]
        return "kafka://" + ",".join(there) if there else ""

    @property
    def running(self) -> list[int]:
        """The ids of the nodes that run."""
        return [number for number, node in self.nodes.items() if node.pid is not None]

    @property
    def has_quorum(self) -> bool:
        """Whether more than half of the nodes run: without them nothing is written."""
        return 2 * len(self.running) > self._count

    def start(self) -> str:
        """As `RealBroker.start`, of all nodes.

        Raises:
            UnreachableError, UsageError: as there, for any node.
        """
        try:
            if not self.nodes:
                self._make_nodes()
            fallen = [node for node in self.nodes.values() if node.pid is None]
            for node in fallen:
                node.launch()
            for node in fallen:  # one alone is never ready: it waits for a quorum
                node.await_ready()
        except BaseException:
            self.stop()
            raise
        return self.address

    def stop(self) -> None:
        """Ends all nodes and removes temporary data; without effect where none runs."""
        for node in self.nodes.values():
            with contextlib.suppress(OSError):
                node.stop()
        self.nodes = {}
        if self._kept is None and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
        self._data = None

    def kill(self, number: int) -> None:
        """Ends a node as a crash would (SIGKILL); its data and ports stay for `restart`."""
        self.nodes[number].kill()

    def restart(self, number: int) -> None:
        """Starts a node again on its data and ports, gently ended first where it runs. The others must be a quorum."""
        self.nodes[number].restart()

    def _make_nodes(self) -> None:
        numbers = range(1, self._count + 1)
        if self._kept is None:
            self._data = Path(tempfile.mkdtemp(prefix="sluice-kafka-"))
        else:
            known = {str(number) for number in numbers}
            what = f"the data of {self._count} nodes"
            self._data = _data_folder(Path(self._kept).absolute(), lambda names: bool(names - known), what)
        ports, cluster = free_ports(2 * self._count, self._port), _new_cluster_id()
        controllers = dict(zip(numbers, ports[self._count :], strict=True))
        for number, port in zip(numbers, ports, strict=False):
            self.nodes[number] = self._node(self._data / str(number), port, Node(number, controllers, cluster))

    def _node(self, data: Path, port: int, node: Node) -> RealBroker:
        """One node; tests have nodes of their own."""
        return RealBroker(data, port, heap=self._heap, tell=self._tell, node=node)


class EmbeddedBroker(_Running):
    """A mock cluster of one broker, as a context manager. Its records are gone when it stops.

    It has no admin API (topics appear, with `PARTITIONS` partitions, when metadata first names them), ignores settings
    of topics, does not answer look-ups by time, and its transactions neither commit offsets nor hide aborted records:
    lanes run at-least-once here. It writes offsets into a batch and leaves its checksum as it was, so aiokafka's
    consumers need `check_crcs=False`.
    """

    def __init__(self) -> None:
        self._owner: Any = None
        self.address = ""

    def start(self) -> str:
        """Starts the cluster and returns its address, `kafka://127.0.0.1:port`; a second call changes nothing.

        Raises:
            UnreachableError: the cluster does not come up.
        """
        if self._owner is not None:
            return self.address
        # Imported here: loading librdkafka costs 30 ms that no other command should pay.
        from confluent_kafka import KafkaException, Producer

        owner = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        try:
            brokers = owner.list_topics(timeout=5).brokers.values()
        except KafkaException as error:
            raise UnreachableError(f"the embedded broker does not start: {error}") from None
        self._owner = owner  # the cluster lives as long as this client
        self.address = "kafka://" + ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        return self.address

    def stop(self) -> None:
        """Ends the cluster; without effect on one that is not running."""
        self._owner = None
