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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from ...codecs.errors import SluiceError, UnreachableError, UsageError

CLASSES_LOCK = ".classes.lock"


def class_archive(java: str, libs: Path) -> Path:
    """Where the archive for this Java is: another file, or a newer one at its place, has another name."""
    program = Path(java).resolve()
    name = f"{program} {program.stat().st_mtime_ns}"
    return libs.parent / f"classes-{hashlib.sha256(name.encode()).hexdigest()[:16]}.jsa"


def share_classes(archive: Path, record: Callable[[Path], None], tell: Callable[[str], None]) -> list[str]:
    """Options of Java that use the archive, which is made first where it is not there.

    Without it Kafka runs as well, so no failure is an error. One that cannot be made is not tried again: an empty file
    says so. While another process makes it, this one goes without.

    Args:
        archive: where it is, or is to be.
        record: starts Kafka with `recording_options` of the file that it is given, and ends it in order.
        tell: what is done with a line of progress.
    """
    if not archive.exists():
        _make(archive, record, tell)
    return _options(archive)


def recording_options(archive: Path) -> list[str]:
    """Options of a Java that writes an archive of what it has loaded when it ends in order."""
    return [f"-XX:ArchiveClassesAtExit={archive}"]


def _options(archive: Path) -> list[str]:
    try:
        made = archive.stat().st_size > 0
    except OSError:
        made = False
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if made else []


def _make(archive: Path, record: Callable[[Path], None], tell: Callable[[str], None]) -> None:
    try:
        lock = os.open(archive.parent / CLASSES_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # a folder that cannot be written holds the jars alone
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if archive.exists():
            return
        tell("keeping Apache Kafka's classes for quicker starts, once")
        _record(archive, record)
    except OSError:
        return  # another process makes it, or the disk is full
    finally:
        os.close(lock)


def _record(archive: Path, record: Callable[[Path], None]) -> None:
    made = archive.with_suffix(f".{os.getpid()}")
    try:
        record(made)
    except SluiceError:
        made.unlink(missing_ok=True)
    if not made.exists():
        made.touch()
    os.replace(made, archive)


KAFKA_VERSION = "4.3.0"
SCALA_VERSION = "2.13"
JAVA_NEEDED = 17
HINT = (
    f"install OpenJDK {JAVA_NEEDED} or later and Maven 3.8 or later (Debian: apt install openjdk-17-jre-headless maven)"
)

_POM = f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluice</groupId>
  <artifactId>kafka-for-development</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_{SCALA_VERSION}</artifactId>
      <version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <!-- The line of the slf4j API that Kafka brings: a backend of 2.x is not found by it. -->
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
  <build>
    <pluginManagement>
      <plugins>
        <plugin>
          <groupId>org.apache.maven.plugins</groupId>
          <artifactId>maven-dependency-plugin</artifactId>
          <version>3.8.1</version>
        </plugin>
      </plugins>
    </pluginManagement>
  </build>
</project>
"""

DOWNLOAD_SECONDS = 900
"""Longest wait for Maven: 45 MB over a slow line, not for ever over a dead one."""


def find_java() -> str:
    """The `java` to run Kafka with: `JAVA_HOME`'s, else the first on the path.

    Raises:
        UnreachableError: there is none, or it is older than Kafka needs.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else None
    java = java or shutil.which("java")
    if java is None:
        raise UnreachableError(f"Apache Kafka needs Java {JAVA_NEEDED} or later, and there is no `java`", hint=HINT)
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"`{java} -version` does not answer: {error}", hint=HINT) from None
    version = java_version(output)
    if version is None or version < JAVA_NEEDED:
        raise UnreachableError(
            f"Apache Kafka {KAFKA_VERSION} does not run on this Java",
            path=java,
            expected=f"Java {JAVA_NEEDED} or later",
            got=str(version) if version else "an unknown version",
            hint=HINT,
        )
    return java


def java_version(output: str) -> int | None:
    """The major version in what `java -version` tells, or None: `1.8.0_402` is 8, `17.0.15` is 17, `21-ea` is 21."""
    matched = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(matched[1]) if matched else None


