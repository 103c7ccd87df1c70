"""A lane: one partition number, from its inputs over blocks and the fold to its ledger and outputs.

*Theory of operation.* A lane is a fold with a ledger. `run` takes the lane over (fence the former owner, read the
ledger to its end, fold all of it, check the inputs, seek them to where the last block ended) and then closes block
after block: take what the intake holds now, fold it, commit block and outputs as one. While a transaction is in flight
further records pile up in the intake and make the next block, so blocks are as small as latency likes and as large as
the load asks.

Whatever fails is answered alike: what was not committed is aborted, the state is thrown away, and the lane takes itself
over again. There is no other path of recovery, and no position but the ledger's. The wall clock enters in one place:
the header's `time`.
"""

from __future__ import annotations

import asyncio
import time as clocks
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import Any, NamedTuple, cast

import msgspec
import structlog
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple, replace

from ...codecs.blocks import INPUT_KINDS, Event, EventKind, Output, Source, events_of_source, source_of, unseal
from ...codecs.errors import DoesNotHoldError
from ...codecs.ledger_statements import LedgerIdentity, claim_hash, identity_event, is_adoption, read_adoption
from ...streams.adjudication.state import MAX_TIMERS
from ...streams.adjudication.versions import number_of
from ...streams.policy.policy import HOUR, Policy
from ..kafka.membership import Member, NotAMemberError
from ..kafka.polling import Bounds, Fetched
from ..kafka.transactions import FencedError, TooLargeError, Written
from ..settings.process import now_ms
from .chain import BlockBuilder, ChainHead
from .checkpointing import Checkpoints
from .clocks import Clocks, Skew
from .installation import Claimant, Draft, demand_application
from .intake import Intake, Watermark
from .interfaces import Committed, Fold, Inputs, LaneStatus, Meter
from .lane_control import (
    FOLD_SECONDS,
    LATE_SECONDS,
    BlockSizer,
    ConcurrencyLimiter,
    Failures,
    LaneProgress,
    loss,
    place_of,
)
from .ledger import TOGETHER, Ledger
from .policies import TOPIC as POLICIES
from .policies import Applied, Exposures, PolicyFeed
from .replay import Restored
from .restore import KnownHeight, Patience, RemadeError, demand_same, positions_within, restore
from .snapshots import SnapshotScheduler

