"""A port for a server that a test starts."""

from __future__ import annotations

from sluice.topology.kafka.local_broker import free_ports

_given: set[int] = set()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that this process was not given before.

    It lies below those that the system gives to clients. One of those (`bind` to port 0) may be a client's own end by
    the time the server is there.
    """
    (port,) = free_ports(1)
    while port in _given:
        (port,) = free_ports(1)
    _given.add(port)
    return port
