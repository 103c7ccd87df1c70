"""The Faust app: what Faust does for sluice, and which of its options that takes.

Faust gives group membership and assignment, supervision and its command line. Records reach the lanes through the
transport `lanes://` (transport.py) and an ordinary agent for each input. Tasks that follow topics are started again
when they end. Nothing is decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import faust
import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from faust.app.base import BootStrategy
from faust.types import AppT

from ...codecs.errors import SluiceError
from ...codecs.notes import Signer
from ...streams.policy.policy import DEFAULT_POLICY, Policy
from ..kafka.connect import until_answered
from ..kafka.membership import Member
from ..kafka.packed_batches import EventDecoder
from ..kafka.polling import Fetched, fetch_bytes
from ..kafka.shared_clients import ClientPool, LogBounds, ReaderPool
from ..kafka.topics import topic_name
from ..kafka.transactions import GRACE_SECONDS
from ..kafka.transport import FAUST_LOG, LaneConsumer, Transport
from ..settings.process import now_ms, version
from ..settings.settings import Settings, bootstrap, secrets_of
from .checkpointing import Checkpoints, Retentions, Tips, checkpoints_of, follow, origin_of, worker_key
from .clocks import Clocks
from .folds import demand_grounded, folds
from .installation import Claimant, Identities, group_of, worker_name
from .interfaces import Fold, Meter
from .lane import Lane
from .lane_control import INITIAL_LIMIT, ConcurrencyLimiter
from .lanes import Lanes
from .ledger import KafkaLedger
from .policies import Exposures, PolicyFeed
from .replay import Restored
from .restore import Standby, Standbys
from .snapshots import SnapshotScheduler, SnapshotStore, SnapshotTurn
from .telemetry import Watch, group_topics
from .trust import Trust

FIRST_SECONDS: Final = 1.0
MOST_SECONDS: Final = 60.0
"""The pause doubles up to this; after a run that has lasted so long the first pause comes again."""

EXPECTED: Final = (SluiceError, KafkaError, OSError)
"""What ends a task and says all in a sentence: a broker that is away, a ledger that does not hold."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def supervised(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Runs something again and again until cancelled, with a pause after each end; `name` is what the log calls it."""
    task: Any = asyncio.current_task()
    loop, pause = asyncio.get_running_loop(), FIRST_SECONDS
    while True:
        begun_at, error = loop.time(), None
        try:
            await run()
        except Exception as failure:  # noqa: BLE001 -- whatever it is, nobody else would hear of it
            error = failure
        except asyncio.CancelledError as cancelled:
            if task.cancelling():
                raise
            error = cancelled  # what it awaited was cancelled, and not this task
        if loop.time() - begun_at >= MOST_SECONDS:
            pause = FIRST_SECONDS
        why = "it ended" if error is None else str(error) or repr(error)
        told = {"task": name, "error": why, "seconds": pause}
        if isinstance(error, EXPECTED):
            log.warning("a task of the worker ended: it begins again", **told)
        else:
            log.error("a task of the worker ended: it begins again", **told, exc_info=error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, MOST_SECONDS)


NEVER = 10**9
HEARTBEAT_SECONDS = 0.1
"""A rebalance begins, for everybody, once the last member has heard of it: all lanes stand still for so long."""
LANES_A_TURN = 16
"""So many lanes at the most come first to a take-over at a time: with hundreds, most of one is waiting."""
MAX_POLL_RECORDS = 4000
"""Of all partitions in one poll: a block's worth. More only lets the others wait longer for their turn."""


class FetchedSchema(faust.Schema[Any, Any]):
    """Ranges are no bytes: nothing is there to be decoded."""

    def loads_key(self, app: AppT, message: Any, **kwargs: Any) -> Any:
        """None: a range has no key of its own."""
        return None

    def loads_value(self, app: AppT, message: Any, **kwargs: Any) -> Any:
        """The range (`Fetched`), as it was fetched."""
        return message.value


class _Boot(BootStrategy):
    # Lanes have producers of their own; Faust's would only hold a connection.
    enable_kafka_producer = False