def cache_folder() -> Path:
    """Where fetched software is kept: `$XDG_CACHE_HOME/sluice`, by default `~/.cache/sluice`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice"


def tell_stderr(message: str) -> None:
    """One line of progress on standard error."""
    print(f"sluice: {message}", file=sys.stderr, flush=True)


def fetch_kafka(tell: Callable[[str], None] = tell_stderr) -> Path:
    """The folder with Kafka's jars, fetched first where it is not there.

    A download becomes visible by one rename at its end, so a broken one is never taken for whole; of two at once,
    the first to end stays.

    Raises:
        UnreachableError: Maven is missing, or cannot fetch the jars.
    """
    libs = _libs()
    if libs.is_dir():
        return libs
    maven = shutil.which("mvn")
    if maven is None:
        raise _no_maven()
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f"kafka-{KAFKA_VERSION}.", dir=cache_folder()))
    except OSError as error:
        raise UnreachableError(
            f"cannot write there: {error.strerror}", path=str(cache_folder()), hint="set XDG_CACHE_HOME"
        ) from None
    try:
        tell(f"fetching Apache Kafka {KAFKA_VERSION} with Maven, once, about 45 MB")
        _copy_dependencies(maven, workplace)
        _publish(workplace, libs.parent)
        tell(f"Apache Kafka {KAFKA_VERSION} is in {libs.parent}")
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return libs


def missing() -> str:
    """Why no Kafka can be started on this machine, in one sentence; empty where one can. Fetches nothing."""
    try:
        find_java()
    except UnreachableError as error:
        return str(error)
    return "" if _libs().is_dir() or shutil.which("mvn") else str(_no_maven())


def _libs() -> Path:
    return cache_folder() / f"kafka-{KAFKA_VERSION}" / "libs"


def _no_maven() -> UnreachableError:
    return UnreachableError("Maven fetches Apache Kafka's jars, and there is no `mvn`", hint=HINT)


def _copy_dependencies(maven: str, workplace: Path) -> None:
    (workplace / "pom.xml").write_text(_POM, "utf-8")
    command = [
        maven,
        "--quiet",
        "--batch-mode",
        "--strict-checksums",
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={workplace / 'libs'}",
    ]
    try:
        done = subprocess.run(
            command,
            cwd=workplace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"Maven does not fetch Apache Kafka's jars: {error}") from None
    if done.returncode != 0:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it says nothing")
        said = re.sub(r"\x1b\[[0-9;]*m", "", said).replace("[ERROR] ", "")
        raise UnreachableError(f"Maven cannot fetch Apache Kafka's jars: {said[:400]}", hint="is the network there?")


def _publish(workplace: Path, target: Path) -> None:
    try:
        os.rename(workplace, target)
    except OSError:
        if not (target / "libs").is_dir():  # otherwise somebody else was first, and theirs is as good
            raise
    else:
        target.chmod(0o755)


FORMAT_SECONDS = 60
FOLDER_LOCK = ".lock"
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
    if names - {FOLDER_LOCK} and "server.properties" not in names:
        raise UsageError(
            "the folder holds something else than a broker's data", path=str(data), hint="name an empty one"
        )


def lock_folder(data: Path) -> int:
    """The open file whose lock keeps a second broker away for as long as any process has it open.

    Raises:
        UsageError: another broker has it, or it cannot be made.
    """
    try:
        lock = os.open(data / FOLDER_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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


START_SECONDS = 60
"""It is up in 2 to 3 s; a machine under load may take ten times as long, a broken one for ever."""
STOP_SECONDS = 10
RECORD_SECONDS = 60
"""A Kafka that ends writes what it has loaded in 3 s (class_archive.py)."""
READY = b"Kafka Server started"
"""What Kafka logs once its listener is open and the controller has let the broker in: earlier, requests still fail."""

# Ports below the range from which the system takes those of outgoing connections (32768 up): while a killed broker is
# away, a client that tries again and again to reach its port can be given that very port for its own end, connect to
# itself, and so keep the broker from coming back.
_PORTS = range(20_000, 32_000)

# Java, asked to end when we end. PR_SET_PDEATHSIG (1) outlives execv; a parent gone before it was set shows in getppid.
_CHILD = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


class RealBroker:
    """One Kafka on one data folder, as a context manager.

    Ports and data stay the same from `start` over `kill` and `restart` until `stop`. The child is told to end when
    the *thread* that started it ends: start it from one that lives as long as the broker shall.

    Args:
        data: folder to keep the data in, made where it is not there; None is a temporary one, removed by `stop`.
        port: of the listener; None picks a free one.
        heap: of the Java machine, in MB.
        tell: what is done with a line of progress; by default standard error.
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
        self._sharing: list[str] | None = None  # options of Java; None until the first start asks for them
        self._recording: list[str] = []
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
        if self.pid is not None:
            return self.address
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
        if self._sharing is None:
            self._sharing = share_classes(class_archive(java, libs), _record_classes, self._tell)
        atexit.register(self.stop)
        data = self._take_data()
        self._ports = self._ports or self._find_ports()
        node = self._node or Node(1, {1: self._ports[1]}, new_cluster_id())
        write_properties(data, self._ports, node, self._properties)
        format_folder([java, *self._sharing], libs, data, self._users, node.cluster)
        self._launch(java, libs, data)

    def _find_ports(self) -> tuple[int, int]:
        if self._node is None:
            listener, controller = free_ports(2, self._port_wanted)
        else:
            (listener,), controller = free_ports(1, self._port_wanted), self._node.controllers[self._node.id]
        return listener, controller

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
        if self._process is None:
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def complaint(self) -> str:
        """The last line of Kafka's log that tells of an error, for a sentence to a person."""
        return _complaint(self._data / "kafka.log") if self._data is not None else ""

    def __enter__(self) -> RealBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _take_data(self) -> Path:
        """The data folder, locked for us. The lock is inherited by Kafka, so it holds until both have ended."""
        if self._data is not None:
            return self._data
        if self._kept is None:
            data = Path(tempfile.mkdtemp(prefix="sluice-kafka-"))
        else:
            data = Path(self._kept).absolute()
            check_folder(data)
        self._lock = lock_folder(data)
        self._data = data
        return data

    def _launch(self, java: str, libs: Path, data: Path) -> None:
        command = [
            java,
            *(self._sharing or []),
            *self._recording,
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            f"-Xmx{self._heap}m",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
            "-cp",
            f"{libs}/*",
            "kafka.Kafka",
            "server.properties",
        ]
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

    def await_ready(self) -> None:
        """The second half of `start`.

        Raises:
            UnreachableError: Kafka does not come up.
        """
        assert self._data is not None, "launch comes first"
        log, begun = self._data / "kafka.log", self._begun
        end = time.monotonic() + START_SECONDS
        while True:
            with open(log, "rb") as lines:
                lines.seek(begun)
                if READY in lines.read():
                    return
            if self.wait(0.05):
                raise UnreachableError(f"Apache Kafka {KAFKA_VERSION} ended at its start: {_complaint(log, begun)}")
            if time.monotonic() > end:
                raise UnreachableError(f"Apache Kafka is not up after {START_SECONDS} s: {_complaint(log, begun)}")

    def record_classes(self, archive: Path) -> None:
        """Starts a Kafka that writes the archive of its classes when it ends, and ends it.

        Raises:
            UnreachableError: it does not come up.
        """
        self._sharing, self._recording = [], recording_options(archive)
        self.start()
        self._end(signal.SIGTERM, RECORD_SECONDS)
        self.stop()

    def _end(self, first: signal.Signals, seconds: float = STOP_SECONDS) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(first)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _record_classes(archive: Path) -> None:
    RealBroker(tell=lambda line: None).record_classes(archive)


