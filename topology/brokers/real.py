"""A real Apache Kafka (KRaft) as a child process, alone or as one node of several (cluster.py): for development, tests
and faults on purpose.

It listens on 127.0.0.1 only, keeps everything in one folder, and never outlives the process that started it. It is no
production Kafka: alone it has one replica of everything.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from ...codecs.errors import UnreachableError
from .class_archive import class_archive, recording_options, share_classes
from .folder import Node, check_folder, format_folder, lock_folder, new_cluster_id, write_properties
from .jars import KAFKA_VERSION, fetch_kafka, find_java, tell_stderr

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
