"""Several Kafkas (KRaft) that are one cluster, each a child process: for what one broker cannot show, fail-over.

Each node is broker and controller. With three, every topic has three replicas of which two must have a record before
it counts, so that any one node may go and come back. All of them listen on 127.0.0.1 and keep their data in one
folder, which has a folder for each node.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType

from ...codecs.errors import UsageError
from .folder import Node, new_cluster_id
from .jars import tell_stderr
from .real import RealBroker, free_ports

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