class App(faust.App):
    """Faust's app with the lanes.

    Attributes:
        physical, logical: the inputs' names on the broker by their logical ones, and back.
        fetch_bytes: how many bytes of one partition come in one answer at the most.
        signer: signs the lanes' claims and checkpoints; None before the start, and where there is no key.
        watched, watch: the logical names of the lane group's topics by their full ones, and what is seen of them.
        on_crashed: told, in the app's loop, why Faust or a lane has given up.
    """

    BootStrategy = _Boot
    logger = FAUST_LOG

    lanes: Lanes  # the lanes that are assigned to this worker
    standbys: Mapping[str, Standbys]  # by fold, the lanes that this worker only follows
    physical: dict[str, str]
    logical: dict[str, str]
    folds: dict[str, Fold]  # what folds each input, by logical name
    exactly_once: bool  # whether inputs are read committed, and blocks written in transactions
    settings: Settings  # as loaded
    fetch_bytes: int
    tips: Mapping[str, Tips]  # by fold, the newest checkpoint known of every lane
    policies: PolicyFeed  # those that were applied, for the lanes
    watched: dict[str, str]
    watch: Watch
    ledgers: Sequence[str]  # the ledgers' logical names
    policy: Policy  # what new ledgers start with
    identities: Identities  # the group, and which ledgers these are
    retentions: Retentions
    log_bounds: LogBounds  # asks where inputs and checkpoints begin and end
    readers: ReaderPool  # read ledgers and checkpoints for the lanes
    signer: Signer | None = None
    trust: Trust | None = None  # whose checkpoints count; None where there are to be none
    on_crashed: Callable[[BaseException], None] | None = None
    _following: tuple[asyncio.Task[None], ...] = ()

    def _new_transport(self) -> Any:
        # Not looked up by its URL, which the entry point is for: so it runs from a checkout too.
        return Transport(self.conf.broker_consumer, self)

    def _create_directories(self) -> None:
        """Nothing of Faust's is kept on disk: state is memory, and the ledger."""

    async def on_start(self) -> None:
        """The key first: lanes begin with it.

        Raises:
            UsageError: it cannot be read, or another one signed the ledger's checkpoints.
            UnreachableError: no broker answers in time.
        """
        # Without checkpoints no key is made for claims alone: they stand unsigned unless one is named.
        if self.settings.checkpoint_interval or (self.exactly_once and self.settings.key_file is not None):
            ledger_id = self.identities.id_of(self.settings, "ledger")
            key = partial(worker_key, self.settings, self.policy, ledger_id)
            self.signer = await until_answered(self.settings, key)
        self._follow()
        await super().on_start()

    def _follow(self) -> None:
        """Follows policies and checkpoints from now on, whatever ends one of them in between."""
        following: dict[str, Callable[[], Awaitable[None]]] = {"policies-follow": self.policies.run}
        if self.signer is not None and self.settings.checkpoint_interval:
            following["retentions-follow"] = self.retentions.follow
            self.trust = Trust(self.signer.verifier, self.policy, self.policies.newest_first)
            for fold in {fold.name: fold for fold in self.folds.values()}.values():
                ledger_id = self.identities.id_of(self.settings, fold.ledger)
                about = (self.tips[fold.name], self.trust, fold.ledger, fold.checkpoints, ledger_id)
                following[f"{fold.checkpoints}-follow"] = partial(follow, self.settings, *about)
        self._following = tuple(
            asyncio.create_task(supervised(name, run), name=name) for name, run in following.items()
        )

    async def on_stop(self) -> None:
        """Lanes first: what is in flight is committed while everything still runs."""
        await self.lanes.stop()
        for standbys in self.standbys.values():
            await standbys.stop()
        await self.readers.close()
        for task in self._following:
            task.cancel()
        await super().on_stop()

    @property
    def heights(self) -> Mapping[int, int]:
        """By lane that this worker follows, how far: that of the group that has most to fold comes first."""
        return dict(next(iter(self.standbys.values())).heights) if self.standbys else {}

    @property
    def behind(self) -> Mapping[int, int]:
        """By lane that this worker follows, how many blocks it lacks at most: of the group that lacks most.

        Of a lane that is not followed in every group, or not known to, nothing.
        """
        found = [standbys.behind for standbys in self.standbys.values()]
        common = set[int]().union(*found).intersection(*found)
        return {number: max(one[number] for one in found) for number in common}

    def decoder_of(self, partition: TopicPartition) -> EventDecoder:
        """How records of this partition become events of their lane."""
        topic = self.logical[partition.topic]
        fold = self.folds[topic]
        return EventDecoder(list(fold.inputs).index(topic), fold.event_for)

    def stand_by(self, numbers: list[int]) -> None:
        """The group's leader has said which lanes to stand by for; called in the app's loop."""
        if not self.should_stop:
            for standbys in self.standbys.values():
                standbys.assign(numbers)

    def fail(self, reason: BaseException) -> None:
        """The worker must not go on; called from the app's loop."""
        if self.on_crashed is not None:
            self.on_crashed(reason)
        else:
            self.add_future(self.crash(reason))

    def _crash(self, reason: BaseException) -> None:
        super()._crash(reason)
        if self.on_crashed is not None:  # called from the consumer's thread, too
            self.loop.call_soon_threadsafe(self.on_crashed, reason)


