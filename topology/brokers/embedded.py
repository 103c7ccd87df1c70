"""The broker of the demo: librdkafka's mock cluster, in this process, with nothing to install.

It speaks the real wire protocol, but it is no Kafka: it has no admin API (topics appear, with four partitions, when
metadata first names them; the number is fixed in librdkafka), keeps nothing on disk, ignores settings of topics, does
not answer look-ups by time, and its transactions neither commit offsets nor hide aborted records. So lanes run
at-least-once here. It leaves the checksum of a batch as the producer wrote it when it writes offsets into it, so
aiokafka's consumers need `check_crcs=False`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ...codecs.errors import UnreachableError

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
