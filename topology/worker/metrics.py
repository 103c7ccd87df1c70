"""What a worker counts, for Prometheus (docs/metrics.md): told by lanes block by block, and read off them at a scrape.

Counters of fates (late, unmatched, live assertions …) are the ledger's own, so they go on where another worker takes
the lane over; what is counted here begins with the process. Nothing is decided here.
"""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...codecs.blocks import INPUT_KINDS, Output, by_topic, stretches
from ...codecs.statuses import count_told, told_in
from ...streams.adjudication.outputs import DEAD_LETTERS, VERDICTS
from ..kafka.transactions import FencedError
from .interfaces import PHASES, Committed, LaneStatus
from .watching import Watch

OF_LANE = ("fold", "lane")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
RECORDS = (1, 10, 50, 100, 250, 500, 1000, 2000, 4000)
BLOCK_SIZES = (1e3, 1e4, 5e4, 1e5, 2.5e5, 5e5, 9e5, 2e6, 4e6)

_LIVE = frozenset({"lives", "waiting"})
"""Of a fold's counters, what can fall."""


class Metrics:
    """The metrics of one process, in a registry of their own. Implements `interfaces.Meter`.

    Args:
        lanes: each lane that is here, as it stands; asked at every scrape.
        clock: Unix milliseconds.
        is_member: whether the consumer group has this worker; asked at every scrape.
        wanted: how many lanes the whole installation has.
        topics: what is seen of the topics; None where nothing looks.
        certificates: by name, when each expires, Unix seconds; asked at every scrape.
    """

    def __init__(
        self,
        lanes: Callable[[], Sequence[LaneStatus]],
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        *,
        is_member: Callable[[], bool] = lambda: False,
        wanted: int = 0,
        topics: Callable[[], Watch | None] = lambda: None,
        certificates: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, (*OF_LANE, *labels), registry=registry)

        def histogram(name: str, text: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(name, text, OF_LANE, buckets=buckets, registry=registry)

        self._inputs = counter("sluice_inputs", "Records taken into blocks", "topic")
        self._outputs = counter("sluice_outputs", "Records written", "topic", "status", "reason")
        self._dead = counter("sluice_dead_letters", "Inputs that became dead letters", "reason")
        self._claims = counter("sluice_claims", "Claims written: how often this worker became the lane's owner")
        self._fenced = counter("sluice_fenced", "Blocks and claims refused because another worker owns the lane")
        self._aborted = counter("sluice_aborted_transactions", "Blocks that were not committed")
        self._python = counter("sluice_left_to_python", "Events that the compiled core, where it is, left to Python")
        self._block_records = histogram("sluice_block_records", "Records of a block", RECORDS)
        self._block_bytes = histogram("sluice_block_bytes", "Bytes of a block, before compression", BLOCK_SIZES)
        self._fold = histogram("sluice_fold_seconds", "Sealing and folding a block", SECONDS)
        self._commit = histogram("sluice_commit_seconds", "Writing a block with its outputs", SECONDS)
        self._recovery = histogram(
            "sluice_recovery_seconds", "Taking a lane over, until it runs", (*SECONDS, 30, 60, 300)
        )
        registry.register(_OfLanes(lanes, clock, is_member, wanted))
        registry.register(_OfTopics(topics, certificates, clock))

    def committed(self, fold: str, lane: int, block: Committed) -> None:
        lane_id = (fold, str(lane))
        tally = _inputs_of(block)
        for source, count in tally.items():
            self._inputs.labels(*lane_id, block.inputs[source]).inc(count)
        for (topic, status, reason), count in _kinds_of(block.outputs).items():
            if topic == DEAD_LETTERS:
                self._dead.labels(*lane_id, reason).inc(count)
            else:
                self._outputs.labels(*lane_id, topic, status, reason).inc(count)
        self._block_records.labels(*lane_id).observe(sum(tally.values()))
        self._block_bytes.labels(*lane_id).observe(block.byte_count)
        self._python.labels(*lane_id).inc(block.left_to_python)
        self._fold.labels(*lane_id).observe(block.fold_seconds)
        self._commit.labels(*lane_id).observe(block.commit_seconds)

    def restored(self, fold: str, lane: int, seconds: float) -> None:
        lane_id = (fold, str(lane))
        self._recovery.labels(*lane_id).observe(seconds)
        for counter in (self._fenced, self._aborted):
            counter.labels(*lane_id)  # from 0 on: an increase from nothing is seen by nobody

    def claimed(self, fold: str, lane: int) -> None:
        self._claims.labels(fold, str(lane)).inc()

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        self._aborted.labels(fold, str(lane)).inc()
        if isinstance(error, FencedError):
            self._fenced.labels(fold, str(lane)).inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self.registry)


