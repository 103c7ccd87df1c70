"""The Compose file's own commands, in its order, on a real Kafka: the first start is under the strict profile."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from composed import Composed

from sluice.topology.kafka.consume import read
from sluice.topology.settings.settings import Settings

PATIENCE = 120.0
SOURCE = "RETRIES = 3\nTIMEOUT = 30\n"
TEXT = "`RETRIES` in settings.py is 3."


def emission(name: str, system: str) -> str:
    """A true statement, with evidence of three kinds to be had."""
    classes = ("substrate.code.read", "substrate.grep", "substrate.git.log")
    provenance = [{"substrate_class": one, "locator": {"path": "settings.py"}} for one in classes]
    provenance[1]["locator"] = {"path": "settings.py", "pattern": "RETRIES"}
    assertion = {"span": {"chars": [0, len(TEXT)]}, "provenance": provenance, "checks": ["equals(RETRIES, 3)"]}
    value = {"emission_id": name, "emitter": {"system": system}, "text": TEXT, "assertions": [assertion]}
    return json.dumps(value) + "\n"


@pytest.fixture
def composed(kafka: str, prefix: str, tmp_path: Path) -> Iterator[tuple[Composed, Settings]]:
    """What `docker compose up` starts, but for what we did not write; everything ends with the test."""
    root = tmp_path / "observed"
    root.mkdir()
    (root / "settings.py").write_text(SOURCE)
    for command in ("init --quiet", "add .", "-c user.name=a -c user.email=a@example.org commit --quiet -m x"):
        subprocess.run(["git", *command.split()], cwd=root, check=True)
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=1)
    given = {"SLUICE_BROKER": kafka, "SLUICE_TOPIC_PREFIX": prefix, "SLUICE_APP_ID": settings.app_id}
    one = Composed(tmp_path / "volumes", {"SLUICE_OBSERVED": str(root), "SLUICE_PARTITIONS": "1"}, given)
    (tmp_path / "volumes").mkdir()
    for service in ("keys", "topics"):
        done = one.run(service)
        assert done.returncode == 0, done.stderr
    with ExitStack() as running:
        for service in ("worker-1", "worker-2", "observer"):
            process = running.enter_context(one.start(service, tmp_path / f"{service}.log"))
            running.callback(process.terminate)
        yield one, settings


def values(settings: Settings, topic: str) -> list[dict[str, Any]]:
    async def all_of() -> list[dict[str, Any]]:
        return [json.loads(record.value or b"{}") async for record in read(settings, topic)]

    return asyncio.run(all_of())


def reasons(settings: Settings) -> list[str]:
    async def all_of() -> list[str]:
        return [dict(one.headers)["sluice-reason"].decode() async for one in read(settings, "dead-letters")]

    return asyncio.run(all_of())


def test_the_first_start_admits_what_is_signed_and_nothing_else(composed: tuple[Composed, Settings], tmp_path: Path):
    """The emitter's key makes the difference: a stranger's statement is as true, and is seen by the same observer."""
    one, settings = composed
    for name, system in (("em-stranger", "stranger"), ("em-pretended", "docs-bot")):
        assert one.run("topics", "produce", text=emission(name, system)).returncode == 0
    assert one.run("emitter", text=emission("em-signed", "docs-bot")).returncode == 0

    end = time.monotonic() + PATIENCE
    while not (admitted := values(settings, "admitted")) and time.monotonic() < end:
        time.sleep(0.5)

    said = "".join((tmp_path / f"{name}.log").read_text() for name in ("worker-1", "worker-2", "observer"))
    assert [value["emission_id"] for value in admitted] == ["em-signed"], said[-4000:]
    seen = {value["subject"]["emission_id"] for value in values(settings, "observations")}
    assert {"em-stranger", "em-signed"} <= seen
    assert reasons(settings) == ["unauthorised-emitter"]
    # Ids are hashed with the secret that the workers were given; the auditor has it too.
    ids = [seen["observation_id"] for seen in admitted[0]["evidence"]]
    assert ids
    assert all(name.startswith("hmac:") for name in ids)
    audit = one.run("auditor")
    assert "integrity: holds" in audit.stdout, audit.stdout + audit.stderr
    assert "no key was given" not in audit.stdout
