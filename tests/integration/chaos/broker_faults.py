"""What befalls brokers: how each fault is done, mended, and seen to have had its effect.

One at a time: the next one waits until every replica is up to date again and every lane has written further blocks, and
it is a complaint where that does not come. A fault that leaves no trace (no other node leads) is one as well.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from sluice.topology.engine.installation import producer_of

from .cluster import GROUP, TRANSACTIONS, ProxiedCluster, View
from .fleet import Fleet
from .load import Load
from .schedule import Fault
from .told import PATIENCE, Told

LEDGERS: Final = {"adjudicate": "ledger", "bind": "bind-ledger", "frame": "frame-ledger"}
OF_LANE: Final = (*LEDGERS.values(), "emissions", "observations", "attestations", "admitted", "grounded")
"""What of a lane an election moves."""
NODES: Final = 3
SOON_SECONDS: Final = 0.05
NEXT_SECONDS: Final = 0.5
STILL_SECONDS: Final = 2.0
SLOW_SECONDS: Final = (0.4, 0.1)
"""Of a node that is slow: how long it stands still, and how long it runs, in turn. Its session has 3 s."""


class BrokerFaults:
    """Faults of brokers, by kind (`doing`).

    Args:
        cluster, view: what is hit, and what it says of itself.
        fleet, load: the workers; who else writes.
        calm: held while a fault lasts.
        told: the books.
    """

    def __init__(
        self, cluster: ProxiedCluster, view: View, fleet: Fleet, load: Load, calm: asyncio.Lock, told: Told
    ) -> None:
        self._cluster, self._view, self._fleet, self._load = cluster, view, fleet, load
        self._calm, self._told = calm, told
        self._lanes = view.settings.partitions
        doing = {
            "leader": self._kill_leader,
            "take-over": self._kill_in_take_over,
            "frozen-leader": self._freeze_leader,
            "frozen-take-over": self._kill_beside_frozen,
            "follower": self._kill_follower,
            "slow-follower": self._slow_follower,
            "group": self._kill_group_coordinator,
            "transactions": self._kill_transaction_coordinator,
            "controller": self._kill_controller,
            "election": self._elect,
            "rolling": self._roll,
            "majority": self._kill_majority,
            "all-brokers": self._kill_all,
            "in-sync": self._demand_all_replicas,
            "open-transaction": self._leave_transaction_open,
        }
        self.doing: Mapping[str, Callable[[Fault], Awaitable[None]]] = {
            kind: self._calmly(kind, do) for kind, do in doing.items()
        }

    def _calmly(self, kind: str, do: Callable[[Fault], Awaitable[None]]) -> Callable[[Fault], Awaitable[None]]:
        async def one(fault: Fault) -> None:
            async with self._calm:
                await do(fault)
                await self._goes_on(kind)

        return one

    async def _goes_on(self, kind: str) -> None:
        """Waits until all replicas are up to date, and then until every lane has written further blocks."""
        began = time.monotonic()
        if not await self._until(self._is_whole, f"after {kind}, replicas do not come back"):
            return
        whole = time.monotonic() - began
        before = await self._view.ends("ledger")

        async def all_write() -> bool:
            now = await self._view.ends("ledger")
            return len(now) == self._lanes and all(end > before.get(place, -1) for place, end in now.items())

        if await self._until(all_write, f"after {kind}, some lane writes no more blocks"):
            self._told.tell(
                f"{kind}: whole after {whole:.1f} s, all lanes write {time.monotonic() - began:.1f} s after"
            )

    async def _is_whole(self) -> bool:
        found = await self._view.partitions(*OF_LANE)
        return len(found) == len(OF_LANE) * self._lanes and all(len(one.in_sync) == NODES for one in found.values())

    async def _until(self, holds: Callable[[], Awaitable[bool]], complaint: str) -> bool:
        end = time.monotonic() + PATIENCE
        while not await holds():
            if time.monotonic() > end:
                self._told.complain(complaint)
                return False
            await asyncio.sleep(NEXT_SECONDS)
        return True

    @asynccontextmanager
    async def _killed(self, *nodes: int) -> AsyncIterator[None]:
        """Nodes are killed, and come back at the end, however that comes."""
        try:
            await asyncio.gather(*(asyncio.to_thread(self._cluster.kill, node) for node in nodes))
            yield
        finally:
            began = time.monotonic()
            await asyncio.to_thread(self._cluster.start)
            self._told.tell(f"node {', '.join(map(str, nodes))} is back after {time.monotonic() - began:.1f} s")

    @asynccontextmanager
    async def _frozen(self, node: int) -> AsyncIterator[None]:
        self._cluster.signal(node, signal.SIGSTOP)
        try:
            yield
        finally:
            self._cluster.signal(node, signal.SIGCONT)

    async def _moved(self, what: str, node: int, ask: Callable[[], Awaitable[int | None]]) -> None:
        """Waits until what a node was, is another one."""

        async def elsewhere() -> bool:
            return await ask() not in (node, -1, None)

        await self._until(elsewhere, f"nobody became {what} in place of node {node}")

    async def _leader(self, topic: str, lane: int) -> int:
        return (await self._view.partition(topic, lane)).leader

    # ------------------------------------------------------------ who leads

    async def _kill_leader(self, fault: Fault) -> None:
        """Under load there is always a transaction on its way to it."""
        lane = fault.pick % self._lanes
        node = await self._leader("ledger", lane)
        self._told.begins("leader", f"SIGKILL of node {node}, which leads ledger/{lane}, for {fault.seconds:.1f} s")
        async with self._killed(node):
            await self._moved(f"leader of ledger/{lane}", node, lambda: self._leader("ledger", lane))
            await asyncio.sleep(fault.seconds)

    async def _kill_in_take_over(self, fault: Fault) -> None:
        """A worker is killed, and as soon as another has claimed a lane of it, so is the leader of that ledger."""
        async with self._fleet.claim(fault.pick, lambda slot: slot.lanes) as slot:
            lanes, before = slot.lanes, Counter(self._fleet.claims(slot))
            slot.kill()

            def claimed() -> list[tuple[str, int]]:
                return [lane for lane in Counter(self._fleet.claims(slot)) - before if lane in lanes]

            end = time.monotonic() + PATIENCE
            while not claimed():
                if time.monotonic() > end:
                    self._told.complain(f"nobody claims a lane of {slot.name}, which was killed")
                    return
                await asyncio.sleep(SOON_SECONDS)
            fold, lane = claimed()[0]
            ledger = LEDGERS[fold]
            node = await self._leader(ledger, lane)
            said = f"SIGKILL of node {node}, which leads {ledger}/{lane}, while {slot.name}'s lanes are taken over"
            self._told.begins("take-over", said)
            async with self._killed(node):
                await self._moved(f"leader of {ledger}/{lane}", node, lambda: self._leader(ledger, lane))
                complaint = f"nobody has all lanes of {slot.name}"
                await self._told.until(lambda: self._fleet.have_moved(lanes, slot) == len(lanes), complaint)
                await asyncio.sleep(fault.seconds)

    async def _freeze_leader(self, fault: Fault) -> None:
        """Past its session: another one leads, and when it wakes it believes for a moment that it still does."""
        lane = fault.pick % self._lanes
        node = await self._leader("ledger", lane)
        said = f"SIGSTOP of node {node}, which leads ledger/{lane}, for {fault.seconds:.1f} s"
        self._told.begins("frozen-leader", said)
        async with self._frozen(node):
            await asyncio.sleep(fault.seconds)
            await self._moved(f"leader of ledger/{lane}", node, lambda: self._leader("ledger", lane))

    async def _kill_beside_frozen(self, fault: Fault) -> None:
        """A worker is killed while a node stands still, until others have its lanes; how long those took is kept."""
        async with self._fleet.claim(fault.pick, lambda slot: slot.lanes) as slot:
            lanes = slot.lanes
            node = await self._leader("ledger", fault.pick % self._lanes)
            self._told.begins("frozen-take-over", f"SIGSTOP of node {node}, and SIGKILL of {slot.name}")
            async with self._frozen(node):
                since = self._fleet.take_overs()
                slot.kill()
                complaint = f"nobody has all lanes of {slot.name}"
                await self._told.until(lambda: self._fleet.have_moved(lanes, slot) == len(lanes), complaint)
                self._told.take_overs += since()
                await asyncio.sleep(fault.seconds)

    async def _elect(self, fault: Fault) -> None:
        """In order, as an operator balances a cluster: nothing is away, and everybody must find the new leaders."""
        lane = fault.pick % self._lanes
        places = {
            place: one for place, one in (await self._view.partitions(*OF_LANE)).items() if place.partition == lane
        }
        self._told.begins("election", f"the leaders of lane {lane}'s {len(places)} partitions move")
        for place, one in places.items():
            following = one.replicas[(one.replicas.index(one.leader) + 1 + fault.pick % 2) % len(one.replicas)]
            order = [following, *(node for node in one.replicas if node != following)]
            await self._view.move_leader(place, order)

        async def have_moved() -> bool:
            now = await self._view.partitions(*OF_LANE)
            return all(place in now and now[place].leader != one.leader for place, one in places.items())

        await self._until(have_moved, f"not all partitions of lane {lane} have another leader")

    # ------------------------------------------------------------ who follows

    async def _kill_follower(self, fault: Fault) -> None:
        lane = fault.pick % self._lanes
        one = await self._view.partition("ledger", lane)
        followers = [node for node in one.replicas if node != one.leader]
        node = followers[fault.pick // self._lanes % len(followers)]
        self._told.begins("follower", f"SIGKILL of node {node}, a follower of ledger/{lane}, for {fault.seconds:.1f} s")

        async def is_missed() -> bool:
            return node not in (await self._view.partition("ledger", lane)).in_sync

        async with self._killed(node):
            await self._until(is_missed, f"ledger/{lane} counts on node {node}, which is away")
            await asyncio.sleep(fault.seconds)

    async def _slow_follower(self, fault: Fault) -> None:
        """What all replicas must have waits for it: everything gets slow, and nothing ends."""
        lane = fault.pick % self._lanes
        one = await self._view.partition("ledger", lane)
        node = next(node for node in one.replicas if node != one.leader)
        said = f"node {node}, a follower of ledger/{lane}, runs a fifth of {fault.seconds:.1f} s"
        self._told.begins("slow-follower", said)
        still, running = SLOW_SECONDS
        end = time.monotonic() + fault.seconds
        while time.monotonic() < end:
            async with self._frozen(node):
                await asyncio.sleep(still)
            await asyncio.sleep(running)

    async def _demand_all_replicas(self, fault: Fault) -> None:
        """One replica is away, and all three are asked for: brokers refuse what lanes write, as long as that is so."""
        lane = fault.pick % self._lanes
        one = await self._view.partition("ledger", lane)
        node = next(node for node in one.replicas if node != one.leader)
        self._told.begins(
            "in-sync", f"node {node} is killed and ledgers ask for {NODES} replicas, {fault.seconds:.1f} s"
        )

        async def is_missed() -> bool:
            return all(node not in one.in_sync for one in (await self._view.partitions("ledger")).values())

        async with self._killed(node):
            try:
                await self._view.demand_replicas(tuple(LEDGERS.values()), NODES)
                # Until a leader misses the node it takes what is written, and tells of it once it does. A leader that
                # was elected since tells no end before all three are there (OFFSET_NOT_AVAILABLE).
                await self._until(is_missed, f"ledgers count on node {node}, which is away")
                await asyncio.sleep(STILL_SECONDS)
                before = await self._view.ends("ledger")
                await asyncio.sleep(fault.seconds)
                after = await self._view.ends("ledger")
                if any(end != after.get(place, end) for place, end in before.items()):
                    self._told.complain("ledgers are written though too few replicas are there")
            finally:
                await self._view.demand_replicas(tuple(LEDGERS.values()), None)

    # ------------------------------------------------------------ who coordinates

    async def _kill_coordinator(self, fault: Fault, kind: int, name: str, what: str) -> None:
        node = await self._view.coordinator(name, kind)
        self._told.begins(fault.kind, f"SIGKILL of node {node}, {what}, for {fault.seconds:.1f} s")
        async with self._killed(node):
            await self._moved(what, node, lambda: self._view.coordinator(name, kind))
            await asyncio.sleep(fault.seconds)

    async def _kill_group_coordinator(self, fault: Fault) -> None:
        group = (await self._view.identities()).group
        await self._kill_coordinator(fault, GROUP, group, "the group's coordinator")

    async def _kill_transaction_coordinator(self, fault: Fault) -> None:
        lane = fault.pick % self._lanes
        name = f"{producer_of((await self._view.identities()).ledgers['ledger'], 'adjudicate')}-{lane}"
        await self._kill_coordinator(fault, TRANSACTIONS, name, f"the coordinator of lane {lane}'s transactions")

    async def _kill_controller(self, fault: Fault) -> None:
        node = self._cluster.controller()
        if node is None:
            self._told.complain("no node knows the quorum's controller")
            return
        self._told.begins("controller", f"SIGKILL of node {node}, the quorum's controller, for {fault.seconds:.1f} s")

        async def controller() -> int | None:
            return self._cluster.controller()

        async with self._killed(node):
            await self._moved("the quorum's controller", node, controller)
            await asyncio.sleep(fault.seconds)

    # ------------------------------------------------------------ several nodes

    async def _roll(self, fault: Fault) -> None:
        """As an operator upgrades a cluster: one after the other, each once the one before is up to date."""
        self._told.begins("rolling", "all nodes are started again, in turn")
        for node in self._cluster.nodes:
            await asyncio.to_thread(self._cluster.restart, node)
            await self._until(self._is_whole, f"replicas do not come back after the restart of node {node}")

    async def _kill_majority(self, fault: Fault) -> None:
        """Nothing can be written: one node is left, which is no quorum, and one replica, which is too few."""
        nodes = [node for node in self._cluster.nodes if node != 1 + fault.pick % NODES]
        self._told.begins("majority", f"SIGKILL of nodes {nodes} for {fault.seconds:.1f} s")
        async with self._killed(*nodes):
            await asyncio.sleep(fault.seconds)

    async def _kill_all(self, fault: Fault) -> None:
        self._told.begins("all-brokers", f"SIGKILL of all nodes for {fault.seconds:.1f} s")
        async with self._killed(*self._cluster.nodes):
            await asyncio.sleep(fault.seconds)

    # ------------------------------------------------------------ other programs

    async def _leave_transaction_open(self, fault: Fault) -> None:
        """Readers of committed records see nothing behind it; then it is aborted."""
        self._told.begins("open-transaction", f"a transaction on observations stays open for {fault.seconds:.1f} s")
        await self._load.hang(fault.seconds)
