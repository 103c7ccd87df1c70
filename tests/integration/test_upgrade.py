"""Two versions of the package on one Kafka: rolled out one worker after another, rolled back, and raised.

The other package is made here: a copy of the sources under another version, in one case with a later version of the
fold. Workers are processes; what they wrote is judged by folding it again with a package that knows all of it.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib import metadata
from itertools import groupby
from pathlib import Path

import msgspec
import pytest
from commands import SLUICE, variables_of
from lanes_on_kafka import Workers, assert_exactly_once, ended, ledger, load, loading, read

from sluice.topology.engine.folds import folds
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
FOLDS = len(folds())
OURS = metadata.version("sluice-verdicts")
REFUSES = "the ledger was written by a later version of sluice"
RAISED = "the ledger is raised to a later version of the fold"
LATER_FOLD = [
    (
        "streams/adjudication/versions.py",
        "FOLD_VERSION: Final =",
        'FOLD_VERSIONS[6] = FOLD_VERSIONS[5].replace("5", "6", 1)\nFOLD_VERSION: Final =',
    ),
    (
        "streams/adjudication/fold.py",
        'k=k.external if effect == "external" else k.internal,',
        'k=(k.external if effect == "external" else k.internal) - (self.version >= 6),',
    ),
]
"""A later version of the fold: one class fewer is needed."""


def package(folder: Path, version: str, changes: list[tuple[str, str, str]]) -> dict[str, str]:
    """Another version of the package, with its compiled core; the variables by which a process takes it for sluice."""
    root = folder / f"sluice-{version}"
    for name in ("codecs", "streams", "topology"):
        shutil.copytree(ROOT / name, root / "sluice" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "sluice" / "__init__.py").touch()
    for file, old, new in changes:
        path = root / "sluice" / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{file} has changed: {old}"
        path.write_text(text.replace(old, new), "utf-8")
    info = root / f"sluice_verdicts-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sluice-verdicts\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(metadata.distribution("sluice-verdicts").read_text("entry_points.txt") or "")
    return {"PYTHONPATH": str(root)}


@pytest.fixture
async def lanes(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[tuple[Settings, Workers]]:
    """Topics with four partitions, and workers whose session outlasts a restart on a busy machine."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    await create_topics(settings)
    variables = {"SLUICE_SESSION_TIMEOUT": "60", "SLUICE_SNAPSHOT_INTERVAL": "0.5"}
    with Workers(settings, tmp_path, **variables) as workers:
        yield settings, workers


class Pods:
    """Two named workers with two lanes of each fold, restarted one by one."""

    def __init__(self, settings: Settings, workers: Workers) -> None:
        self._settings, self._workers = settings, workers
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    async def begin(self, **variables: str) -> None:
        """Starts both."""
        for name in ("pod-a", "pod-b"):
            self.running[name] = self._workers.start("--instance", name, **variables)
            count = FOLDS * (self._settings.partitions if name == "pod-a" else 2)
            await self._workers.until_said(self.running[name], "lane taken over", count)
        await self._workers.until_said(self.running["pod-a"], "lane resumed", 2 * FOLDS)

    async def restart(self, name: str, version: str = OURS, **variables: str) -> str:
        """Ends one of them in order, and starts it with this package; what it has said once its lanes run.

        Within its session: its lanes stay its own, and the other worker is not disturbed.
        """
        (other,) = self.running.keys() - {name}
        moves = self.moves(other)
        self.running[name].terminate()
        assert await ended(self.running[name]) == 0
        back = self.running[name] = self._workers.start("--instance", name, **variables)
        await self._workers.until_said(back, "lane taken over", 2 * FOLDS)
        await asyncio.sleep(0.5)  # some blocks
        said = self._workers.said(back)
        assert f'"package": "{version}"' in said
        assert self.moves(other) == moves
        return said

    def moves(self, name: str) -> list[int]:
        """How often a worker said that a lane was taken over, resumed, or left."""
        said = self._workers.said(self.running[name])
        return [said.count(move) for move in ("lane taken over", "lane resumed", "lane leaves")]


def run(settings: Settings, variables: dict[str, str], *command: str) -> tuple[int, str]:
    """Runs Python with a package; its exit status, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", *command],
        env=variables_of(settings, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=200,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def sluice(settings: Settings, variables: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Runs the command of a package."""
    return run(settings, variables, SLUICE[-1], *arguments)


def assert_exactly_once_by(settings: Settings, sent: int, variables: dict[str, str]) -> None:
    """As `assert_exactly_once`, folded by another package."""
    judge = (
        "import asyncio, sys, msgspec; sys.path.append(sys.argv[1]);"
        "from sluice.topology.settings.settings import Settings; from lanes_on_kafka import assert_exactly_once;"
        "asyncio.run(assert_exactly_once(msgspec.json.decode(sys.argv[2], type=Settings), int(sys.argv[3])))"
    )
    here, reported = str(Path(__file__).parents[1] / "support"), msgspec.json.encode(settings).decode()
    status, said = run(settings, variables, judge, here, reported, str(sent))
    assert status == 0, said


async def numbers(settings: Settings) -> dict[int, list[str]]:
    """The versions of each lane's blocks, in order, each run of blocks once."""
    blocks = await ledger(settings)
    return {
        lane: [one for one, _ in groupby(block.header.fold[0] for block in chain)] for lane, chain in blocks.items()
    }


