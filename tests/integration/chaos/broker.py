"""A real Kafka with a second door: what comes through it is advertised a proxy's address, so that can be cut."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from pathlib import Path

from sluice.topology.brokers import RealBroker

_PORTS = range(20_000, 32_000)
"""Below the range of outgoing connections, as the broker's own ports: see topology/brokers/real.py."""

# The last one of equal keys holds: these follow what `RealBroker` has written.
_SECOND_DOOR = """
listeners=PLAINTEXT://{address},PROXIED://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{address},PROXIED://127.0.0.1:{proxy}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT
"""


class ProxiedBroker(RealBroker):
    """A `RealBroker` that also listens on `proxied_port`, where it says that it is to be found at `proxy`.

    Args:
        data: folder to keep the data in.
        proxy: the port of the proxy before `proxied_port`.
        tell: what is done with a line of progress.
    """

    def __init__(self, data: str | os.PathLike[str], proxy: int, *, tell: Callable[[str], None]) -> None:
        super().__init__(data, tell=tell)
        self._proxy = proxy
        self.proxied_port = free_port()

    def _launch(self, java: str, libs: Path, data: Path) -> None:
        assert self._ports is not None
        with open(data / "server.properties", "a", encoding="ascii") as properties:
            properties.write(
                _SECOND_DOOR.format(
                    address=self.address.removeprefix("kafka://"),
                    port=self.proxied_port,
                    controller=self._ports[1],
                    proxy=self._proxy,
                )
            )
        super()._launch(java, libs, data)


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on."""
    for port in random.SystemRandom().sample(_PORTS, 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")
