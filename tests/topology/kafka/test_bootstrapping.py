"""Finding the cluster: the last cause of each address, in words, and the first answer of several addresses."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiokafka.errors import IllegalSaslStateError, SaslAuthenticationFailed, UnsupportedSaslMechanismError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from ports import free_port

from sluice.codecs.errors import UnreachableError
from sluice.topology.kafka import connect
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.kafka.reconnect import Cause, cause_of, sentence_of
from sluice.topology.settings.settings import Settings

NOW = datetime.now(UTC)


def certificate(folder: Path, *, until: datetime) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, in PEM form."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=10))
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / f"{until:%Y%m%d}.pem"
    path.write_bytes(private + made.public_bytes(encoding))
    return path


@asynccontextmanager
async def listening(tls: Path | None, answer: Callable[[asyncio.StreamWriter], None]) -> AsyncIterator[str]:
    """A listener that answers each connection in one way; its address."""
    context = None
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
    server = await asyncio.start_server(lambda _, writer: answer(writer), "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()


def silent(writer: asyncio.StreamWriter) -> None:
    """Keeps the connection and says nothing."""


async def said_of(settings: Settings) -> str:
    with pytest.raises(UnreachableError) as raised:
        async with open_producer(settings):
            pass
    return str(raised.value)


@pytest.mark.parametrize(
    ("days", "is_known", "words"),
    [
        (10, False, "has a certificate that is not accepted: self-signed certificate"),
        (-1, True, "has a certificate that has expired; renew the broker's certificate"),
    ],
)
async def test_a_certificate_that_is_refused_says_why(tmp_path: Path, days: int, is_known: bool, words: str) -> None:
    path = certificate(tmp_path, until=NOW + timedelta(days=days))
    async with listening(path, closed) as address:
        said = await said_of(Settings(broker=f"kafka://{address}", broker_ca=str(path) if is_known else "system"))
    assert f"no Kafka broker answers: {address} {words}" in said


async def test_a_listener_without_tls_says_so(tmp_path: Path) -> None:
    def plain(writer: asyncio.StreamWriter) -> None:
        writer.write(b"\0\0\0\4\0\0\0\0" * 4)

    path = certificate(tmp_path, until=NOW + timedelta(days=1))
    async with listening(None, plain) as address:
        said = await said_of(Settings(broker=f"kafka://{address}", broker_ca=str(path)))
    assert f"{address} does not speak TLS; leave broker_ca out if this listener has no TLS" in said


async def test_a_listener_that_expects_tls_is_told_apart() -> None:
    async with listening(None, closed) as address:
        said = await said_of(Settings(broker=f"kafka://{address}"))
    assert f"{address} closed the connection without an answer; set broker_ca" in said


async def test_every_address_has_its_own_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the one that is still silent when the time is over."""
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 1.0)
    async with listening(None, silent) as address, listening(None, closed) as closing:
        said = await said_of(Settings(broker=f"kafka://{address},{closing},127.0.0.1:1,x.invalid:9"))
    assert f"{address} does not answer" in said
    assert f"{closing} closed the connection" in said
    assert "127.0.0.1:1 refuses connections" in said
    assert "x.invalid:9 is a name that cannot be resolved" in said


async def test_the_first_answer_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent address before the one that answers costs nothing: they are asked at once."""
    with EmbeddedBroker() as broker:
        async with listening(None, silent) as address:
            hosts = f"{address},127.0.0.1:{free_port()},{broker.address.removeprefix('kafka://')}"
            async with open_producer(Settings(broker=f"kafka://{hosts}", delivery="at-least-once")) as producer:
                assert connect.client_of(producer).cluster.brokers()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SaslAuthenticationFailed("no"), "refuses the user or the password"),
        (UnsupportedSaslMechanismError("no"), "does not offer this SASL mechanism"),
        (IllegalSaslStateError("no"), "expects a user and a password"),
        (OSError(113, "No route to host"), "cannot be reached: No route to host"),
    ],
)
def test_what_brokers_answer_has_words_and_a_hint(error: Exception, words: str) -> None:
    cause = cause_of(error)
    assert cause.words == words
    assert cause.hint


def test_the_hint_is_that_of_the_address_that_came_furthest() -> None:
    refused, password = cause_of(ConnectionRefusedError()), cause_of(SaslAuthenticationFailed("no"))
    assert sentence_of({"a:1": refused, "b:2": password}) == Cause(
        "a:1 refuses connections, b:2 refuses the user or the password", password.hint
    )