def kind_of(output: Output) -> tuple[str, str, str]:
    """An output's topic, status and reason; empty where it has none."""
    if output.topic == DEAD_LETTERS:
        reason = next((value for name, value in output.headers if name == "sluice-reason"), b"")
        return output.topic, "", reason.decode()
    if output.topic == VERDICTS:
        return output.topic, "", ""  # of a whole emission: each of its assertions has a status of its own
    status, reason = told_in(output.value)
    return output.topic, status.decode(), reason.decode()


def _kinds_of(outputs: Sequence[Output]) -> Mapping[tuple[str, str, str], int]:
    """How many outputs there are of which kind."""
    kinds: Tally[tuple[str, str, str]] = Tally()
    for topic, some in by_topic(outputs).items():
        if topic == VERDICTS:
            kinds[topic, "", ""] += len(some)
        elif topic == DEAD_LETTERS:
            kinds.update(map(kind_of, some))
        else:
            for (status, reason), count in count_told(some).items():
                kinds[topic, status.decode(), reason.decode()] += count
    return kinds


def _inputs_of(block: Committed) -> Mapping[int, int]:
    """How many inputs there are of which source."""
    found = stretches(block.events, len(block.inputs))
    if found is None:  # somebody else's order, as tests have it
        return Tally(event.source for event in block.events if event.kind in INPUT_KINDS)
    return {source: stretch.inputs for source, stretch in enumerate(found) if stretch.inputs}


