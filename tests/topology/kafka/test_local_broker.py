"""Brokers without a real Kafka: what is missing is said in one sentence, and the embedded one speaks the protocol."""

import asyncio
import os
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.kafka import local_broker
from sluice.topology.kafka.local_broker import EmbeddedBroker, RealBroker


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole path, besides the shell's own; a cache of its own, and no JAVA_HOME."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sh", "mkdir", "touch", "cat", "sleep"):
        (folder / name).symlink_to(Path("/bin", name))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return folder


def write_program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!{folder}/sh\n{script}\n")
    path.chmod(0o755)


def write_java(folder: Path, version: str = "17.0.15", otherwise: str = "exit 0") -> None:
    script = (
        f"""if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2025-04-15' >&2; exit 0; fi\n{otherwise}"""
    )
    write_program(folder, "java", script)


@pytest.mark.parametrize(
    ("version", "read"),
    [("1.8.0_402", "8"), ("11.0.2", "11"), ("9-ea", "9"), ("unheard", "an unknown version")],
)
def test_java_that_is_too_old_is_refused_with_its_version(programs: Path, version: str, read: str):
    """Kafka itself would end with a stack trace about class file versions."""
    write_java(programs, version)

    with pytest.raises(UnreachableError, match=rf"\(expected Java 17 or later, got {read}\)"):
        RealBroker().start()


def test_missing_java_is_one_sentence_that_says_what_to_install(programs: Path):
    """Not to be reached, exit status 3."""
    with pytest.raises(UnreachableError, match=r"needs Java 17 or later, and there is no `java`; install OpenJDK 17"):
        RealBroker().start()
    assert "there is no `java`" in local_broker.missing()


def test_java_home_goes_before_the_path(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As Java's own tools have it."""
    (tmp_path / "home" / "bin").mkdir(parents=True)
    write_java(programs, "11.0.2")
    write_java(tmp_path / "home" / "bin", "21.0.1")
    (tmp_path / "home" / "bin" / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))

    assert local_broker.find_java() == str(tmp_path / "home" / "bin" / "java")


def test_missing_maven_is_one_sentence_that_says_what_to_install(programs: Path):
    """It is needed as long as the jars are not there."""
    write_java(programs)

    with pytest.raises(UnreachableError, match=r"there is no `mvn`; install OpenJDK 17 or later and Maven"):
        RealBroker().start()
    assert "there is no `mvn`" in local_broker.missing()


def test_a_download_that_breaks_is_not_taken_for_whole(programs: Path):
    """What a failed Maven has fetched is gone, its complaint is told, and the next start fetches again."""
    write_program(programs, "mvn", "mkdir libs; touch libs/half.jar; echo '[ERROR] no route to host'; exit 1")

    with pytest.raises(UnreachableError, match="Maven cannot fetch Apache Kafka's jars: no route to host"):
        local_broker.fetch_kafka(lambda line: None)

    assert list(local_broker.cache_folder().iterdir()) == []


def test_jars_are_fetched_once(programs: Path):
    """A second start finds them, without Maven, and progress is told only while there is some."""
    write_program(programs, "mvn", "mkdir libs; touch libs/kafka.jar")
    output: list[str] = []

    libs = local_broker.fetch_kafka(output.append)
    (programs / "mvn").unlink()

    assert local_broker.fetch_kafka(output.append) == libs
    assert [path.name for path in libs.iterdir()] == ["kafka.jar"]
    assert [path.name for path in local_broker.cache_folder().iterdir()] == [f"kafka-{local_broker.KAFKA_VERSION}"]
    assert len(output) == 2
    write_java(programs)
    assert local_broker.missing() == ""


