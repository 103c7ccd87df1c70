"""From a running lane to a proof that needs no broker: `sluice prove`, `verify` and `key show` beside a worker."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from commands import run
from lanes_on_kafka import Workers, load, read, until_read

from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with two partitions."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


async def sluice(settings: Settings, *args: str | Path, broker: bool = True) -> tuple[int, str, str]:
    """`sluice` with these arguments; without a broker it is told of one that nobody answers at."""
    nobody = {} if broker else {"SLUICE_BROKER": "kafka://127.0.0.1:1"}
    return await asyncio.to_thread(run, settings, *map(str, args), **nobody)


async def test_what_a_running_lane_has_decided_is_proved_to_a_third_party(settings: Settings, tmp_path: Path):
    """Its input, its verdict and the output record itself, and that one history continues the other."""
    with Workers(settings, tmp_path, SLUICE_CHECKPOINT_INTERVAL="0.5") as workers:
        await workers.until_taken_over(workers.start())
        await until_read(settings, await load(settings, 0, 200, 3))
        record = (await read(settings, "admitted"))[1][0]
        value = json.loads(record.value)
        names = [value["emission_id"], record.key.decode(), value["id"]]
        _, verifier, _ = await sluice(settings, "key", "show", tmp_path / "var" / "keys" / "signing.key", broker=False)
        (tmp_path / "lane.pub").write_text(verifier)

        for number, name in enumerate(names):
            proof = tmp_path / f"proof-{number}.json"  # a proof never overwrites one
            async with asyncio.timeout(150):
                while True:
                    status, _, _ = await sluice(settings, "prove", name, "--out", proof)
                    if status == 0:
                        break
                    await asyncio.sleep(0.5)  # no checkpoint covers it yet
            status, out, error = await sluice(
                settings, "verify", proof, "--key", tmp_path / "lane.pub", "--json", broker=False
            )
            assert (status, error) == (0, "")
            shown = json.loads(out)
            assert (shown["holds"], shown["lane"], shown["signed_by"]) == (True, 1, [verifier.strip()])

        assert shown["record"]["value"].encode() == record.value
        sizes = [int(one.value.split(b"\n")[1]) for one in (await read(settings, "checkpoints"))[1]]
        status, out, _ = await sluice(settings, "prove", "--consistency", str(sizes[0]), "--lane", "1")
        (tmp_path / "both.json").write_text(out)
        status, out, _ = await sluice(settings, "verify", tmp_path / "both.json", "--key", verifier, broker=False)

    assert (status, out[:15]) == (0, "holds: the firs")
