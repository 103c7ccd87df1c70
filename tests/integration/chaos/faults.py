"""What goes wrong and when, drawn from a seed; and how each fault is done, mended, and seen to have had its effect.

SIGKILLs run in a track of their own beside the other faults, so that two things go wrong at once. A fault that leaves
no trace (nobody noticed the full disk) is a complaint: it would test nothing.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Final, NamedTuple

from .broker import ProxiedBroker
from .fleet import Fleet, Slot
from .proxy import Proxy

SESSION_SECONDS: Final = 6.0
"""What `lanes_on_kafka.Workers` sets: the least that a broker takes."""
PATIENCE: Final = 40.0
"""So long may the trace of a fault be in coming, on a busy machine."""
FAULT_SECONDS: Final = 240.0
"""No fault takes so long, unless nobody is there whom it could hit."""
GOES_ON_SECONDS: Final = 2.0
SNAPPED: Final = "adjudicate"
"""The fold whose lanes have snapshots."""
WRITTEN: Final = "snapshot written"
DISK_FULL: Final = "no snapshot could be written"
DAMAGED: Final = ("not restored from here", "a snapshot is not used")


class Kind(NamedTuple):
    """How often a kind of fault comes in a full run of 15 minutes and in a short one, and how long each lasts."""

    full: int
    short: int
    seconds: tuple[float, float]
    short_seconds: tuple[float, float]
    room: float  # seconds from its beginning until the next one, at the least


KINDS: Mapping[str, Kind] = {
    "kill": Kind(20, 5, (1, 6), (1, 2), 0),
    "freeze": Kind(3, 1, (SESSION_SECONDS + 3, SESSION_SECONDS + 8), (SESSION_SECONDS + 3, SESSION_SECONDS + 3), 16),
    "broker": Kind(3, 1, (1, 5), (1, 1), 14),
    "disk": Kind(2, 1, (5, 15), (1, 1), 20),
    "snapshot": Kind(2, 1, (0, 0), (0, 0), 22),
    "network": Kind(2, 1, (30, 30), (12, 12), 22),
}
FULL_MINUTES = 15.0
SHORT_MINUTES = 1.3


class Fault(NamedTuple):
    """One fault: `at` seconds after the beginning, on the `pick`-th of those it may hit.

    `workers` is how many are to run from then on, never fewer than two; None where that stays.
    """

    at: float
    kind: str
    pick: int
    seconds: float
    workers: int | None


def schedule(seed: int, minutes: float, workers: int, *, short: bool) -> list[Fault]:
    """The faults of a run in order; equal arguments give equal schedules.

    Args:
        seed: any number.
        minutes: how long the load lasts; the number of faults goes with it.
        workers: how many there are at first.
        short: every kind at least once, each as short as it can be.
    """
    random = Random(f"faults {seed}")
    length = minutes * 60
    counts = {
        name: kind.short if short else max(1, round(kind.full * minutes / FULL_MINUTES)) for name, kind in KINDS.items()
    }
    others = [name for name, count in counts.items() for _ in range(count) if name != "kill"]
    random.shuffle(others)
    room = sum(KINDS[name].room for name in others)
    kills = counts["kill"]
    found = [_fault(random, length * (n + random.random()) / kills, "kill", workers, short) for n in range(kills)]
    at = 0.0
    for name in others:
        share = length * KINDS[name].room / room
        found.append(_fault(random, at + random.uniform(0, 0.2) * share, name, workers, short))
        at += share
    return sorted(found)


def _fault(random: Random, at: float, kind: str, workers: int, short: bool) -> Fault:
    seconds = random.uniform(*(KINDS[kind].short_seconds if short else KINDS[kind].seconds))
    count = random.choice((workers - 1, workers, workers + 1)) if kind == "kill" and random.random() < 0.4 else None
    return Fault(at, kind, random.randrange(1000), seconds, None if count is None else max(2, count))


def _is_snapped(slot: Slot) -> bool:
    """Whether a worker has lanes of which snapshots are taken."""
    return any(fold == SNAPPED for fold, _ in slot.lanes)


class Faults:
    """Does what the schedule says. `done` counts by kind; `complaints` is what a fault should have shown, and did not.

    Args:
        fleet, broker, proxy: what is hit.
        lanes: how many there are, of all folds.
        random: where a snapshot is damaged.
        tell: what is done with a line about each.
    """

    def __init__(
        self,
        fleet: Fleet,
        broker: ProxiedBroker,
        proxy: Proxy,
        lanes: int,
        random: Random,
        tell: Callable[[str], None],
    ) -> None:
        self._fleet, self._broker, self._proxy = fleet, broker, proxy
        self._lanes, self._random, self._tell = lanes, random, tell
        self.done: Counter[str] = Counter()
        self.complaints: list[str] = []
        self._do = {
            "kill": self._kill,
            "freeze": self._freeze,
            "broker": self._kill_broker,
            "disk": self._fill_disk,
            "snapshot": self._damage,
            "network": self._cut,
        }

    async def run(self, plan: list[Fault]) -> None:
        """All of them, each when it is due or as soon after that as it can be."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as tracks:
            tracks.create_task(self._track(began, [fault for fault in plan if fault.kind == "kill"]))
            tracks.create_task(self._track(began, [fault for fault in plan if fault.kind != "kill"]))

    async def _track(self, began: float, plan: list[Fault]) -> None:
        for fault in plan:
            await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
            if fault.workers is not None:
                self._fleet.wanted = fault.workers
            try:
                async with asyncio.timeout(FAULT_SECONDS):
                    await self._do[fault.kind](fault)
            except TimeoutError:
                self.complaints.append(f"a fault could not be done within {FAULT_SECONDS:g} s: {fault}")

    def _begins(self, kind: str, what: str) -> None:
        self.done[kind] += 1
        self._tell(what)

    async def _kill(self, fault: Fault) -> None:
        async with self._fleet.claim(fault.pick) as slot:
            slot.kill()
            slot.back_at = time.monotonic() + fault.seconds
            then = "" if fault.workers is None else f"; {fault.workers} workers from now on"
            self._begins("kill", f"SIGKILL of {slot.name}{then}")

    async def _freeze(self, fault: Fault) -> None:
        """SIGSTOP past the session time-out: when it wakes, its lanes are others', and it must write nothing."""
        async with self._fleet.claim(fault.pick, lambda slot: slot.lanes) as slot:
            assert slot.process is not None
            slot.process.send_signal(signal.SIGSTOP)
            self._begins("freeze", f"SIGSTOP of {slot.name} for {fault.seconds:.1f} s")
            try:
                moved = await self._until_moved(slot, fault.seconds)
            finally:
                slot.process.send_signal(signal.SIGCONT)
            self._tell(f"SIGCONT of {slot.name}: {moved}")
            await self._goes_on(slot, "SIGCONT")

    async def _until_moved(self, slot: Slot, seconds: float) -> str:
        """Waits so long, and then until others have lanes of a worker that cannot be heard: what it does with them."""
        lanes, began = slot.lanes, time.monotonic()
        while True:
            await asyncio.sleep(0.5)
            moved, waited = self._fleet.have_moved(lanes, slot), time.monotonic() - began
            if waited >= seconds and moved:
                return f"others have {moved} of its {len(lanes)} lanes after {waited:.1f} s"
            if waited >= seconds + PATIENCE:
                self.complaints.append(f"nobody has taken over a lane of {slot.name}")
                return "nobody has its lanes"

    async def _goes_on(self, slot: Slot, what: str) -> None:
        await asyncio.sleep(GOES_ON_SECONDS)
        if not slot.runs:
            self.complaints.append(f"{slot.name} did not outlive {what}")

    async def _kill_broker(self, fault: Fault) -> None:
        self._begins("broker", f"SIGKILL of the broker for {fault.seconds:.1f} s")
        await asyncio.to_thread(self._broker.kill)
        await asyncio.sleep(fault.seconds)
        began = time.monotonic()
        await asyncio.to_thread(self._broker.restart)
        self._tell(f"the broker is back after {time.monotonic() - began:.1f} s")

    async def _fill_disk(self, fault: Fault) -> None:
        """Not a byte more for snapshots: the worker says so and goes on, and writes them again once it can."""
        async with self._fleet.claim(fault.pick, _is_snapped) as slot:
            slot.disk.fill()
            self._begins("disk", f"full disk of {slot.name}")
            try:
                complaint = f"{slot.name} says nothing of its full disk"
                if await self._comes(slot, lambda: DISK_FULL in slot.log, complaint):
                    await asyncio.sleep(fault.seconds)
                    if not slot.runs:
                        self.complaints.append(f"{slot.name} did not outlive a full disk")
            finally:
                slot.disk.free()
            self._tell(f"{slot.name} said so {slot.log.count(DISK_FULL)} times; its disk has room again")
            before, complaint = slot.log.count(WRITTEN), f"{slot.name} writes no snapshots though its disk has room"
            await self._comes(slot, lambda: slot.log.count(WRITTEN) > before or not _is_snapped(slot), complaint)

    async def _damage(self, fault: Fault) -> None:
        """A worker whose snapshots are damaged comes back alone, so that it has to look at them: it takes longer."""
        async with self._fleet.claim_all() as slots:
            candidates = [slot for slot in slots if any(slot.disk.folder.rglob("*.snapshot"))]
            if not candidates:
                self.complaints.append("no worker has a snapshot that could be damaged")
                return
            await asyncio.gather(*(slot.end() for slot in slots))
            slot = candidates[fault.pick % len(candidates)]
            files = sorted(slot.disk.folder.rglob("*.snapshot"))
            for path in files:
                self._flip(path)
            self._begins("snapshot", f"{len(files)} snapshots of {slot.name} damaged while all workers are away")
            slot.start()
            complaint = f"{slot.name} does not take over all lanes"
            await self._comes(slot, lambda: len(slot.lanes) >= self._lanes, complaint)
            reported = sum(slot.log.count(words) for words in DAMAGED)
            if not reported:
                self.complaints.append(f"{slot.name} says nothing of its damaged snapshots")
            self._tell(f"{slot.name} has taken over all lanes, alone, and said {reported} times what it did not use")

    def _flip(self, path: object) -> None:
        """Turns bits anywhere in the file, its length unchanged."""
        with open(str(path), "r+b") as file:
            data = bytearray(file.read())
            for _ in range(3):
                data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
            file.seek(0)
            file.write(data)

    async def _cut(self, fault: Fault) -> None:
        """No word passes between one worker and the broker, neither way; what was on its way comes late."""
        proxied = self._fleet.slots[0]
        async with self._fleet.claim(0, lambda slot: slot is proxied and slot.lanes) as slot:
            held = self._proxy.held
            self._proxy.cut()
            self._begins("network", f"network of {slot.name} cut for {fault.seconds:.0f} s")
            try:
                moved = await self._until_moved(slot, fault.seconds)
            finally:
                self._proxy.mend()
            self._tell(f"network of {slot.name} is back: {moved}; {self._proxy.held - held} bytes come late")
            await self._goes_on(slot, "the cut of its network")

    async def _comes(self, slot: Slot, trace: Callable[[], bool], complaint: str) -> bool:
        """Waits for a trace of a fault, and complains where none comes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not trace():
                    if not slot.runs:
                        self.complaints.append(f"{slot.name} ended where that should be seen: {complaint}")
                        return False
                    await asyncio.sleep(0.2)
                return True
        self.complaints.append(complaint)
        return False