def test_a_cache_that_cannot_be_written_is_reported(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The sentence names the folder and the variable that moves it."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write_program(programs, "mvn", "exit 0")

    with pytest.raises(UnreachableError, match=r"file/sluice: cannot write there: .*; set XDG_CACHE_HOME"):
        local_broker.fetch_kafka(lambda line: None)


@pytest.fixture
def fake_kafka(programs: Path) -> Path:
    """Jars that are there, so that only `java` decides what happens."""
    (local_broker.cache_folder() / f"kafka-{local_broker.KAFKA_VERSION}" / "libs").mkdir(parents=True)
    return programs


def test_a_kafka_that_ends_at_its_start_says_why(fake_kafka: Path):
    """The last error of its log stands in the sentence, and the temporary data is gone."""
    write_java(fake_kafka, otherwise='echo "[main] ERROR kafka.Kafka - out of luck"; exit 1')
    broker = RealBroker()

    with pytest.raises(UnreachableError, match=r"storage cannot be formatted: .*out of luck"):
        broker.start()

    assert (broker.pid, broker.address) == (None, "")


def test_a_folder_with_something_else_in_it_is_no_data_folder(fake_kafka: Path, tmp_path: Path):
    """A mistyped --data must not fill a home with logs."""
    write_java(fake_kafka)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()

    with pytest.raises(UsageError, match="home: the folder holds something else than a broker's data"):
        RealBroker(tmp_path / "home").start()

    assert os.listdir(tmp_path / "home") == ["thesis.tex"]


_UP = """
case "$*" in *StorageTool*) exit 0;; esac
for option in "$@"; do case $option in -XX:*Archive*) echo "$option" >> {told}; archive=${{option#*=}};; esac; done
trap '{at_end}; exit 0' TERM
echo 'Kafka Server started'
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize("ends", ["in order", "by a crash", "without an archive"])
def test_kafkas_classes_are_kept_for_the_next_start(fake_kafka: Path, tmp_path: Path, ends: str):
    """The first Kafka that ends in order writes them under another name, so a half archive is never taken for whole."""
    told, libs = tmp_path / "told", local_broker.cache_folder() / f"kafka-{local_broker.KAFKA_VERSION}"
    at_end = "" if ends == "without an archive" else 'touch "$archive"'
    write_java(fake_kafka, otherwise=_UP.format(told=told, at_end=at_end))
    with RealBroker() as broker:
        if ends == "by a crash":
            broker.kill()
    (option,) = told.read_text().splitlines()
    assert option.startswith(f"-XX:ArchiveClassesAtExit={libs}/classes-")
    archives = list(libs.glob("classes-*.jsa"))
    assert len(archives) == (ends == "in order")

    with RealBroker():
        pass
    (_, second) = told.read_text().splitlines()
    assert second.startswith(f"-XX:SharedArchiveFile={archives[0]}" if archives else "-XX:ArchiveClassesAtExit=")


async def test_the_embedded_broker_takes_and_gives_back_records():
    """aiokafka produces to it, idempotently, and reads from it; a record of an output's size passes as well."""
    values = [b"small", b"x" * 3_900_000]
    with EmbeddedBroker() as broker:
        address = broker.address.removeprefix("kafka://")
        producer = AIOKafkaProducer(
            bootstrap_servers=address, enable_idempotence=True, acks="all", max_request_size=5_000_000
        )
        await producer.start()
        try:
            sent = [await producer.send_and_wait("topic", value, key=b"key") for value in values]
            partitions = await producer.partitions_for("topic")
        finally:
            await producer.stop()
        consumer = AIOKafkaConsumer("topic", bootstrap_servers=address, auto_offset_reset="earliest", check_crcs=False)
        await consumer.start()
        try:
            async with asyncio.timeout(60):
                got = [await consumer.getone() for _ in values]
        finally:
            await consumer.stop()

    assert [record.value for record in got] == values
    assert [record.partition for record in got] == [metadata.partition for metadata in sent]
    assert partitions == set(range(local_broker.PARTITIONS))


def test_the_embedded_broker_starts_and_stops_more_than_once():
    """Each start is a new, empty cluster; starting or stopping twice changes nothing."""
    broker = EmbeddedBroker()

    first = broker.start()
    assert broker.start() == first
    broker.stop()
    broker.stop()
    assert broker.start().startswith("kafka://127.0.0.1:")
    broker.stop()