def free_ports(count: int, wanted: int | None = None) -> list[int]:
    """So many ports of 127.0.0.1 that nobody listens on; the first one is the wanted one, where there is one.

    Raises:
        UnreachableError: the wanted one is taken, or there are not enough.
    """
    if wanted is not None and not _is_free(wanted):
        raise UnreachableError(f"port {wanted} is taken", hint="name another, or none for a free one")
    found = [] if wanted is None else [wanted]
    for port in random.SystemRandom().sample(_PORTS, 200):
        if len(found) == count:
            return found
        if port not in found and _is_free(port):
            found.append(port)
    raise UnreachableError(f"no free port from {_PORTS.start} to {_PORTS.stop} on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Kafka does: old connections do not hold it
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _complaint(log: Path, begun: int = 0) -> str:
    with open(log, "rb") as lines:
        lines.seek(begun)
        said = lines.read().decode("utf-8", "replace").splitlines()
    errors = [line for line in said if " ERROR " in line or "Exception" in line or "Error" in line]
    return (errors or said or ["it says nothing"])[-1].strip()[:400]


NODE_HEAP = 320
"""MB of heap of each node: three of them fit where one of 1 GB does."""


class RealCluster:
    """A cluster of Kafkas, as a context manager.

    Ports and data of a node stay the same over its `kill` and `restart`, until `stop`. The children are told to end
    when the thread that started them ends.

    Args:
        data: folder to keep the data in, made where it is not there; None is a temporary one, removed by `stop`.
        port: of the first node's listener; None picks a free one, as the other nodes do.
        count: how many nodes; the quorum needs more than half of them.
        heap: of each node's Java machine, in MB.
        tell: what is done with a line of progress.
        properties: further settings of each server, or others than ours; `{port}`, `{controller}` stand for ports.

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
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._kept, self._port, self._count, self._heap, self._tell = data, port, count, heap, tell
        self._properties = properties
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
        """Starts all nodes, waits until each is ready, and returns their address; without effect on ones that run.

        Raises:
            UnreachableError: Java or Maven is missing, a port is taken, or a node does not come up.
            UsageError: the data folder is another broker's at the moment, or holds something else.
        """
        try:
            if not self.nodes:
                self.nodes = dict(self._made(self._take_data()))
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

    def __enter__(self) -> RealCluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _take_data(self) -> Path:
        if self._kept is None:
            self._data = Path(tempfile.mkdtemp(prefix="sluice-kafka-"))
        else:
            self._data = Path(self._kept).absolute()
            _check_folder(self._data, {str(number) for number in self._numbers})
        return self._data

    @property
    def _numbers(self) -> range:
        return range(1, self._count + 1)

    def _made(self, data: Path) -> Iterator[tuple[int, RealBroker]]:
        listeners = free_ports(self._count, self._port)
        taken = set(listeners)
        others = [port for port in free_ports(2 * self._count) if port not in taken]
        controllers = dict(zip(self._numbers, others, strict=False))
        cluster = new_cluster_id()
        for number, port in zip(self._numbers, listeners, strict=True):
            yield number, self._node(data / str(number), port, Node(number, controllers, cluster))

    def _node(self, data: Path, port: int, node: Node) -> RealBroker:
        """One node; tests have nodes of their own."""
        return RealBroker(data, port, heap=self._heap, tell=self._tell, properties=self._properties, node=node)


def _check_folder(data: Path, nodes: set[str]) -> None:
    """Makes the folder of the nodes' folders, or sees that it holds nothing else.

    Raises:
        UsageError: it cannot be made or read, or holds something else, such as the data of one broker alone.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in data.iterdir()}
    except OSError as error:
        raise UsageError(f"cannot be a data folder: {error.strerror}", path=str(data), hint="name another") from None
    if names - nodes:
        raise UsageError(
            f"the folder holds something else than the data of {len(nodes)} nodes",
            path=str(data),
            hint="name an empty one",
        )


PARTITIONS = 4
"""What the mock cluster gives every topic; librdkafka has no option for it."""


class EmbeddedBroker:
    """A mock cluster of one broker, as a context manager. Its records are gone when it stops."""

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

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
