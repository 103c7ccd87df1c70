"""The Faust app: what Faust does for sluice, and which of its options that takes.

Faust gives group membership and assignment, supervision, the web server and its command line; records reach the lanes
through the transport `frames://` (transport.py) and an ordinary agent for each input. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import faust
from faust.app.base import BootStrategy
from faust.types import AppT

from ..streams.policy import DEFAULT_POLICY, Policy
from .contracts import Fold
from .folds import folds
from .intake import Frame
from .lane import Lane
from .lanes import Lanes
from .ledger import KafkaLedger, Ledger
from .settings import Settings, bootstrap
from .stateless import StatelessLedger
from .topics import topic_name
from .transport import FAUST_LOG, FrameConsumer, Transport

NEVER = 10**9
MAX_POLL_RECORDS = 4000
"""Of all partitions in one poll: a block's worth. More only lets the others wait longer for their turn."""


class FramesSchema(faust.Schema):
    """Frames are no bytes: nothing is there to be decoded."""

    def loads_key(self, app: AppT, message: Any, **kwargs: Any) -> Any:
        return None

    def loads_value(self, app: AppT, message: Any, **kwargs: Any) -> Any:
        return message.value


class _Boot(BootStrategy):
    # Lanes have producers of their own; Faust's would only hold a connection.
    enable_kafka_producer = False


class App(faust.App):
    """Faust's app with the lanes.

    Attributes:
        lanes: the lanes that are assigned to this worker.
        physical, logical: the inputs' names on the broker by their logical ones, and back.
        exactly_once: whether inputs are read committed, and blocks written in transactions.
        on_crashed: told, in the app's loop, why Faust or a lane has given up.
    """

    BootStrategy = _Boot
    logger = FAUST_LOG

    lanes: Lanes
    physical: dict[str, str]
    logical: dict[str, str]
    exactly_once: bool
    on_crashed: Callable[[BaseException], None] | None = None

    def _new_transport(self) -> Any:
        # Not looked up by its URL, which the entry point is for: so it runs from a checkout too.
        return Transport(self.conf.broker_consumer, self)

    def _create_directories(self) -> None:
        """Nothing of Faust's is kept on disk: state is memory, and the ledger."""

    async def on_stop(self) -> None:
        """Lanes first: what is in flight is committed while everything still runs."""
        await self.lanes.stop()
        await super().on_stop()

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
    between_blocks: Callable[[], None] = lambda: None,
    after_restore: Callable[[], None] = lambda: None,
) -> App:
    """The app of one worker, not started.

    Args:
        settings: as loaded.
        policy: starts a ledger that is new; a ledger that is there keeps the policy that it holds.
        on_fatal: told when a lane must not go on (by default the app crashes with that error), or when Faust crashes.
        groups: what the lanes fold, one lane of each for every partition number; by default all that there is.
        between_blocks, after_restore: moments at which a lane has nothing in flight.
    """
    running = folds(settings.partitioner) if groups is None else tuple(groups)
    session = settings.session_timeout
    app = App(
        settings.app_id,
        broker=";".join(f"frames://{host}" for host in bootstrap(settings).split(",")),
        broker_client_id=settings.app_id,
        broker_max_poll_records=MAX_POLL_RECORDS,
        broker_check_crcs=settings.delivery == "exactly-once",
        broker_session_timeout=session,
        broker_heartbeat_interval=min(1.0, session / 4),
        broker_rebalance_timeout=max(10.0, session),
        broker_request_timeout=max(20.0, session + 5),
        broker_commit_every=NEVER,
        stream_wait_empty=False,
        stream_buffer_maxsize=4096,
        store="memory://",
        topic_disable_leader=True,
        topic_allow_declare=False,
        web_enabled=settings.web_port is not None,
        web_port=settings.web_port or 6066,
        value_serializer="raw",
        key_serializer="raw",
    )
    app.exactly_once = settings.delivery == "exactly-once"
    app.physical = {topic: topic_name(settings, topic) for fold in running for topic in fold.inputs}
    app.logical = {name: topic for topic, name in app.physical.items()}
    document = policy.document

    def make(fold: Fold, number: int) -> Lane:
        return Lane(
            number,
            settings.partitions,
            fold=fold,
            ledger=_ledger(settings, fold, number),
            inputs=cast(FrameConsumer, app.consumer),
            policy=document,
            max_block_wait=settings.max_block_wait,
            between_blocks=between_blocks,
            after_restore=after_restore,
        )

    def crash(error: BaseException) -> None:
        app.add_future(app.crash(error))

    app.on_crashed = on_fatal
    app.lanes = Lanes(running, make, on_fatal or crash)

    async def receive(frames: Any) -> None:
        """Hands each frame to its lane; the lane's intake is where it waits."""
        async for event in frames.events():
            frame: Frame = event.value
            app.lanes.offer(frame)

    for topic, name in app.physical.items():
        app.agent(app.topic(name, schema=FramesSchema(), allow_empty=True), name=f"lanes.{topic}")(receive)
    return app


def _ledger(settings: Settings, fold: Fold, number: int) -> Ledger:
    if fold.stateless:
        return StatelessLedger(settings, fold.name, number, fold.inputs[0], fold.outputs[0])
    return KafkaLedger(settings, number)
