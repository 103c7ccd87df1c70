"""How a Kafka client reaches a broker: at its start, and again after the broker went away.

At the start all given addresses are asked at once, and each that fails keeps its cause. Later attempts become ever
rarer, down to one a second. aiokafka asks one address after the other, pauses 100 ms in most of its loops
(`retry_backoff_ms`), and not at all in two.
"""

from __future__ import annotations

import socket
import ssl
from asyncio import FIRST_COMPLETED, IncompleteReadError, Lock, Task, create_task, gather, sleep, timeout, wait
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakMethod, proxy

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from .aiokafka_inside import (
    ConnectionGroup,
    connect_to,
    connection_methods,
    is_connected,
    keep_bootstrapped,
    metadata_by,
    real_client_of,
    replace_bootstrap,
    replace_connection_methods,
)

START: Final = "check --broker; `sluice broker run` starts a broker"
TLS_CA: Final = "check broker_ca: the file with the authority that signed the broker's certificate"
_MAX_SAID: Final = 200


class Cause(NamedTuple):
    """Why an address gave no answer, in words, and what to do about it."""

    words: str
    hint: str


class NoBrokerAnswersError(KafkaConnectionError):  # type: ignore[misc]
    """None of the given addresses answered."""


async def bootstrap(client: Any, causes: dict[str, Cause]) -> None:
    """Asks all addresses of a client for the cluster's metadata at once and keeps the first answer.

    Args:
        client: an `AIOKafkaClient`.
        causes: filled with the last cause of each address (`host:port`) that failed; an address that is still silent
            when the caller gives up has an entry too.

    Raises:
        NoBrokerAnswersError: all addresses failed.
    """
    names = {f"{host}:{port}": (host, port) for host, port, _ in client.hosts}
    causes.clear()
    causes.update(dict.fromkeys(names, SILENT))
    tasks = {create_task(_asked(client, *address)): name for name, address in names.items()}
    pending: set[Task[tuple[Any, Any]]] = set(tasks)
    try:
        while pending:
            done, pending = await wait(pending, return_when=FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None:
                    causes.clear()
                    keep_bootstrapped(client, *task.result())
                    return
                if not isinstance(error, (OSError, KafkaError, EOFError)):
                    raise error
                causes[tasks[task]] = cause_of(error)
    finally:
        for task in pending:
            task.cancel()
        await gather(*pending, return_exceptions=True)
    raise NoBrokerAnswersError(sentence_of(causes).words)


async def _asked(client: Any, host: str, port: int) -> tuple[Any, Any]:
    """A connection and the metadata that it gave."""
    connection = await connect_to(client, host, port)
    try:
        return connection, await metadata_by(connection)
    except BaseException:
        connection.close()
        raise


SILENT: Final = Cause("does not answer", START)


def sentence_of(causes: Mapping[str, Cause]) -> Cause:
    """The causes of all addresses as one, with the hint of the first that got furthest."""
    told = ", ".join(f"{name} {cause.words}" for name, cause in causes.items())
    hints = [cause.hint for cause in causes.values()]
    return Cause(told, next((hint for hint in hints if hint != START), START))


def cause_of(error: BaseException) -> Cause:
    """Why a connection failed, in words."""
    match error:
        case ssl.SSLCertVerificationError():
            words = error.verify_message.rstrip(".")
            if "expired" in words:
                return Cause("has a certificate that has expired", "renew the broker's certificate")
            return Cause(f"has a certificate that is not accepted: {words[:_MAX_SAID]}", TLS_CA)
        case ssl.SSLError():
            hint = "leave broker_ca out if this listener has no TLS"
            if "REQUIRED" in (error.reason or "") or "ALERT" in (error.reason or ""):
                return Cause("refuses our certificate", "check broker_cert and broker_key")
            return Cause("does not speak TLS", hint)
        case TimeoutError():
            return SILENT
        case socket.gaierror():
            return Cause("is a name that cannot be resolved", START)
        case ConnectionRefusedError():
            return Cause("refuses connections", START)
        case UnsupportedSaslMechanismError():
            return Cause("does not offer this SASL mechanism", "check broker_mechanism")
        case SaslAuthenticationFailed():
            return Cause("refuses the user or the password", "check broker_user and broker_password_file")
        case IllegalSaslStateError():
            return Cause("expects a user and a password", "set broker_user and broker_password_file")
        case KafkaConnectionError() | ConnectionError() | EOFError() | IncompleteReadError():
            return Cause(
                "closed the connection without an answer",
                "set broker_ca if this listener expects TLS, and broker_user if it expects a password",
            )
        case OSError() if error.strerror:
            return Cause(f"cannot be reached: {error.strerror}", START)
        case _:
            return Cause(f"refuses: {str(error).strip()[:_MAX_SAID] or type(error).__name__}", START)


FIRST_SECONDS: Final = 0.1
LONGEST_SECONDS: Final = 1.0
"""A broker that is back is found so late at the most."""
FIND_SECONDS: Final = 5.0
"""The given addresses are asked for so long: one of them may be of a broker that takes connections and says nothing."""

C = TypeVar("C", AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient)


def paced(client: C) -> C:
    """A client that was not started yet, with its attempts paced; the same one, so that it can stand where it is made.

    Every client of ours goes through here: `connect.py`'s, the lanes' producers, the worker's consumer.
    """
    kafka = real_client_of(client)
    if kafka is not None:  # not a test's stand-in, which connects to nobody
        pace = _Pace(kafka)
        replace_connection_methods(kafka, pace.connection, pace.metadata)
        replace_bootstrap(kafka, pace.bootstrap)
        _PACES[kafka] = pace
    return client


def causes_of(client: object) -> Mapping[str, Cause]:
    """Why the addresses of a paced client gave no answer; empty once one did, and for a test's stand-in."""
    kafka = real_client_of(client)
    pace = None if kafka is None else _PACES.get(kafka)
    return {} if pace is None else pace.causes


_PACES: Final[WeakKeyDictionary[Any, _Pace]] = WeakKeyDictionary()


class _Node:
    """A broker that could not be reached: since how many attempts, and when the next one may be."""

    def __init__(self) -> None:
        self.turn = Lock()
        self.failures = 0
        self.next_at = 0.0

    def failed(self) -> None:
        self.next_at = monotonic() + min(FIRST_SECONDS * 2 ** min(self.failures, 10), LONGEST_SECONDS)
        self.failures += 1


class _Pace:
    """Stands before two methods of one aiokafka client.

    Invariant: beyond the first failure, no two attempts to connect to one node are nearer than its pause.
    """

    def __init__(self, kafka: Any) -> None:
        # Weakly: a client that is let go of must go at once, since a worker's collector never looks at old objects.
        self._kafka = proxy(kafka)
        self._connect_of, self._update_of = connection_methods(kafka)
        self._away: dict[Any, _Node] = {}
        self._leaderless_until = self._find_at = 0.0
        self.causes: dict[str, Cause] = {}

    async def bootstrap(self) -> None:
        """Finds the cluster by the given addresses."""
        await bootstrap(self._kafka, self.causes)

    async def connection(
        self, node_id: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT, no_hint: bool = False
    ) -> Any:
        """A connection to a node, or None where there is none to be had; waits for the node's turn."""
        node = self._away.get(node_id)
        if node is None or is_connected(self._kafka, node_id, group):
            found = await self._method(self._connect_of)(node_id, group=group)
            if found is None and node_id not in self._away:  # those that fail together are one
                self._away[node_id] = _Node()
                self._away[node_id].failed()
            return found
        if monotonic() < node.next_at and self._another_may_answer(node_id):
            return None  # metadata come from any of them: a dead one must not hold that up
        failures = node.failures
        async with node.turn:
            if node.failures != failures:
                return None  # it was tried while this one waited for its turn
            if (left := node.next_at - monotonic()) > 0:
                await sleep(left)
            found = await self._method(self._connect_of)(node_id, group=group)
            if found is None:
                node.failed()
            else:
                self._away.pop(node_id, None)
            return found

    async def metadata(self, cluster: Any, topics: Any) -> bool:
        """Asks for metadata; not at once again where the last answer had partitions without a leader."""
        if (left := self._leaderless_until - monotonic()) > 0:
            await sleep(left)
        updated: bool = await self._method(self._update_of)(cluster, topics)
        if not updated and await self._found_again():
            updated = await self._method(self._update_of)(cluster, topics)
        self._leaderless_until = monotonic() + FIRST_SECONDS if updated and _lacks_leaders(cluster) else 0.0
        return updated

    async def _found_again(self) -> bool:
        """Whether an address that the client was given, and that is no known broker's, has named brokers anew."""
        kafka = self._kafka
        known = {(one.host, one.port) for one in kafka.cluster.brokers()}
        if known.issuperset((host, port) for host, port, _ in kafka.hosts) or monotonic() < self._find_at:
            return False
        try:
            async with timeout(FIND_SECONDS):
                await kafka.bootstrap()
        except (KafkaError, OSError):  # a TimeoutError is an OSError
            return False
        finally:
            self._find_at = monotonic() + LONGEST_SECONDS
        return True

    @staticmethod
    def _method(weak: WeakMethod[Any]) -> Any:
        found = weak()
        assert found is not None, "whoever calls has the client"
        return found

    def _another_may_answer(self, node_id: Any) -> bool:
        return any(one.nodeId != node_id and one.nodeId not in self._away for one in self._kafka.cluster.brokers())


def _lacks_leaders(cluster: Any) -> bool:
    return any(
        (cluster.partitions_for_topic(topic) or set()) != (cluster.available_partitions_for_topic(topic) or set())
        for topic in cluster.topics()
    )
