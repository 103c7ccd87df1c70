"""The workers of a run: who is to run, who is a fault's at the moment, and that who has ended comes back.

A slot is a place for one worker after another: a state folder of its own on a small disk, and logs. What Kubernetes
would do with a pod that ended is done here. The first slot reaches the broker through the proxy only.
"""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

from lanes_on_kafka import Workers
from msgspec.structs import replace

from sluice.topology.engine.signing import load_or_make_signer
from sluice.topology.settings.settings import Settings

from .disk import Disk

LOOK_SECONDS = 0.1
BACK_SECONDS = 1.0
"""A worker that ended by itself is started again after so long."""
STOP_SECONDS = 10.0
SNAPSHOT_SECONDS = 4
TAKEN_OVER, LEAVES, CLAIMED = "lane taken over", "lane leaves", "lane claimed"
"""What a worker says of its lanes."""
CLOCK_STEPS = signal.SIGRTMIN
"""The signal at which a worker's wall clock steps by an hour, or back."""

# A worker's wall clock as this process would set it, before anything has looked at it.
_CLOCK = """
import os, signal, time
ahead, clocks = [float(os.environ["CHAOS_CLOCK"])], (time.time, time.time_ns)
def step(*_):
    ahead[0] = 0.0 if ahead[0] else 3600.0
signal.signal(signal.SIGRTMIN, step)
time.time = lambda: clocks[0]() + ahead[0]
time.time_ns = lambda: clocks[1]() + int(ahead[0] * 1e9)
"""


class Slot:
    """One place for a worker; `log` is what its present one has said."""

    def __init__(self, place: int, workers: Workers, disk: Disk) -> None:
        self.name, self._workers, self.disk = f"worker {place}", workers, disk
        self.process: Popen[bytes] | None = None
        self.claimed = False
        self.back_at = 0.0
        self.ended_by_itself = 0
        self._ending = False

    @property
    def runs(self) -> bool:
        """Whether a worker is here and has not ended."""
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> str:
        return self._workers.said(self.process) if self.process is not None else ""

    def _said(self) -> Iterator[dict[str, Any]]:
        """What its present worker has said of lanes."""
        for line in self.log.splitlines(keepends=True):
            if line.endswith("\n") and '"lane' in line:
                yield json.loads(line)

    @property
    def lanes(self) -> frozenset[tuple[str, int]]:
        """The lanes that its present worker has said to have, and not to have given away."""
        held: set[tuple[str, int]] = set()
        for said in self._said():
            if said["event"] == TAKEN_OVER:
                held.add((said["fold"], said["lane"]))
            elif said["event"] == LEAVES:
                held.discard((said["fold"], said["lane"]))
        return frozenset(held)

    @property
    def take_overs(self) -> list[float]:
        """The seconds that each take-over of its present worker took, in order."""
        return [said["seconds"] for said in self._said() if said["event"] == TAKEN_OVER]

    @property
    def claims(self) -> list[tuple[str, int]]:
        """The lanes that its present worker has claimed, in order."""
        return [(said["fold"], said["lane"]) for said in self._said() if said["event"] == CLAIMED]

    def start(self, clock: int = 0) -> None:
        """A new worker, whose clock is so many seconds ahead."""
        self.process = self._workers.start("--policy", "policy.toml", CHAOS_CLOCK=str(clock))
        self._ending = False

    def expect_end(self) -> None:
        """The worker that runs is to end by itself, and has nothing to explain."""
        self._ending = True

    def kill(self) -> None:
        """SIGKILL, and waits for the end."""
        assert self.process is not None
        self._ending = True
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def retire(self) -> None:
        """SIGTERM, once, without waiting."""
        if self.process is not None and self.runs and not self._ending:
            self._ending = True
            self.process.terminate()

    async def end(self) -> None:
        """SIGTERM, as an operator would; SIGKILL where that takes too long."""
        if self.process is None or not self.runs:
            return
        self.retire()
        try:
            await asyncio.to_thread(self.process.wait, STOP_SECONDS)
        except TimeoutExpired:
            self.kill()

    def last_words(self) -> str | None:
        """Told once of a worker that ended though nobody told it to: its exit status and what it said last."""
        if self.process is None or self.runs or self._ending:
            return None
        self._ending = True
        self.ended_by_itself += 1
        said = self.log.strip().splitlines() or ["it said nothing"]
        reason = next((line for line in said if line.startswith("sluice: ")), said[-1])
        return f"{self.name} ended by itself with {self.process.returncode}: {reason[:300]}"


