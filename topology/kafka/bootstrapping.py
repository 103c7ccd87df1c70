"""Finding the cluster: all given addresses are asked at once, and each that fails keeps its cause.

aiokafka asks one address after the other, waits the full time for each that is silent, and raises one error without a
cause. Here the first answer wins, and where there is none the error names the last cause of each address.
"""

from __future__ import annotations

import socket
import ssl
from asyncio import FIRST_COMPLETED, IncompleteReadError, Task, create_task, gather, wait
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from .aiokafka_inside import connect_to, keep_bootstrapped, metadata_by

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