def create_app(
    settings: Settings,
    *,
    policy: Policy = DEFAULT_POLICY,
    on_fatal: Callable[[BaseException], None] | None = None,
    groups: Sequence[Fold] | None = None,
    identities: Identities | None = None,
    meter: Meter | None = None,
    clock: Callable[[], int] = now_ms,
    clocks: Clocks | None = None,
    between_blocks: Callable[[], None] = lambda: None,
    after_restore: Callable[[], None] = lambda: None,
) -> App:
    """The app of one worker, not started.

    Args:
        settings: as loaded.
        policy: starts a ledger that is new; a ledger that is there keeps the policy that it holds.
        on_fatal: told when a lane must not go on (by default the app crashes with that error), or when Faust crashes.
        groups: what the lanes fold, one lane of each for every partition number; by default all that there is.
        identities: the group, and which ledgers these are; None: as of a broker that tells no ids of topics.
        meter: told what the lanes do.
        clock: the wall clock, Unix ms.
        clocks: what the brokers say of it.
        between_blocks, after_restore: moments at which a lane has nothing in flight.

    Raises:
        UngroundedReturn: a fold declares an output grounded that no source leads to [C §2].
    """
    raised = settings.fold_version or 0
    running = folds(settings.partitioner, secrets_of(settings), raised) if groups is None else tuple(groups)
    demand_grounded(running)
    session = settings.session_timeout
    known = Identities(group_of(settings)) if identities is None else identities
    app = App(
        known.group,
        broker=";".join(f"lanes://{host}" for host in bootstrap(settings).split(",")),
        broker_client_id=settings.app_id,
        broker_max_poll_records=MAX_POLL_RECORDS,
        broker_check_crcs=settings.delivery == "exactly-once",
        consumer_group_instance_id=settings.instance,
        broker_session_timeout=session,
        broker_heartbeat_interval=min(HEARTBEAT_SECONDS, session / 4),
        broker_rebalance_timeout=max(10.0, session),
        broker_request_timeout=max(20.0, session + 5),
        broker_commit_every=NEVER,
        stream_wait_empty=False,
        stream_buffer_maxsize=4096,
        store="memory://",
        topic_disable_leader=True,
        topic_allow_declare=False,
        web_enabled=False,  # a small one of our own tells what probes need, and no more (probe_server.py)
        value_serializer="raw",
        key_serializer="raw",
    )
    app.settings, app.tips = settings, {fold.name: Tips(settings.partitions) for fold in running}
    app.retentions = Retentions(settings, {topic: None for fold in running for topic in fold.outputs})
    app.policy, app.identities = policy, known
    app.policies = PolicyFeed(settings, on_news=lambda: app.lanes.wake(), first=policy)
    app.exactly_once = settings.delivery == "exactly-once"
    app.physical = {topic: topic_name(settings, topic) for fold in running for topic in fold.inputs}
    app.logical = {name: topic for topic, name in app.physical.items()}
    app.folds = {topic: fold for fold in running for topic in fold.inputs}
    app.watched = {topic_name(settings, topic): topic for topic in group_topics(running, settings)}
    app.watch, app.ledgers = Watch(settings.partitions), sorted({fold.ledger for fold in running})
    app.fetch_bytes = fetch_bytes(len(app.physical) * settings.partitions)
    document = policy.document
    # Whatever is in order may take longer where the time-outs are longer.
    patience = max(settings.stall_timeout, settings.transaction_timeout + GRACE_SECONDS, 2 * session)

    turn = SnapshotTurn()

    def scheduler(
        fold: Fold, number: int, standby: Callable[[], Restored | None] = lambda: None
    ) -> SnapshotScheduler | None:
        if not (settings.snapshot_interval or settings.standby or settings.hand_over_blocks):
            return None
        folder = Path(settings.state_dir) / topic_name(settings, fold.ledger)
        ledger_id = known.ledgers.get(fold.ledger, "")
        store = SnapshotStore(folder, number, settings.partitions, fold.form, ledger_id)
        # A broker without transactions is the embedded one, which keeps nothing.
        every = settings.snapshot_interval or None
        return SnapshotScheduler(store, fold, every, standby, turn=turn, lasting=app.exactly_once)

    def checkpoints(fold: Fold, number: int) -> Checkpoints | None:
        if app.signer is None or not settings.checkpoint_interval:
            return None
        ledger_id = known.id_of(settings, fold.ledger)
        about = (app.trust, fold.ledger, fold.checkpoints, ledger_id, app.retentions, fold.outputs)
        return checkpoints_of(settings, app.signer, number, app.tips[fold.name], *about, app.log_bounds, app.readers)

    package = version()  # it is read from a file

    def claimant(fold: Fold, number: int) -> Claimant | None:
        if not app.exactly_once:
            return None
        log_name = origin_of(settings, number, fold.ledger, known.id_of(settings, fold.ledger))
        name = worker_name(settings.instance)
        return Claimant(number, log_name, name, package, app.signer, member, clock, settings.app_id)

    def member() -> Member:
        return cast(LaneConsumer, app.consumer).member()

    def make_standby(fold: Fold, number: int) -> Standby:
        kept = scheduler(fold, number)
        starts = kept.starts if kept is not None else lambda: iter(())
        return Standby(settings, fold, number, starts, between_blocks)

    exposures, turns, clients = Exposures(), ConcurrencyLimiter(), ClientPool()
    take_overs = ConcurrencyLimiter(max(INITIAL_LIMIT, settings.partitions * len(running) / LANES_A_TURN))
    app.readers = ReaderPool(settings)
    app.log_bounds = LogBounds(clients, committed=app.exactly_once)

    def make(fold: Fold, number: int) -> Lane:
        return Lane(
            number,
            settings.partitions,
            fold=fold,
            ledger=KafkaLedger(
                settings,
                number,
                fold.ledger,
                fold.name,
                known.id_of(settings, fold.ledger),
                clients,
                app.readers.reader,
            ),
            identity=known.of(settings, fold.ledger),
            inputs=cast(LaneConsumer, app.consumer),
            policy=document,
            max_block_wait=settings.max_block_wait,
            stops_on_loss=settings.on_lost_input == "stop",
            max_stall=policy.admissibility.max_stall / 1000,
            scheduler=scheduler(fold, number, lambda: app.standbys[fold.name].take(number)),
            checkpoints=checkpoints(fold, number),
            claimant=claimant(fold, number),
            policies=app.policies,
            exposures=exposures,
            meter=meter,
            clock=clock,
            clocks=clocks,
            turns=turns,
            take_overs=take_overs,
            between_blocks=between_blocks,
            after_restore=after_restore,
        )

    app.on_crashed = on_fatal
    app.lanes = Lanes(running, make, app.fail, stall_seconds=patience)
    begin = app.lanes.until_taken_over
    app.standbys = {fold.name: Standbys(partial(make_standby, fold), supervised, begin) for fold in running}

    async def receive(ranges: Any) -> None:
        """Hands each range to its lane; the lane's intake is where it waits."""
        async for event in ranges.events():
            fetched: Fetched = event.value
            app.lanes.offer(fetched)

    for topic, name in app.physical.items():
        app.agent(app.topic(name, schema=FetchedSchema(), allow_empty=True), name=f"lanes.{topic}")(receive)
    return app
