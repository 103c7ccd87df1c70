"""Apache Kafka's published jars, fetched once with Maven into a folder that the next start finds.

The version is pinned here and nowhere else. Maven is only needed where the folder is not there yet, Java always.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...codecs.errors import UnreachableError

KAFKA_VERSION = "4.3.0"
SCALA_VERSION = "2.13"
JAVA_NEEDED = 17
HINT = (
    f"install OpenJDK {JAVA_NEEDED} or later and Maven 3.8 or later (Debian: apt install openjdk-17-jre-headless maven)"
)

_POM = f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sluice</groupId>
  <artifactId>kafka-for-development</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_{SCALA_VERSION}</artifactId>
      <version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <!-- The line of the slf4j API that Kafka brings: a backend of 2.x is not found by it. -->
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
  <build>
    <pluginManagement>
      <plugins>
        <plugin>
          <groupId>org.apache.maven.plugins</groupId>
          <artifactId>maven-dependency-plugin</artifactId>
          <version>3.8.1</version>
        </plugin>
      </plugins>
    </pluginManagement>
  </build>
</project>
"""

DOWNLOAD_SECONDS = 900
"""Longest wait for Maven: 45 MB over a slow line, not for ever over a dead one."""


def find_java() -> str:
    """The `java` to run Kafka with: `JAVA_HOME`'s, else the first on the path.

    Raises:
        UnreachableError: there is none, or it is older than Kafka needs.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else None
    java = java or shutil.which("java")
    if java is None:
        raise UnreachableError(f"Apache Kafka needs Java {JAVA_NEEDED} or later, and there is no `java`", hint=HINT)
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"`{java} -version` does not answer: {error}", hint=HINT) from None
    version = java_version(output)
    if version is None or version < JAVA_NEEDED:
        raise UnreachableError(
            f"Apache Kafka {KAFKA_VERSION} does not run on this Java",
            path=java,
            expected=f"Java {JAVA_NEEDED} or later",
            got=str(version) if version else "an unknown version",
            hint=HINT,
        )
    return java


def java_version(output: str) -> int | None:
    """The major version in what `java -version` tells, or None: `1.8.0_402` is 8, `17.0.15` is 17, `21-ea` is 21."""
    matched = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(matched[1]) if matched else None


def cache_folder() -> Path:
    """Where fetched software is kept: `$XDG_CACHE_HOME/sluice`, by default `~/.cache/sluice`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice"


def tell_stderr(message: str) -> None:
    """One line of progress on standard error."""
    print(f"sluice: {message}", file=sys.stderr, flush=True)


def fetch_kafka(tell: Callable[[str], None] = tell_stderr) -> Path:
    """The folder with Kafka's jars, fetched first where it is not there.

    A download becomes visible by one rename at its end, so a broken one is never taken for whole; of two at once,
    the first to end stays.

    Raises:
        UnreachableError: Maven is missing, or cannot fetch the jars.
    """
    libs = _libs()
    if libs.is_dir():
        return libs
    maven = shutil.which("mvn")
    if maven is None:
        raise _no_maven()
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f"kafka-{KAFKA_VERSION}.", dir=cache_folder()))
    except OSError as error:
        raise UnreachableError(
            f"cannot write there: {error.strerror}", path=str(cache_folder()), hint="set XDG_CACHE_HOME"
        ) from None
    try:
        tell(f"fetching Apache Kafka {KAFKA_VERSION} with Maven, once, about 45 MB")
        _copy_dependencies(maven, workplace)
        _publish(workplace, libs.parent)
        tell(f"Apache Kafka {KAFKA_VERSION} is in {libs.parent}")
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return libs


def missing() -> str:
    """Why no Kafka can be started on this machine, in one sentence; empty where one can. Fetches nothing."""
    try:
        find_java()
    except UnreachableError as error:
        return str(error)
    return "" if _libs().is_dir() or shutil.which("mvn") else str(_no_maven())


def _libs() -> Path:
    return cache_folder() / f"kafka-{KAFKA_VERSION}" / "libs"


def _no_maven() -> UnreachableError:
    return UnreachableError("Maven fetches Apache Kafka's jars, and there is no `mvn`", hint=HINT)


def _copy_dependencies(maven: str, workplace: Path) -> None:
    (workplace / "pom.xml").write_text(_POM, "utf-8")
    command = [
        maven,
        "--quiet",
        "--batch-mode",
        "--strict-checksums",
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={workplace / 'libs'}",
    ]
    try:
        done = subprocess.run(
            command,
            cwd=workplace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreachableError(f"Maven does not fetch Apache Kafka's jars: {error}") from None
    if done.returncode != 0:
        said = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it says nothing")
        said = re.sub(r"\x1b\[[0-9;]*m", "", said).replace("[ERROR] ", "")
        raise UnreachableError(f"Maven cannot fetch Apache Kafka's jars: {said[:400]}", hint="is the network there?")


def _publish(workplace: Path, target: Path) -> None:
    try:
        os.rename(workplace, target)
    except OSError:
        if not (target / "libs").is_dir():  # otherwise somebody else was first, and theirs is as good
            raise
    else:
        target.chmod(0o755)