class _OfLanes(Collector):
    """What is read off the lanes at a scrape."""

    def __init__(
        self,
        lanes: Callable[[], Sequence[LaneStatus]],
        clock: Callable[[], int],
        is_member: Callable[[], bool],
        wanted: int,
    ) -> None:
        self._lanes, self._clock, self._is_member, self._wanted = lanes, clock, is_member, wanted

    def collect(self) -> Iterable[Metric]:
        """Returns what a scrape gets. The series without a lane are there also while no lane is."""
        states = Tally(one.phase for one in self._lanes())
        by_state = GaugeMetricFamily("sluice_lanes", "Lanes of this worker by their state", labels=["state"])
        for state in PHASES:
            by_state.add_metric([state], states[state])
        member = GaugeMetricFamily("sluice_member", "Whether the consumer group has this worker", self._is_member())
        wanted = GaugeMetricFamily("sluice_lanes_wanted", "Lanes of the whole installation", self._wanted)
        return by_state, member, wanted, *self._of_each()

    def _of_each(self) -> Iterable[Metric]:
        lag = GaugeMetricFamily("sluice_lag_records", "Offsets that are in no block", labels=[*OF_LANE, "topic"])
        late = GaugeMetricFamily(
            "sluice_lag_seconds", "Since when an input has not been read to its end", labels=[*OF_LANE, "topic"]
        )
        overdue = GaugeMetricFamily(
            "sluice_overdue_seconds", "Age of the oldest due timer that is not committed", labels=OF_LANE
        )
        snapshot = GaugeMetricFamily(
            "sluice_snapshot_age_seconds", "Of the newest snapshot written here", labels=OF_LANE
        )
        unsaved = GaugeMetricFamily("sluice_snapshot_failing", "Whether the last snapshot failed", labels=OF_LANE)
        checkpoint = GaugeMetricFamily("sluice_checkpoint_age_seconds", "Of the newest checkpoint", labels=OF_LANE)
        live = GaugeMetricFamily("sluice_live_assertions", "Assertions in the state", labels=OF_LANE)
        waiting = GaugeMetricFamily("sluice_waiting_evidence", "Observations without their emission", labels=OF_LANE)
        held = GaugeMetricFamily("sluice_held_bytes", "Bytes fetched and in no block", labels=OF_LANE)
        height = GaugeMetricFamily("sluice_height", "Of the lane's last block", labels=OF_LANE)
        running = GaugeMetricFamily("sluice_running", "Whether the lane closes blocks", labels=OF_LANE)
        recovering = GaugeMetricFamily("sluice_recovering", "Whether the lane is being taken over", labels=OF_LANE)
        failed = GaugeMetricFamily("sluice_failed", "Whether the lane was given up, to be tried again", labels=OF_LANE)
        stalled = GaugeMetricFamily("sluice_stalled_seconds", "Without progress, though there is work", labels=OF_LANE)
        skew = GaugeMetricFamily("sluice_clock_skew_seconds", "Ahead of the broker's clock", labels=OF_LANE)
        fates = CounterMetricFamily(
            "sluice_fates", "Inputs by their named counter, since the ledger began", labels=[*OF_LANE, "fate"]
        )
        now = self._clock()
        for one in self._lanes():
            lane_id = [one.fold, str(one.lane)]
            for topic, count in one.lag.items():
                lag.add_metric([*lane_id, topic], count)
            for topic, read_to in one.read_to.items():
                late.add_metric([*lane_id, topic], max(0, now - read_to) / 1000)
            overdue.add_metric(lane_id, 0 if one.due is None else max(0, now - one.due) / 1000)
            if one.snapshot_at is not None:
                snapshot.add_metric(lane_id, max(0, now - one.snapshot_at) / 1000)
            unsaved.add_metric(lane_id, one.snapshot_fails)
            if one.checkpoint_at is not None:
                checkpoint.add_metric(lane_id, max(0, now - one.checkpoint_at) / 1000)
            live.add_metric(lane_id, one.counters.get("lives", 0))
            waiting.add_metric(lane_id, one.counters.get("waiting", 0))
            held.add_metric(lane_id, one.held)
            height.add_metric(lane_id, one.height)
            running.add_metric(lane_id, one.phase == "running")
            recovering.add_metric(lane_id, one.phase == "taking-over")
            failed.add_metric(lane_id, one.phase == "failed")
            stalled.add_metric(lane_id, one.behind)
            skew.add_metric(lane_id, one.skew / 1000)
            for fate, count in one.counters.items():
                if fate not in _LIVE:
                    fates.add_metric([*lane_id, fate], count)
        of_time = (lag, late, overdue, snapshot, unsaved, checkpoint)
        return *of_time, live, waiting, held, height, running, recovering, failed, stalled, skew, fates


class _OfTopics(Collector):
    """What is read, at a scrape, off the topics below the lanes, and off the certificates that lead there."""

    def __init__(
        self,
        topics: Callable[[], Watch | None],
        certificates: Callable[[], Mapping[str, float]],
        clock: Callable[[], int],
    ) -> None:
        self._topics, self._certificates, self._clock = topics, certificates, clock

    def collect(self) -> Iterable[Metric]:
        topics = self._topics()
        counts = GaugeMetricFamily("sluice_topic_partitions", "Partitions; 0 of a topic that is gone", labels=["topic"])
        wanted = GaugeMetricFamily("sluice_topic_partitions_wanted", "Partitions that each topic has to have")
        starts = GaugeMetricFamily(
            "sluice_log_start_offset", "The first offset that a ledger keeps", labels=["topic", "lane"]
        )
        if topics is not None:
            wanted.add_metric((), topics.partitions)
            for topic, count in topics.counts.items():
                counts.add_metric([topic], count)
            for (topic, lane), start in topics.starts.items():
                starts.add_metric([topic, str(lane)], start)
        expiry = GaugeMetricFamily(
            "sluice_certificate_expiry_seconds",
            "Until a certificate of the way to Kafka expires",
            labels=["certificate"],
        )
        ends = dict(self._certificates())
        if topics is not None and topics.certificate_end is not None:
            ends["broker"] = topics.certificate_end
        for name, end in ends.items():
            expiry.add_metric([name], end - self._clock() / 1000)
        return counts, wanted, starts, expiry
