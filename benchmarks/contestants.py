"""Who takes part: how each is set up, started, and what it guarantees.

Whoever cannot be set up says why, and stands in the table with that sentence. Kafka Streams is built by Maven, and the
peers in Python live in an environment of their own, both under `var/peers`; a build is taken again as long as what it
was made from is the same.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workload import servers

from sluice.codecs.errors import SluiceError
from sluice.streams.policy.policy import PublishedVerdicts
from sluice.topology.kafka.local_broker import find_java

HERE = Path(__file__).parent
PEERS = HERE / "peers"
BUILT = HERE.parent / "var" / "peers"
SETUP_SECONDS = 900
HEAP = "-Xmx1g"
"""Twice of what Kafka Streams' state and caches take here, on a machine with room for a broker beside it."""


class SetupError(Exception):
    """A contestant cannot be set up here; the sentence goes into the table."""


class Course(NamedTuple):
    """Where a contestant runs: broker (`kafka://…`), topic prefix, folder of its own, partitions."""

    address: str
    prefix: str
    folder: Path
    partitions: int

    @property
    def begun(self) -> Path:
        """The file into which a peer writes when the first record reached it."""
        return self.folder / "begun"


class Contestant(NamedTuple):
    """One setting of one framework.

    Attributes:
        name: as in the table.
        family: settings of one family compete for its best.
        guarantees: what it promises.
        command: sets it up where need be, and gives the command line.
        environment: variables besides our own.
    """

    name: str
    family: str
    guarantees: str
    command: Callable[[Course], Sequence[str]]
    environment: Callable[[Course], Mapping[str, str]] = lambda course: {}


# ---------------------------------------------------------------- sluice

SLUICE = (sys.executable, "-c", "from sluice.topology.cli import main; main()")
"""The command line up to its command, with this interpreter."""


def sluice(processes: int) -> Contestant:
    """A worker, whole: ledger, sanitiser, frame, hash, transactions."""
    name = f"sluice, {processes} process{'es' if processes > 1 else ''}"
    return Contestant(name, "sluice", "exactly-once", lambda course: sluice_command(processes), sluice_environment)


def sluice_telling(told: PublishedVerdicts, processes: int) -> Contestant:
    """The same under a policy that has so much told on `verdicts`."""

    def environment(course: Course) -> dict[str, str]:
        policy = course.folder / "policy.toml"
        policy.write_text(f'verdicts = "{told}"\n', "utf-8")
        return sluice_environment(course) | {"SLUICE_POLICY": str(policy)}

    return sluice(processes)._replace(name=f'verdicts = "{told}"', environment=environment)


def sluice_command(processes: int) -> list[str]:
    """The command line of a worker; its settings are in the environment."""
    return [*SLUICE, "worker", "--log-level", "warning", "--processes", str(processes)]


def sluice_environment(course: Course) -> dict[str, str]:
    """A worker's settings."""
    return {
        "SLUICE_BROKER": course.address,
        "SLUICE_TOPIC_PREFIX": course.prefix,
        "SLUICE_APP_ID": course.prefix + "app",
        "SLUICE_PARTITIONS": str(course.partitions),
        "SLUICE_STATE_DIR": str(course.folder / "state"),
    }


def environment_with(more: Mapping[str, str]) -> dict[str, str]:
    """Our own environment without any setting of sluice's, and what is given."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")} | dict(more)


# ---------------------------------------------------------------- peers


def kafka_streams(store: str, threads: int) -> Contestant:
    """Kafka Streams with a store (`rocksdb`, `memory`) and so many stream threads."""

    def command(course: Course) -> list[str]:
        classes = f"{streams_jars()}{os.pathsep}{streams_jars().parent / 'libs'}/*"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        return [_java(), HEAP, quiet, "-cp", classes, "Join", *_arguments(course, threads, before=store)]

    named = f"Kafka Streams, {store}, {threads} thread{'s' if threads > 1 else ''}"
    return Contestant(named, "kafka_streams", "exactly-once", command)


def foreign(name: str, family: str, guarantees: str, script: str) -> Contestant:
    """A peer in Python, in the peers' environment."""
    return Contestant(
        name, family, guarantees, lambda course: [str(peers_python()), str(PEERS / script), *_arguments(course)]
    )


def ours(name: str, family: str, script: str) -> Contestant:
    """A peer in Python that our own environment has the libraries for."""
    return Contestant(name, family, "none", lambda course: [sys.executable, str(PEERS / script), *_arguments(course)])


def _arguments(course: Course, threads: int = 1, *, before: str = "") -> list[str]:
    arguments = [servers(course.address), course.prefix, str(course.begun), str(threads)]
    return [*arguments, *([before] if before else []), str(course.folder)]


def _java() -> str:
    try:
        return find_java()
    except SluiceError as error:
        raise SetupError(str(error)) from None


CONTESTANTS = (
    sluice(1),
    sluice(2),
    *(kafka_streams(store, threads) for store in ("rocksdb", "memory") for threads in (1, 2)),
    foreign("Quix Streams", "quix_streams", "exactly-once", "quix_streams.py"),
    foreign("Bytewax", "bytewax", "none", "bytewax_flow.py"),
    ours("plain Faust", "plain_faust", "plain_faust.py"),
    ours("floor: aiokafka", "aiokafka_floor", "aiokafka_floor.py"),
    ours("floor: librdkafka", "librdkafka_floor", "librdkafka_floor.py"),
)
"""In the order of the table."""


# ---------------------------------------------------------------- setting up


@cache
def streams_jars() -> Path:
    """The jar of the Kafka Streams peer, built first where its sources changed.

    Raises:
        SetupError: Maven or a Java compiler is missing, or the build fails.
    """
    project, target = PEERS / "kafka-streams", BUILT / "kafka-streams"
    sources = [project / "pom.xml", *sorted((project / "src").rglob("*.java"))]
    jar = target / "kafka-streams-peer-1.jar"
    maven = shutil.which("mvn")
    if _is_built(target, sources) and jar.exists():
        return jar
    if maven is None:
        raise SetupError("Kafka Streams is built by Maven, and there is no `mvn`")
    build = [maven, "--quiet", "--batch-mode", "--strict-checksums", "-f", str(project / "pom.xml"), "package"]
    try:
        _run([*build[:1], "--offline", *build[1:]])  # answers at once where everything has been fetched before
    except SetupError:
        _run(build)
    _mark_built(target, sources)
    return jar


@cache
def peers_python() -> Path:
    """The interpreter of the Python peers' environment, made from its hashed lock file first where that changed.

    Raises:
        SetupError: the environment cannot be made.
    """
    target, locked = BUILT / "venv", PEERS / "requirements.txt"
    python = target / "bin" / "python"
    if _is_built(target, [locked]) and python.exists():
        return python
    _run([sys.executable, "-m", "venv", "--clear", str(target)])
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    _run([str(python), *install, "-r", str(locked)])
    _mark_built(target, [locked])
    return python


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=SETUP_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{Path(command[0]).name} does not run: {error}") from None
    if done.returncode:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stdout[-200:])
        raise SetupError(f"{Path(command[0]).name} fails: {said.strip()[:200]}")


def _digest(sources: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _is_built(target: Path, sources: Sequence[Path]) -> bool:
    mark = target / ".built-from"
    return mark.exists() and mark.read_text() == _digest(sources)


def _mark_built(target: Path, sources: Sequence[Path]) -> None:
    (target / ".built-from").write_text(_digest(sources))
