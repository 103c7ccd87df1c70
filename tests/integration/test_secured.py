"""A real Kafka with TLS, SASL/SCRAM and ACLs: who may do what, and that everything of ours works there."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import TopicAuthorizationFailedError
from commands import SLUICE
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from lanes_on_kafka import Workers, records
from msgspec.structs import replace

from sluice.codecs.errors import UnreachableError
from sluice.topology.kafka.connect import open_consumer, open_producer
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import check_topics, create_topics, topic_name
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.long

PASSWORDS = {name: f"password-of-{name}" for name in ("admin", "worker", "producer", "observer")}
NOW = datetime.now(UTC)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def certificates(folder: Path) -> None:
    """`ca.pem`, and `broker.pem` with key and certificate for 127.0.0.1, signed by it."""
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())

    def builder(name: str, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named("authority"))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - timedelta(hours=1))
            .not_valid_after(NOW + timedelta(hours=12))
        )

    root = (
        builder("authority", authority.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority, hashes.SHA256())
    )
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    leaf = builder("broker", key.public_key()).add_extension(address, critical=False).sign(authority, hashes.SHA256())
    encoding = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(root.public_bytes(encoding))
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "broker.pem").write_bytes(private + leaf.public_bytes(encoding))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealBroker, Path]]:
    """A broker that speaks TLS only, knows four users, and lets nobody do anything unless told."""
    folder = tmp_path_factory.mktemp("secured")
    certificates(folder)
    jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    properties = {
        "listeners": "SASL_SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": "SASL_SSL://127.0.0.1:{port}",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": (
            f'{jaas} username="admin" password="{PASSWORDS["admin"]}";'
        ),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:ANONYMOUS",  # the controller's own listener, on this machine only
    }
    with RealBroker(folder / "data", properties=properties, users=PASSWORDS) as broker:
        yield broker, folder


def as_user(broker: RealBroker, folder: Path, name: str, prefix: str) -> Settings:
    """The settings of one of them; the password stands in a file."""
    password = folder / f"{name}.password"
    password.write_text(PASSWORDS[name] + "\n")
    return Settings(
        broker=broker.address,
        topic_prefix=prefix,
        app_id=prefix.rstrip("."),
        partitions=2,
        broker_ca=str(folder / "ca.pem"),
        broker_user=name,
        broker_password_file=str(password),
    )


def allow(broker: RealBroker, folder: Path, user: str, *rules: tuple[str, str, str]) -> None:
    """Adds access rules: (operation, kind of resource, name), for every name that begins so."""
    admin = AdminClient(
        {
            "bootstrap.servers": broker.address.removeprefix("kafka://"),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(folder / "ca.pem"),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "admin",
            "sasl.password": PASSWORDS["admin"],
        }
    )
    bindings = [
        AclBinding(
            ResourceType[kind],
            name,
            ResourcePatternType.PREFIXED,
            f"User:{user}",
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )
        for operation, kind, name in rules
    ]
    for future in admin.create_acls(bindings).values():
        future.result(30)


async def test_a_worker_runs_with_the_rights_that_it_needs_and_no_more(
    secured: tuple[RealBroker, Path], prefix: str, tmp_path: Path
):
    """TLS, SCRAM and ACLs: everything is admitted as on an open broker; only observers may write observations."""
    broker, folder = secured
    admin = as_user(broker, folder, "admin", prefix)
    await create_topics(admin)
    assert await check_topics(admin) == []
    for_worker = [(operation, "TOPIC", prefix) for operation in ("READ", "WRITE", "DESCRIBE", "DESCRIBE_CONFIGS")]
    for_worker += [("READ", "GROUP", group) for group in (f"sluice-{prefix}-", f"{admin.app_id}-frame")]
    for_worker += [("ALL", "TRANSACTIONAL_ID", "sluice-")]
    await asyncio.to_thread(allow, broker, folder, "worker", *for_worker)
    for user, topic in (("producer", "emissions"), ("observer", "observations")):
        rules = [(operation, "TOPIC", prefix + topic) for operation in ("WRITE", "DESCRIBE")]
        await asyncio.to_thread(allow, broker, folder, user, *rules)
    settings = as_user(broker, folder, "worker", prefix)
    variables = {
        "SLUICE_BROKER_CA": settings.broker_ca or "",
        "SLUICE_BROKER_USER": "worker",
        "SLUICE_BROKER_PASSWORD_FILE": settings.broker_password_file or "",
    }
    with Workers(settings, tmp_path, **variables) as workers:
        worker = workers.start("--log-level", "debug")
        await workers.until_taken_over(worker)
        by_user = {"emissions": "producer", "observations": "observer"}
        for topic, key, value in records(1):
            async with open_producer(as_user(broker, folder, by_user[topic], prefix)) as producer:
                await producer.send_and_wait(prefix + topic, key=key, value=value)
        await until_admitted(settings)
        said = workers.said(worker)
    async with open_producer(as_user(broker, folder, "producer", prefix)) as producer:
        with pytest.raises(TopicAuthorizationFailedError):
            await producer.send_and_wait(topic_name(settings, "observations"), key=b"k", value=b"{}")
    assert not [name for name, password in PASSWORDS.items() if password in said]


async def until_admitted(settings: Settings) -> None:
    """Waits until something stands on `admitted`."""
    async with asyncio.timeout(150), open_consumer(settings) as consumer:
        topic = topic_name(settings, "admitted")
        consumer.assign([TopicPartition(topic, number) for number in range(settings.partitions)])
        await consumer.getone()


async def test_a_wrong_password_is_one_sentence(secured: tuple[RealBroker, Path], prefix: str, tmp_path: Path):
    """Exit status 3: it says that the broker refuses, and not what the password was."""
    broker, folder = secured
    right = as_user(broker, folder, "worker", prefix)
    wrong = tmp_path / "password"
    wrong.write_text("not-the-password")
    command = [*SLUICE, "topics", "check"]
    variables = {
        "SLUICE_BROKER": right.broker,
        "SLUICE_BROKER_CA": right.broker_ca or "",
        "SLUICE_BROKER_USER": "worker",
        "SLUICE_BROKER_PASSWORD_FILE": str(wrong),
    }
    done = await asyncio.to_thread(
        subprocess.run, command, env=variables, capture_output=True, text=True, timeout=150, check=False
    )

    assert done.returncode == 3, done.stderr
    assert "not-the-password" not in done.stderr
    assert "refuses the user or the password; check broker_user and broker_password_file" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


async def test_a_broker_that_another_authority_vouches_for_is_not_believed(
    secured: tuple[RealBroker, Path], prefix: str
):
    """The system's authorities have not signed this one."""
    broker, folder = secured
    settings = as_user(broker, folder, "worker", prefix)

    with pytest.raises(UnreachableError, match=r"has a certificate that is not accepted: .*; check broker_ca"):
        async with open_producer(replace(settings, broker_ca="system")):
            pass


async def test_a_client_that_asks_in_another_way_than_the_listener_is_told_so(
    secured: tuple[RealBroker, Path], prefix: str
):
    """Without TLS, and without a user."""
    broker, folder = secured
    settings = as_user(broker, folder, "worker", prefix)
    nobody = replace(settings, broker_user=None, broker_password_file=None)

    with pytest.raises(UnreachableError, match="closed the connection without an answer; set broker_ca"):
        async with open_producer(replace(nobody, broker_ca=None)):
            pass
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:.* (?:closed the connection|expects a user)"):
        async with open_producer(nobody):
            pass