async def test_a_package_is_rolled_out_and_back_under_load(lanes: tuple[Settings, Workers], tmp_path: Path):
    """Same fold, two packages, one after the other: nothing is lost or doubled, and no lane moves.

    Each goes on from the snapshots of the other, since the form of the state is the same.
    """
    settings, workers = lanes
    other, pods = package(tmp_path, "0.2.0", []), Pods(settings, workers)
    await pods.begin()
    async with loading(settings) as sent:
        for name, version, variables in (
            ("pod-a", "0.2.0", other),
            ("pod-b", "0.2.0", other),
            ("pod-a", OURS, {}),
        ):
            said = await pods.restart(name, version, **variables)
            assert '"start": "snapshot ' in said
            assert "a snapshot is not used" not in said

    await assert_exactly_once(settings, sum(sent))
    assert set(map(tuple, (await numbers(settings)).values())) == {("5",)}


async def test_a_later_fold_is_rolled_out_first_and_raised_afterwards(lanes: tuple[Settings, Workers], tmp_path: Path):
    """Until it is raised a ledger keeps its version, and the way back is open; from then on the new rules hold.

    The newer package folds, audits and explains both parts; ours says that it cannot.
    """
    settings, workers = lanes
    later, pods = package(tmp_path, "0.3.0", LATER_FOLD), Pods(settings, workers)
    await pods.begin()
    async with loading(settings) as sent:
        await pods.restart("pod-a", "0.3.0", **later)
        await pods.restart("pod-a")  # back
        await pods.restart("pod-a", "0.3.0", **later)
        await pods.restart("pod-b", "0.3.0", **later)
        assert set(map(tuple, (await numbers(settings)).values())) == {("5",)}
        for name in ("pod-a", "pod-b"):
            await pods.restart(name, "0.3.0", SLUICE_FOLD_VERSION="6", **later)
            await workers.until_said(pods.running[name], RAISED, 2 * FOLDS)  # two lanes each
            assert workers.said(pods.running[name]).count(RAISED) == 2 * FOLDS

    assert_exactly_once_by(settings, sum(sent), later)
    assert set(map(tuple, (await numbers(settings)).values())) == {("5", "6")}
    raised = {
        lane: next(block.header.height for block in chain if block.header.fold.startswith("6 "))
        for lane, chain in (await ledger(settings)).items()
    }
    admitted: dict[bool, list[dict[str, object]]] = {False: [], True: []}
    for lane, found in (await read(settings, "admitted")).items():
        for record in map(msgspec.json.decode, (one.value for one in found)):
            if record["revision"] == 1:
                admitted[record["ledger"]["height"] >= raised[lane]].append(record)
    assert {record["k"] for record in admitted[False]} == {2}
    assert {record["k"] for record in admitted[True]} >= {1}
    status, said = sluice(settings, later, "audit")
    assert status == 0, said
    assert "integrity: holds" in said
    for record, k in ((admitted[False][0], 2), (admitted[True][-1], 1)):
        status, said = sluice(settings, later, "explain", str(record["emission_id"]), "--json")
        assert status == 0, said
        assert {one["k"] for one in msgspec.json.decode(said)["assertions"]} == {k}
    status, said = sluice(settings, {}, "audit")
    assert status == 1
    assert "decided by another version of the fold" in said


async def test_an_older_worker_leaves_raised_lanes_alone(lanes: tuple[Settings, Workers], tmp_path: Path):
    """Started again and again, under a name or without one, it ends in one sentence and never joins the group."""
    settings, workers = lanes
    later = package(tmp_path, "0.3.0", LATER_FOLD)
    newer = workers.start("--instance", "pod-a", **later)
    await workers.until_taken_over(newer)
    async with loading(settings) as sent:
        for arguments in (("--instance", "pod-b"), ("--instance", "pod-b"), ()):
            older = workers.start(*arguments)
            assert await ended(older) == 1
            last = workers.said(older).splitlines()[-1]
            assert last.startswith("sluice: ")
            assert REFUSES in last
            assert last.endswith("; upgrade this worker")
            assert "lane taken over" not in workers.said(older)

    said = workers.said(newer)
    assert (said.count("lane resumed"), said.count("lane leaves"), said.count("fenced")) == (0, 0, 0)
    assert_exactly_once_by(settings, sum(sent), later)


async def test_an_older_worker_that_is_given_a_raised_lane_ends(kafka: str, prefix: str, tmp_path: Path):
    """It was there before the ledger was raised: too early. Newer workers have all lanes again, and nothing is lost."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    await create_topics(settings)
    later = package(tmp_path, "0.3.0", LATER_FOLD)
    with Workers(settings, tmp_path) as workers:
        older = workers.start()
        await workers.until_taken_over(older)
        newer = workers.start(SLUICE_FOLD_VERSION="6", **later)
        await workers.until_said(newer, "lane taken over", 2 * FOLDS)
        sent = await load(settings, 0, 300, 2)
        newer.kill()
        assert await ended(older) == 1
        assert REFUSES in workers.said(older).splitlines()[-1]
        again = workers.start(**later)
        await workers.until_said(again, "lane taken over", 4 * FOLDS)
        sent += await load(settings, 300, 200)

        assert_exactly_once_by(settings, sent, later)
        assert sorted(map(tuple, (await numbers(settings)).values())) == [("5",), ("5",), ("5", "6"), ("5", "6")]
