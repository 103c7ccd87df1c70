"""The shipped alert rules in Debian's Prometheus, over a worker and a Kafka with real trouble (`make alerts`).

What each rule makes of its series is tested by promtool (`deploy/prometheus/sluice.rules.test.yml`). Here the series
are those that a worker has when partitions grow and when Kafka goes away.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import manifests
import yaml
from aiokafka.admin import NewPartitions
from lanes_on_kafka import Workers
from ports import free_port

from sluice.topology.kafka.connect import open_admin
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

RULES = manifests.DEPLOY / "prometheus" / "sluice.rules.yml"


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[int]:
    """A Prometheus with the shipped rules that scrapes one worker each second; its port."""
    program, port = shutil.which("prometheus"), free_port()
    assert program, "Prometheus is missing: `make alerts` installs Debian's where root may"
    shutil.copy(RULES, folder)
    worker = {"job_name": "sluice-worker", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config = {"global": every, "rule_files": [RULES.name], "scrape_configs": [worker]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), "utf-8")
    flags = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder / "data",
        "web.listen-address": f"127.0.0.1:{port}",
    }
    with open(folder / "prometheus.log", "wb") as log:
        process = subprocess.Popen([program, *(f"--{name}={value}" for name, value in flags.items())], stderr=log)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(30)


def firing(port: int) -> set[tuple[str, str]]:
    """Which alerts fire now, each with its topic; none while Prometheus does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/alerts", timeout=5) as answer:
            alerts = json.load(answer)["data"]["alerts"]
    except OSError:
        return set()
    told = [one["labels"] for one in alerts if one["state"] == "firing"]
    return {(labels["alertname"], labels.get("topic", "")) for labels in told}


def is_ready(port: int) -> bool:
    """Whether a worker says so."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


async def until(true: Callable[[], object], seconds: float) -> None:
    """Waits until something is so."""
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(true):  # noqa: ASYNC110 -- it asks another process
            await asyncio.sleep(0.5)


async def test_alerts_fire_where_partitions_grow_and_where_kafka_is_gone(tmp_path: Path):
    """And not before."""
    port = free_port()
    with RealBroker() as broker:
        settings = Settings(broker=broker.address, partitions=2)
        await create_topics(settings)
        with Workers(settings, tmp_path, SLUICE_WEB_PORT=str(port)) as workers:
            workers.start()
            await until(lambda: is_ready(port), 120)
            with prometheus(tmp_path, port) as asked:
                async with open_admin(settings) as admin:
                    await asyncio.sleep(10)
                    before = await asyncio.to_thread(firing, asked)
                    await admin.create_partitions({"emissions": NewPartitions(3)})
                await until(lambda: ("SluicePartitionsGrown", "emissions") in firing(asked), 60)
                grown = await asyncio.to_thread(firing, asked)
                await asyncio.to_thread(broker.stop)
                await until(lambda: ("SluiceLanesMissing", "") in firing(asked), 300)

    assert before == set()
    assert grown == {("SluicePartitionsGrown", "emissions")}