class Fleet:
    """All slots, one more than there are workers at first. `watch` runs beside the faults.

    Args:
        settings: of the topics; `broker` is the open door.
        proxied: the first slot's way to the broker.
        folder: of logs and state.
        count: how many workers are to run.
        mounts: whether small disks can be mounted.
        tell: what is done with a line about what happened.
    """

    def __init__(
        self, settings: Settings, proxied: str, folder: Path, count: int, mounts: bool, tell: Callable[[str], None]
    ) -> None:
        self.wanted, self._tell = count, tell
        self._barred, self._stack = False, ExitStack()
        self._key = folder / "keys" / "signing.key"  # all workers of a ledger sign with one key
        self._key.parent.mkdir()
        load_or_make_signer(self._key, f"sluice/{settings.app_id}")
        self.slots = [
            self._slot(place, replace(settings, broker=proxied) if place == 0 else settings, folder, mounts)
            for place in range(count + 1)
        ]

    def _slot(self, place: int, settings: Settings, folder: Path, mounts: bool) -> Slot:
        logs = folder / f"worker-{place}"
        disk = Disk(logs / "state", mounts)
        (logs / "policy.toml").write_text((folder / "policy.toml").read_text())
        workers = Workers(
            settings,
            logs,
            SLUICE_STATE_DIR=str(disk.folder),
            SLUICE_KEY_FILE=str(self._key),
            SLUICE_SNAPSHOT_INTERVAL=str(SNAPSHOT_SECONDS),
            SLUICE_STANDBY="1",
            COLUMNS="200",
            prelude=_CLOCK,
        )
        return Slot(place, self._stack.enter_context(workers), disk)

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()  # no worker runs any more
        for slot in self.slots:
            with suppress(OSError):
                slot.disk.close()

    @property
    def running(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.runs]

    def claims(self, away: Slot) -> list[tuple[str, int]]:
        """What the workers but this one have claimed, worker by worker."""
        return [lane for slot in self.running if slot is not away for lane in slot.claims]

    def have_moved(self, lanes: frozenset[tuple[str, int]], away: Slot) -> int:
        """How many of a worker's lanes others say to have."""
        others = [slot.lanes for slot in self.running if slot is not away]
        return len(lanes.intersection(frozenset().union(*others)))

    def take_overs(self) -> Callable[[], list[float]]:
        """Begins to count take-overs of the workers that run; the result gives the seconds of those that came since."""
        before = {slot.process: len(slot.take_overs) for slot in self.running}
        return lambda: [seconds for slot in self.running for seconds in slot.take_overs[before.get(slot.process, 0) :]]

    # ------------------------------------------------------------ keeping up the number

    async def watch(self) -> None:
        """Starts who is missing and ends who is too many, until cancelled."""
        while True:
            for slot in self.slots:
                if words := slot.last_words():
                    self._tell(words)
                    slot.back_at = time.monotonic() + BACK_SECONDS
            self._fit()
            await asyncio.sleep(LOOK_SECONDS)

    def _fit(self) -> None:
        for place, slot in enumerate(self.slots):
            if slot.claimed:
                continue
            if place >= self.wanted:
                slot.retire()
            elif not slot.runs and slot.back_at <= time.monotonic():
                slot.start()

    # ------------------------------------------------------------ claiming

    @asynccontextmanager
    async def claim(self, pick: int, among: Callable[[Slot], object] = lambda slot: True) -> AsyncIterator[Slot]:
        """One of those that run and are nobody's, for a fault: until it is given back nobody starts or ends it.

        Args:
            pick: which one, by rank.
            among: those of which this is true; waits until it is of any.
        """
        free: list[Slot] = []
        unclaimed: list[Slot] = []
        while self._barred or not free or len(unclaimed) < 2:  # another one has to take over what this one loses
            await asyncio.sleep(LOOK_SECONDS)
            unclaimed = [slot for slot in self.running if not slot.claimed]
            free = [slot for slot in unclaimed if among(slot)]
        slot = free[pick % len(free)]
        slot.claimed = True
        try:
            yield slot
        finally:
            slot.claimed = False

    @asynccontextmanager
    async def claim_all(self) -> AsyncIterator[list[Slot]]:
        """All of them; no other claim is granted from now on until they are given back."""
        while self._barred:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        self._barred = True
        try:
            while any(slot.claimed for slot in self.slots):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
            for slot in self.slots:
                slot.claimed = True
            yield self.slots
        finally:
            for slot in self.slots:
                slot.claimed = False
            self._barred = False

    async def end(self) -> None:
        """Ends all of them, in order."""
        self.wanted = 0
        await asyncio.gather(*(slot.end() for slot in self.slots))