STOP_SECONDS = 2.0
"""What is in flight is waited for so long before it is aborted: a worker that is told to end has five in all."""
IDLE_SECONDS = 5.0
FEED_SECONDS = 0.2
AGAIN_SECONDS = 1.0
"""Where an input was made anew, it is looked at again after so long."""
LOOKS = 4
"""So often, that far apart, an input that ends before its position is looked at before that is believed."""
LAST_SECONDS = 1.0
"""A last checkpoint must be committed so soon after the lane was told to stop, or there is none."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Folded(NamedTuple):
    """A block that is sealed and folded, and not committed.

    Attributes:
        seconds: that sealing and folding it took.
    """

    data: bytes  # its bytes for the ledger
    outputs: list[Output]  # what it folds to
    after: ChainHead  # the tip once it is committed
    events: list[Event]  # what it holds
    seconds: float
    left_to_python: int  # how many events the compiled core left to Python, where it is in use


class Lane:
    """One lane. `run` is its only task; the other methods are called from the same event loop and never wait long.

    Invariant: `_state` is the fold of the ledger up to `_tip` whenever no block is being closed.
    """

    def __init__(
        self,
        number: int,
        lanes: int,
        *,
        fold: Fold,
        ledger: Ledger,
        inputs: Inputs,
        policy: bytes,  # the canonical document that starts a new ledger
        identity: LedgerIdentity | None = None,  # which ledger it is, and who writes it; None: it does not name itself
        max_block_wait: float = 0.05,  # seconds that a block stays open at the most
        stops_on_loss: bool = False,
        max_stall: float = HOUR / 1000,
        scheduler: SnapshotScheduler | None = None,  # of the lane's snapshots, where it has any
        checkpoints: Checkpoints | None = None,  # the lane's, where it writes any
        claimant: Claimant | None = None,  # drafts what the lane claims its ledger with, where it claims it
        policies: PolicyFeed | None = None,  # what comes into force while the lane runs
        exposures: Exposures | None = None,  # told which policy is in force
        meter: Meter | None = None,  # told what the lane does, where anybody counts it
        clock: Callable[[], int] = now_ms,  # the wall clock, Unix ms
        clocks: Clocks | None = None,
        turns: ConcurrencyLimiter | None = None,
        take_overs: ConcurrencyLimiter | None = None,  # which they take at being taken over; None as before
        between_blocks: Callable[[], None] = lambda: None,
        after_restore: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            number, lanes: this lane, and how many there are: the partition count.
            stops_on_loss: whether inputs that retention deleted unread end the lane, once the ledger says so.
            max_stall: seconds that blocks are waited for which the ledger had, where it has no policy that says so.
            clocks: of the worker, and what the brokers say of the time; None where they say nothing.
            turns: which the worker's lanes take at making blocks; None where there is no other lane.
            between_blocks, after_restore: moments at which nothing is in flight in this lane.
        """
        self.number, self._lanes = number, lanes
        self._fold, self._ledger, self._inputs = fold, ledger, inputs
        self._policy, self._policy_hash = policy, "sha256:" + sha256(policy).hexdigest()
        self._max_block_wait, self._clock, self._stops_on_loss = max_block_wait, clock, stops_on_loss
        self._max_stall, self._identity = max_stall, identity
        self._clocks, self._turns, self._take_overs = (
            clocks,
            turns or ConcurrencyLimiter(),
            take_overs or ConcurrencyLimiter(),
        )
        self._node: int | None = None  # the broker that stamped the last block
        self._between_blocks, self._after_restore = between_blocks, after_restore
        self._scheduler, self._checkpoints, self._feed, self._meter = scheduler, checkpoints, policies, meter
        self._exposures, self._claimant = exposures, claimant
        self._claim: str | UnsetType = UNSET  # under which it writes, since the last take-over
        self._member: Member | None = None  # in whose name the lane is ours
        self._exposed_by: Policy | None = None
        self.intake = Intake(fold.inputs)
        self._watermark, self._read_at = Watermark(fold.inputs), dict[str, int]()
        self._progress, self._block_sizer = LaneProgress(fold.inputs), BlockSizer()
        self._state: Any = None
        self._tip = ChainHead()
        self._tip_offset: int | None = None
        self.held = -1
        """The greatest height that was known to stand in the ledger: the lane never goes on from below."""
        self._waits_for = ""
        self._gaps: list[Event] = []
        self._unread: dict[str, tuple[int, int, DoesNotHoldError]] = {}
        self._ids: dict[str, str] = {}  # of the inputs, as blocks name them
        self._seen: dict[str, str] = {}  # as a broker has told them last
        self._remade = False
        """Whether an input is another topic than the ledger's: nothing is read until that is adopted."""
        self._gone: list[str] = []
        self._due: tuple[int | None, int | None] = (None, None)
        self._wake = asyncio.Event()
        self._stopping = self._suspended = self._check_tip = self._replace = False
        self._phase, self._skew = "taking-over", Skew()
        self._suspended_at, self._stopped_at, self._in_flight = 0.0, 0.0, False
        self._blocks = 0  # since the last take-over
        self._sent_at = 0.0  # `time.monotonic()` when the last block went to the broker

    # ------------------------------------------------------------ called by the owner

    @property
    def lane_id(self) -> tuple[str, int]:
        """The lane's name: that of its fold, and the partition number."""
        return self._fold.name, self.number

    @property
    def status(self) -> LaneStatus:
        tip, counters = self._tip, self._fold.counters(self._state) if self._state is not None else {}
        return LaneStatus(
            self._fold.name,
            self.number,
            self._phase,
            tip.height,
            tip.time,
            tip.watermark,
            self.intake.held,
            self._skew.milliseconds,
            counters,
            self.behind,
            self.intake.lag,
            self._read_at,
            self._waits_for,
            min((at for at in self._due if at is not None), default=None),
            None if self._scheduler is None else self._scheduler.written_at,
            self._scheduler is not None and self._scheduler.fails,
            None if self._checkpoints is None else self._checkpoints.time,
        )

    @property
    def blocks(self) -> int | None:
        """How many blocks the lane's state is of; None before it is restored."""
        return None if self._state is None else self._tip.height + 1

    @property
    def behind(self) -> float:
        """For how many seconds the lane has had something to do and has not got on with it."""
        if self._phase == "stopped":
            return 0.0
        intake, idle = self.intake, self._phase == "running" and not self._in_flight
        wanted, short = (list(filter(holds, intake.inputs)) for holds in (intake.wants, intake.is_short))
        return self._progress.behind(wanted, short, to_do=not idle or intake.count > 0 or bool(short))

    @property
    def positions(self) -> Mapping[str, int]:
        """The next offset of each input as the ledger has it; empty before the lane is taken over."""
        if self._state is None:
            return {}
        return {**self._tip.positions, **dict.fromkeys(self._tip.adopted, 0)}

    def offer(self, fetched: Fetched) -> None:
        """A range of one of the inputs has come."""
        if not self.intake.offer(fetched):
            log.warning("a range was lost on the way: seeking back", topic=fetched.topic, offset=fetched.start)
            self._replace = True
        elif fetched.epoch == self.intake.epoch:
            self._progress.came(fetched.topic)
        self._wake.set()

    def answered(self, topic: str, end: int, time: int, epoch: int, handed: int, high: int = 0) -> None:
        """A fetch answer told, at `time`, that an input ends at `end`: maybe earlier than it does (intake.py).

        Since the seek of `epoch` all before the offset `handed` has been handed on to this lane. What lies between
        `end` and the high watermark, `high`, is behind an open transaction: it cannot be read, and it lags.
        """
        self._progress.answered(topic, time)
        self.intake.ended(topic, end, high)
        self.intake.handed(topic, epoch, handed)
        if self.intake.positions[topic] >= max(end, high):
            self._read_at[topic] = time

    def asks(self) -> list[str]:
        """The inputs whose ends are to be asked for: those of which nothing comes, though there is more; and where
        something waits for evidence, all of which no end is known that was not reached."""
        if self._phase != "running" or self._suspended:
            return []
        if self._due[1] is None:
            return self._progress.lacking
        return self._watermark.asks(self.intake.positions)

    def ended(self, topic: str, end: int, asked: int) -> None:
        """An input's leader, asked at `asked`, says that it ends at `end`."""
        self._watermark.ended(topic, end, asked)
        if self._due[1] is not None:
            self._wake.set()

    def identified(self, ids: Mapping[str, str], gone: Collection[str] = ()) -> None:
        """Which topics the inputs are, as a broker says now; of one that it does not know it says nothing. And which
        topics are gone: without one that it writes to the lane fails. A lane without an input has no worker."""
        self._gone = [topic for topic in (*self._fold.outputs, self._fold.ledger) if topic in gone]
        if self._gone:
            self._wake.set()
        for topic in self.intake.inputs:
            if (found := ids.get(topic)) and found != self._seen.get(topic):
                self._seen[topic] = found
                self._replace = True
                self._wake.set()

    def lost(self, topic: str) -> None:
        """The broker no longer has the position at which an input was to be read."""
        log.warning("the broker has no such offset any more", topic=topic)
        self._replace = True
        self._wake.set()

    def unread(self, topic: str, epoch: int, offset: int, error: DoesNotHoldError) -> None:
        """An input cannot be read from `offset` on, in the seek of `epoch`: the lane ends once it has come so far."""
        self._unread[topic] = epoch, offset, error  # it may be told before the lane knows the epoch of its seek
        self._wake.set()

    def suspend(self) -> None:
        """The group is rebalancing: close no further block until told who owns the lane.

        What waits is forgotten: it will be fetched again, by us or by the next owner.
        """
        if not self._suspended:
            self._suspended, self._suspended_at = True, clocks.monotonic()
        self.intake.restart(-1, self.intake.positions, self.intake.blocked)
        self._wake.set()

    def resume(self) -> None:
        """The lane stays here after a rebalance: go on, if the ledger's tip is still our own."""
        if self._suspended:
            self._suspended, self._check_tip = False, True
            self._wake.set()

    def wake(self) -> None:
        """A policy was applied."""
        self._wake.set()

    def stop(self) -> None:
        """Close no further block of records; `run` returns once the one in flight is committed."""
        if not self._stopping:
            self._stopping, self._stopped_at = True, clocks.monotonic()
        self._wake.set()

    # ------------------------------------------------------------ the task

    async def run(self) -> None:
        """Runs the lane until `stop`.

        Raises:
            SluiceError: the lane must not run; the sentence says why. Somebody has to look.
            Exception: the same error came back `MAX_FAILURES` times without a block in between.
        """
        structlog.contextvars.bind_contextvars(lane=self.number, fold=self._fold.name)
        failures = Failures()
        try:
            while not self._stopping:
                self._blocks = 0
                try:
                    await self._take_over()
                    await self._close_blocks()
                    await self._checkpoint_at_the_end()
                    break
                except Exception as error:  # noqa: BLE001 -- what must not be retried is raised again
                    self._demand_topics()  # it says more than the time-out that comes of it
                    pause = failures.pause_after(error, self._blocks)
                await self._reset()
                self._phase = "waiting"
                await self._sleep(pause)
        finally:
            self._phase = "stopped"
            await self._reset()

    async def _reset(self) -> None:
        """Throws away what only the ledger may say."""
        self._state, self._waits_for = None, ""  # what is due stays due: it is told while the lane is away
        self._end_turn()
        self.intake.restart(-1, self.intake.positions, self.intake.positions)
        await self._ledger.close()

    async def _sleep(self, seconds: float) -> None:
        """Waits, or until told to stop, or until the group has confirmed that the lane is ours."""
        end = clocks.monotonic() + seconds
        while not (self._stopping or self._check_tip) and (left := end - clocks.monotonic()) > 0:
            await self._wait(left)

    async def _sit_out(self) -> None:
        """Waits for the end of a rebalance."""
        phase, self._phase = self._phase, "suspended"
        while self._suspended and not self._stopping:
            await self._wait(IDLE_SECONDS)
        self._phase = phase

    async def _wait(self, seconds: float) -> None:
        """Waits until something happens, or so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    # ------------------------------------------------------------ taking over

    async def _take_over(self) -> None:
        """Waits until the lane may be taken over, and does that."""
        self._phase = "taking-over"
        await self._sit_out()
        self._demand_topics()
        asked, began = clocks.monotonic(), None
        try:
            if await self._may_take_over():
                began = clocks.monotonic()
                await self._begin(asked)
        finally:
            now = clocks.monotonic()
            phase = cast("str", self._phase)  # by now `_begin` may have changed it
            seconds = now - began if began is not None and phase == "running" else None
            self._take_overs.end(self.lane_id, now, seconds)

    async def _may_take_over(self) -> bool:
        """Waits for the end of a rebalance, and for the lane's turn; False where it was told to stop before.

        Where many lanes come at once, they share processor and broker: all of them together would be ready at the very
        end. In turn, most stand still for a shorter time. A turn that takes longer than `LATE_SECONDS`, such as a long
        restore, counts no more.
        """
        while True:
            await self._sit_out()
            if self._stopping:  # it may be somebody else's by now: to open its ledger would fence them
                return False
            if self._take_overs.ask(self.lane_id, self._wake.set, clocks.monotonic()):
                return True
            self._progress.moved()  # to wait for the others is no standing still: their turns end, or count no more
            await self._wait(LATE_SECONDS)

    async def _begin(self, asked: float) -> None:
        """Opens the ledger, restores the state, seeks the inputs and begins: the order matters (docs/internals.md)."""
        self._check_tip = False
        draft = None if self._claimant is None else self._claimant.draft()  # who is no member must not even fence
        await self._ledger.open()
        self._progress.moved()
        # Nobody who had the lane before can commit a checkpoint any more: the last one is read beside the claim.
        reading = None if self._checkpoints is None else asyncio.create_task(self._checkpoints.begin())
        try:
            if draft is not None:
                await self._claim_with(draft)
                self._progress.moved()
            if reading is not None:  # before the standby's state is taken, which is gone if that fails
                await reading
                self._progress.moved()
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
        await self._restore()
        await self._sit_out()
        if self._stopping:
            return
        await self._place_inputs(self._tip.positions)
        if self._remade:
            return
        self._after_restore()
        for topic in self._fold.inputs:  # one that is never read to its end lags from now on
            self._read_at.setdefault(topic, self._clock())
        found: dict[str, Any] = {"policy": self._fold.policy_hash(self._state), "height": self._tip.height}
        if self._tip.height < 0:
            found = {"ledger": "new", **({"positions": positions} if (positions := dict(self._tip.positions)) else {})}
        seconds = clocks.monotonic() - asked
        if self._meter is not None:
            self._meter.restored(*self.lane_id, seconds)
        log.info("lane taken over", seconds=round(seconds, 3), **found)
        self._report_exposures()

    async def _claim_with(self, draft: Draft) -> None:
        """Writes that the lane is ours now; whatever any owner ever committed lies before that in the ledger."""
        sent = 0 if self._clocks is None else self._clocks.monotonic()
        try:
            written = await self._ledger.claim(draft.value, draft.member)
        except FencedError as error:
            if self._meter is not None:
                self._meter.aborted(*self.lane_id, error)
            raise
        self._claim, self._member = UNSET if written is None else claim_hash(draft.value), draft.member
        if written is not None:
            if self._meter is not None:
                self._meter.claimed(*self.lane_id)
            log.info("lane claimed", generation=draft.member.generation, offset=written.offset)
            self._heard(written, sent)

    def _heard(self, written: Written, sent: int) -> None:
        """The broker said what time it is for it, of what was sent at that monotonic instant."""
        if self._clocks is not None and written.appended_at is not None and written.node is not None:
            self._node = written.node
            self._clocks.broker_wrote(written.node, written.appended_at, sent)

    async def _restore(self) -> None:
        fold, scheduler, checkpoints, blocks = self._fold, self._scheduler, self._checkpoints, self._ledger.blocks
        starts = () if scheduler is None else scheduler.starts(self._progress.moved)
        if checkpoints is not None:
            blocks = checkpoints.held(blocks)
        held = KnownHeight(self.held, "what this worker held of it")
        if checkpoints is not None and checkpoints.height > held.height:
            held = KnownHeight(checkpoints.height, "its own checkpoint")
        patience = Patience(self._stall_seconds, self._waits)
        found = await restore(blocks, fold, self.number, self._lanes, self._ends_after_block, starts, held, patience)
        self._waits_for = ""
        if found is None:
            return
        self._demand_own(found.tip)
        if checkpoints is not None:
            checkpoints.hold(found.tip)
        self._state, self._tip, self._tip_offset = found
        self.held = max(self.held, self._tip.height)
        self._gaps, self._due = [], fold.next_due(self._state)
        self._watermark = Watermark(fold.inputs, self._tip.watermark)
        before, named = self._tip.fold, fold.named(self._state, self._tip.fold)
        if before and number_of(named) > number_of(before):
            log.warning("the ledger is raised to a later version of the fold", ledger=before, next=named)
        in_force = fold.policy_hash(self._state)
        if self._tip.height >= 0 and in_force != self._policy_hash:
            log.warning(
                "the ledger's policy is in force, not that of this worker's file",
                ledger=in_force,
                file=self._policy_hash,
            )

    def _demand_own(self, tip: ChainHead) -> None:
        """Demands that the ledger is the one that this worker's producer is named after, and its application's."""
        ours, path = self._identity, f"ledger of lane {self.number}"
        if ours is None:
            return
        if tip.ledger_id not in ("", ours.ledger_id):
            raise DoesNotHoldError(
                "the ledger is another one than when this worker was started",
                path=path,
                expected=ours.ledger_id,
                got=tip.ledger_id,
                hint="start the worker again",
            )
        demand_application(tip.app_id if tip.height >= 0 else self._ledger.begun_by, ours, path)

    def _renamed(self, time: int) -> list[Event]:
        """The event that the application has another name than the ledger says; none where it has not."""
        ours, before = self._identity, self._tip.app_id
        return [] if ours is None or before in ("", ours.app_id) else [identity_event(ours, before, time)]

    def _report_exposures(self) -> None:
        policy = self._fold.policy_in_force(self._state)
        if self._exposures is not None and policy is not None and policy is not self._exposed_by:
            self._exposed_by = policy
            self._exposures.log_once(policy)

    def _stall_seconds(self, state: Any) -> float:
        """For how long blocks are waited for that were there, by the policy in force as far as the ledger goes."""
        policy = self._fold.policy_in_force(state)
        return self._max_stall if policy is None else policy.admissibility.max_stall / 1000

    def _waits(self, error: DoesNotHoldError) -> None:
        """The ledger is too short: told while the lane waits, which is to get on."""
        self._waits_for = str(error)
        self._progress.moved()

    def _ends_after_block(self) -> bool:
        """Asked by the restore after each block: to read is to get on."""
        self._progress.moved()
        return self._stopping

    def _stayed_ours(self) -> bool:
        """Whether the group can have given the lane to nobody else since it was ours: there was one rebalance since.

        Then its ledger and inputs need not be read again, which would take longer than the rebalance. A worker that its
        group had replaced meanwhile has another member id. Where a broker forgets what it had, the next block is
        refused.
        """
        before = self._member
        if self._claimant is None or before is None:
            return False
        try:
            self._member = now = self._claimant.member()
        except NotAMemberError:
            return False
        return now == before._replace(generation=before.generation + 1)

    async def _tip_is_ours(self) -> bool:
        """Whether our last block is still the ledger's last one, and nobody has claimed the lane since."""
        if self._tip_offset is None:
            return False
        seen = False
        try:
            async with aclosing(self._ledger.blocks(self._tip_offset)) as blocks:
                async for _, data in blocks:
                    if unseal(data).hash != self._tip.hash:
                        return False
                    seen = True
        except FencedError:
            return False  # but the group has just said that the lane is ours
        return seen  # a ledger that gives nothing there was cut

    async def _place_inputs(self, before: Mapping[str, int]) -> None:
        """Checks what the inputs hold against the positions that the lane is at, and seeks there."""
        self._replace = False
        inputs, before = self._fold.inputs, dict(before)  # ranges that come meanwhile move the lane's own positions on
        known = self._known_ids()
        before.update(dict.fromkeys(self._tip.adopted, 0))
        bounds = await self._bounds(before, known)
        try:
            demand_same(bounds, known, self.number)
        except RemadeError as error:
            self._refuse(error, before)
            return
        self._remade = False
        self._ids = {topic: known.get(topic) or bounds[topic].id for topic in inputs}
        positions, gaps = positions_within(bounds, before, inputs, self.number, self._lanes, self._clock())
        self._gaps += gaps
        await self._seek(positions)

    async def _seek(self, positions: Mapping[str, int]) -> None:
        """Has the inputs read from here on."""
        blocked = {topic: self._blocked_at(topic, at) for topic, at in positions.items()}
        epoch = await self._inputs.place(self.number, positions)
        # Also where a rebalance began meanwhile: no range is taken then, but the positions are these.
        self.intake.restart(-1 if self._suspended else epoch, positions, blocked)
        self._progress.moved()
        self._progress.placed()
        self._phase, self._waits_for = "running", ""

    async def _bounds(self, before: Mapping[str, int], known: Mapping[str, str]) -> Mapping[str, Bounds]:
        """What the inputs hold.

        Where one ends before its position, a node that has not heard of a new topic yet may have told the old id, and
        another one the new topic's end: both are asked again for a while, before somebody is told of a cut topic.
        """
        looks = LOOKS
        while True:
            looks -= 1
            bounds = await self._inputs.bounds(self.number, self._fold.inputs)
            self._seen.update({topic: there.id for topic, there in bounds.items() if there.id})
            cut = [topic for topic, there in bounds.items() if before.get(topic, 0) > there.end]
            if not looks or not any(bounds[topic].id == known.get(topic) for topic in cut):
                return bounds
            self._progress.moved()
            await asyncio.sleep(AGAIN_SECONDS)

    def _known_ids(self) -> dict[str, str]:
        """The ids of the inputs that the ledger goes on with, by topic."""
        return {**self._tip.ids, **self._tip.adopted}

    def _refuse(self, error: RemadeError, before: Mapping[str, int]) -> None:
        """An input was made anew: nothing is read, and only what is applied is still taken in."""
        known = self._known_ids()
        self._ids = {topic: known.get(topic, "") for topic in self._fold.inputs}
        positions = {topic: self._blocked_at(topic, before.get(topic, 0)) for topic in self._fold.inputs}
        self.intake.restart(-1, positions, positions)
        self._gaps = []
        if not self._remade or self._waits_for != str(error):
            log.error("the lane does not read on", reason=str(error))
        self._remade, self._phase = True, "waiting"
        self._waits(error)
        self._progress.placed()

    def _blocked_at(self, topic: str, position: int) -> int:
        """Where the next block begins to read an input that is at this position."""
        return 0 if topic in self._tip.adopted else self._tip.positions.get(topic, position)

    async def _stand_by(self) -> None:
        """Between blocks: a rebalance is under way or over, or an input has to be sought anew."""
        if self._suspended:
            await self._sit_out()
            return
        if was_away := self._check_tip:
            self._check_tip = False
            if self._stayed_ours():
                if not (self._replace or self._remade):
                    await self._seek(dict(self.intake.positions))
                    self._tell_resumed()
                    return
            elif not await self._tip_is_ours():
                log.warning("somebody else has written to the ledger meanwhile: restoring")
                await self._reset()
                await self._take_over()
                return
        await self._place_inputs(self.intake.positions)
        if was_away:
            self._tell_resumed()

    def _tell_resumed(self) -> None:
        log.info("lane resumed", seconds=round(clocks.monotonic() - self._suspended_at, 3), height=self._tip.height)

    # ------------------------------------------------------------ blocks

    async def _close_blocks(self) -> None:
        """Closes block after block until told to stop."""
        if self._tip.height < 0 and self._feed is not None:  # what was applied before comes before the first record
            while not (self._feed.read_once.is_set() or self._stopping):
                await self._wait(FEED_SECONDS)
        await self._demand_time()
        if self._tip.height < 0 and not self._stopping:
            now = self._clock()
            began = [Event(EventKind.POLICY, 0, 0, now, [], None, self._policy)]
            if self._identity is not None:
                began.append(identity_event(self._identity, None, now))
            await self._commit(self._fold_next(now, 0, began))
        while not self._stopping:
            if self._suspended or self._check_tip or self._replace:
                self._end_turn()
                await self._stand_by()
                continue
            if self._remade:
                self._end_turn()
                await self._await_adoption()
                continue
            self._demand_topics()
            self._demand_readable()
            if self._has_lost():
                continue
            await self._demand_time()
            time = max(self._tip.time, self._clock())
            mark = self._watermark.at(self.intake.positions, time)
            if not self._has_block(time, mark):
                self._end_turn()
                if self._scheduler is not None and self._scheduler.waits:
                    self._scheduler.after_block(Restored(self._state, self._tip, self._tip_offset), self._wake.set)
                await self._wait(self._patience())
            elif self._turns.ask(self.lane_id, self._wake.set, clocks.monotonic()):
                await self._close_block(time, mark)
                self._end_turn(clocks.monotonic() - self._sent_at)
            else:
                await self._wait(LATE_SECONDS)

    def _has_block(self, time: int, mark: int) -> bool:
        """Whether there is anything that makes a block now."""
        return bool(
            self._gaps
            or self._renamed(time)
            or self._is_due(time, mark)
            or self._news()
            or self._is_checkpoint_due()
            or self._is_closing()
        )

    async def _close_block(self, time: int, mark: int) -> None:
        """Closes one block of what there is; what is there most urgently comes first."""
        overdue = self._is_due(time, mark) and self._is_overdue(time, mark)
        if self._gaps:  # first of all: the next block's offsets pass over what was lost, and it has to say so
            await self._close_gaps(time, mark, [] if overdue else self._taken())
        elif overdue:
            await self._commit(*self._fold_together(time, mark, lambda: self._is_overdue(time, mark)))
        elif renamed := self._renamed(time):
            log.warning("the application was renamed", was=self._tip.app_id)
            await self._commit(self._fold_next(time, mark, renamed))
        elif applied := self._applied(time):
            await self._commit(self._fold_next(time, mark, applied))
        elif self._checkpoints is not None and self._is_checkpoint_due():
            await self._checkpoint(self._checkpoints)
        elif self._is_closing():
            await self._commit(*self._fold_together(time, mark, self._fills_another, self._taken))
        else:
            await self._commit(self._fold_next(time, mark, []))

    def _end_turn(self, seconds: float | None = None) -> None:
        self._turns.end(self.lane_id, clocks.monotonic(), seconds)

    async def _await_adoption(self) -> None:
        """Takes in what was applied; looks again at the inputs after each of it, and once a while."""
        self._progress.moved()
        await self._demand_time()
        time = max(self._tip.time, self._clock())
        if applied := self._applied(time):
            await self._commit(self._fold_next(time, self._tip.watermark, applied))
        else:
            await self._wait(AGAIN_SECONDS)
        self._replace = True

    async def _demand_time(self) -> None:
        """Demands that this worker's clock may name a block's time (clocks.py)."""
        if self._clocks is not None:
            await self._clocks.demand(self._node)

    def _demand_topics(self) -> None:
        """Demands that no topic of the lane is gone."""
        if self._gone:
            raise DoesNotHoldError(
                f"the broker has no topic {', '.join(self._gone)} any more",
                path=f"lane {self.number} ({self._fold.name})",
                hint="`sluice topics create` makes it anew; the lane is tried again by itself",
            )

    def _demand_readable(self) -> None:
        """Demands that no input has been read to where it cannot be read; all that lies before stands in blocks."""
        for topic, (epoch, offset, error) in self._unread.items():
            if epoch == self.intake.epoch and self.intake.positions[topic] >= offset:
                raise error

    def _has_lost(self) -> bool:
        """Whether something that was handed on never came: then the inputs are sought back to."""
        lost = self.intake.lost()
        for topic, offset in lost.items():
            log.warning("a range was lost on the way: seeking back", topic=topic, offset=offset)
        self._replace = self._replace or bool(lost)
        return bool(lost)

    async def _close_gaps(self, time: int, mark: int, events: list[Event]) -> None:
        """Closes a block that names what retention has deleted unread, before these events."""
        lost, self._gaps = self._gaps, []
        await self._commit(self._fold_next(time, mark, [*lost, *events]))
        if self._stops_on_loss:
            raise loss(lost, self._fold.inputs, self.number, self._tip.height)

    def _taken(self) -> list[Event]:
        """What waits, as much of it as a block may hold."""
        self.intake.most = self._block_sizer.most
        return self.intake.take()

    def _is_checkpoint_due(self) -> bool:
        wait = self._until_checkpoint()
        return wait is not None and wait <= 0

    def _until_checkpoint(self) -> float | None:
        """Seconds until a checkpoint is due; None where none is. Lanes that wait to be taken over here come first."""
        wait = None if self._checkpoints is None else self._checkpoints.wait()
        return max(wait, LATE_SECONDS) if wait is not None and self._take_overs.waiting else wait

    def _news(self) -> Sequence[Applied]:
        """The policies and adoptions that were applied and that the ledger does not have yet."""
        return () if self._feed is None else self._feed.after(self._tip.positions.get(POLICIES, 0))

    def _applied(self, time: int) -> list[Event]:
        """The next policy or adoption that the ledger does not have yet: one a block, in the order of the topic."""
        place = len(self._fold.inputs)
        return [event for one in self._news()[:1] for event in self._taken_in(one, place, time)]

    def _taken_in(self, one: Applied, place: int, time: int) -> list[Event]:
        """What a block holds of a record that was applied.

        An adoption stands there as one where it counts and names what a broker tells us now; else like any record that
        is no policy. What the old topic still had is lost, nobody knows how much: a gap of no length says so.
        """
        event = Event(EventKind.POLICY, place, one.offset, one.timestamp, list(one.headers), one.key, one.document)
        if not is_adoption(one.key):
            return [event]
        if why := self._fold.refuses(self._state, event, time):
            log.error("a topic is not adopted", key=(one.key or b"").decode("ascii", "replace"), reason=why)
            return [event]
        adoption = read_adoption(one.key, one.document)
        topic, adopts = adoption.topic, replace(event, kind=EventKind.ADOPT)
        if topic not in self._fold.inputs or self._ids.get(topic) != adoption.was:
            return [adopts]  # another lane's, or of long ago: it means nothing here
        if self._seen.get(topic) != adoption.id:
            log.error("a topic is not adopted", topic=topic, adopted=adoption.id, seen=self._seen.get(topic))
            return [event]
        at = self._tip.positions.get(topic, 0)
        log.warning("a topic that was made anew is adopted", topic=topic, was=adoption.was, id=adoption.id, unread=at)
        gap = Event(EventKind.GAP, self._fold.inputs.index(topic), at, time, [], None, msgspec.json.encode(at))
        return [gap, adopts]

    def _sources(self, events: list[Event]) -> list[Source]:
        """How far each input has been read, and, from the first one that was applied on, the policies."""
        inputs = [
            source_of(topic, first, next, self._ids.get(topic, ""))
            for topic, first, next in map(astuple, self.intake.sources())
        ]
        first = self._tip.positions.get(POLICIES)
        taken = [event.offset for event in events_of_source(events, len(inputs))]
        if first is None and not taken:
            return inputs
        first = first or 0
        return [*inputs, Source(POLICIES, first, taken[-1] + 1 if taken else first)]

    def _is_due(self, time: int, mark: int) -> bool:
        at_time, at_mark = self._due
        return (at_time is not None and time >= at_time) or (at_mark is not None and mark >= at_mark)

    def _is_closing(self) -> bool:
        """Whether what waits is to be taken now: at once, unless the broker is known to hold more for this block."""
        intake = self.intake
        if not intake.count:
            return False
        if intake.full or not intake.more_is_there:
            return True
        return clocks.monotonic() - intake.since >= self._max_block_wait

    def _patience(self) -> float:
        """Seconds until something is due by the clock alone."""
        patience = IDLE_SECONDS
        if self._due[0] is not None:
            patience = min(patience, (self._due[0] - self._clock()) / 1000)
        if self.intake.count:
            patience = min(patience, self.intake.since + self._max_block_wait - clocks.monotonic())
        if (wait := self._until_checkpoint()) is not None:
            patience = min(patience, wait)
        if (wait := self.intake.lost_in) is not None:
            patience = min(patience, wait)
        return max(patience, 0.001)

    async def _checkpoint(self, checkpoints: Checkpoints) -> None:
        """Closes an empty block at the tip's own time, and with it, as one, a checkpoint of the ledger up to it."""
        folded = self._fold_next(self._tip.time, self._tip.watermark, [])
        if folded.outputs:  # of timers that the block before left over
            await self._commit(folded)
            checkpoints.postpone()
            return
        draft = checkpoints.draft(folded.after)
        await self._commit(folded._replace(outputs=[draft.output]))
        checkpoints.written(draft)

    async def _checkpoint_at_the_end(self) -> None:
        """A last one, where the lane ends in order, there is news, and it takes no time worth speaking of.

        Not where a rebalance is under way: the lane may be somebody else's by now.
        """
        checkpoints, left = self._checkpoints, self._stopped_at + LAST_SECONDS - clocks.monotonic()
        if self._phase != "running" or self._suspended or self._check_tip or self._gaps or left <= 0:
            return
        if checkpoints is None or checkpoints.wait() is None:
            return
        try:
            async with asyncio.timeout(left):
                await self._checkpoint(checkpoints)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the next owner begins from the ledger
            log.info("no last checkpoint: the next owner will write one", error=str(error) or repr(error))

    def _is_overdue(self, time: int, mark: int) -> bool:
        """Whether more timers are due than one block fires: then they are settled before records are taken."""
        return self._fold.due(self._state, time, mark) > MAX_TIMERS

    def _fills_another(self) -> bool:
        """Whether what waits fills a block more."""
        return self.intake.full and not self._unread

    def _fold_together(
        self, time: int, mark: int, goes_on: Callable[[], bool], take: Callable[[], list[Event]] = list
    ) -> list[Folded]:
        """Seals and folds blocks of one time to be committed as one, while `goes_on` says that there is enough for one
        more.

        Nothing is awaited, and so nothing new can be said, before the last of them is folded.
        """
        began = clocks.thread_time()
        folded = [self._fold_next(time, mark, take())]
        while (
            len(folded) < TOGETHER
            and clocks.thread_time() - began < FOLD_SECONDS
            and not self._block_sizer.is_careful
            and goes_on()
        ):
            folded.append(self._fold_next(time, mark, take(), folded[-1].after))
        return folded

    def _fold_next(self, time: int, mark: int, events: list[Event], head: ChainHead | None = None) -> Folded:
        """Seals and folds the next block; `head`: behind this one, which is not committed.

        From here on the state is ahead of the ledger: after an exception the caller must restore.
        """
        began, worked, state = clocks.monotonic(), clocks.thread_time(), self._state
        # Made for this one block: what is not committed is thrown away with it.
        builder = BlockBuilder(self._fold, self.number, self._lanes, self._policy_hash, state, head or self._tip)
        snapshot = (self._scheduler and self._scheduler.news()) or UNSET
        header = builder.header(time, mark, events, self._sources(events), snapshot, self._claim)
        _, data, outputs, after = builder.close(
            header, events, checked=True
        )  # what no reader would take: never written
        self._block_sizer.folded(len(events), clocks.thread_time() - worked)
        slow: int = getattr(state, "left_to_python", 0)  # of a fold that has a compiled core
        return Folded(data, outputs, after, events, clocks.monotonic() - began, slow)

    async def _commit(self, *blocks: Folded) -> None:
        """Commits blocks with their outputs as one; then, and only then, the lane's tip is the last of them."""
        self._in_flight, began, after = True, clocks.monotonic(), blocks[-1].after
        self._sent_at = began
        sent = 0 if self._clocks is None else self._clocks.monotonic()
        try:
            written = await self._write(blocks)
        except Exception as error:
            if self._meter is not None:
                self._meter.aborted(*self.lane_id, error)
            if isinstance(error, TooLargeError):
                records = [event for one in blocks for event in one.events if event.kind in INPUT_KINDS]
                places = [place_of(event, self._fold.inputs, self.number) for event in records]
                self._block_sizer.refused(error, places, after.height, len(blocks))
            raise
        finally:
            self._in_flight = False
        if self._meter is not None:
            seconds = clocks.monotonic() - began
            for data, outputs, head, events, fold_seconds, slow in blocks:
                done = (self._fold.inputs, events, len(data), outputs, fold_seconds, seconds, slow)
                self._meter.committed(*self.lane_id, Committed(head.height, head.time, *done))
        self._block_sizer.passed()
        self._progress.moved()
        self._tip, self._tip_offset = after, written.offset
        self.held = max(self.held, after.height)
        self._blocks += len(blocks)
        self._due = self._fold.next_due(self._state)
        self._skew.update(self._clock(), written.appended_at)
        self._heard(written, sent)
        if self._scheduler is not None:
            self._scheduler.after_block(Restored(self._state, after, written.offset), self._wake.set)
        if self._checkpoints is not None:
            self._checkpoints.after_block(after)
        self._report_exposures()
        self._between_blocks()

    async def _write(self, blocks: Sequence[Folded]) -> Written:
        """Has the ledger write blocks as one; where the last of them went."""
        if len(blocks) == 1:
            return await self._ledger.write(blocks[0].data, blocks[0].outputs)
        return (await self._ledger.write_together([(one.data, one.outputs) for one in blocks]))[-1]
