"""What a worker reports: metrics (docs/metrics.md), traces, and problems of its topics (docs/faults.md).

Metrics are counted block by block and read off the lanes at a scrape. A producer's `traceparent` goes on to what its
emission led to (W3C Trace Context, OpenTelemetry). Every two seconds a broker is asked which topics exist, how many
partitions each has, and where the ledgers of the lanes here begin; a problem is logged when it begins and ends, and
`/readyz` and the metrics show it as long as it lasts.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import time_ns
from typing import Any

import structlog
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, TracerProvider
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...codecs.blocks import INPUT_KINDS, Output, by_topic, count_told, stretches, told_in
from ...codecs.errors import UsageError
from ...streams.adjudication.outputs import DEAD_LETTERS, VERDICTS, traceparent_of
from ..kafka.requests import TopicNow
from ..kafka.topics import TOPICS
from ..kafka.transactions import FencedError
from ..settings.process import DISTRIBUTION
from ..settings.settings import Settings
from .interfaces import PHASES, Committed, Fold, LaneStatus, Meter
from .stored_topics import beheaded

GONE_LOOKS = 2
"""So many answers in a row must say that a topic is not there: a broker that has just started may not know it yet."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def group_topics(folds: Sequence[Fold], settings: Settings) -> list[str]:
    """Returns the logical names of all topics of the lane group, which have one number of partitions, in order."""
    found = {topic for fold in folds for topic in (*fold.inputs, *fold.outputs, fold.ledger)}
    if settings.checkpoint_interval:
        found |= {fold.checkpoints for fold in folds}
    return sorted(topic for topic in found if TOPICS[topic].partitions is None)


class Watch:
    """The topics of the lane group as brokers told them last.

    Args:
        partitions: how many each of them has to have.

    Attributes:
        counts: the partitions of each topic that was seen, by logical name; 0 of one that is gone.
        starts: the first offset that each ledger here keeps, by the ledger's logical name and the partition.
        certificate_end: when a broker's certificate expires, Unix seconds; None where none was seen.
        problems: a sentence for each thing that is wrong; empty where nothing is.
    """

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.counts: dict[str, int] = {}
        self.starts: Mapping[tuple[str, int], int] = {}
        self.certificate_end: float | None = None
        self.problems: tuple[str, ...] = ()
        self._missed: dict[str, int] = {}

    def saw(
        self,
        topics: Mapping[str, TopicNow],
        starts: Mapping[tuple[str, int], int],
        certificate_end: float | None = None,
    ) -> None:
        """A broker answered.

        `topics` is what it said, by logical name: of a topic that it said nothing of, what was known stays. `starts`
        are the first offsets of the ledgers of the lanes here, `certificate_end` when its certificate expires, Unix
        seconds.
        """
        self.certificate_end = certificate_end
        for topic, now in topics.items():
            self._missed[topic] = 0 if now.partitions else self._missed.get(topic, 0) + 1
            if now.partitions or self._missed[topic] >= GONE_LOOKS:
                self.counts[topic] = now.partitions
        self.starts = dict(starts)
        self._tell()

    @property
    def gone(self) -> frozenset[str]:
        """The topics that are not there any more, by logical name."""
        return frozenset(topic for topic, count in self.counts.items() if not count)

    def _tell(self) -> None:
        told = [
            sentence_of(topic, count, self.partitions)
            for topic, count in sorted(self.counts.items())
            if count != self.partitions
        ]
        told += [str(beheaded(ledger, lane, at)) for (ledger, lane), at in sorted(self.starts.items()) if at > 0]
        before, self.problems = self.problems, tuple(told)
        for problem in self.problems:
            if problem not in before:
                log.error("a topic is not as the lanes need it", problem=problem)
        for problem in before:
            if problem not in self.problems:
                log.info("a topic is again as the lanes need it", was=problem)


def sentence_of(topic: str, count: int, partitions: int) -> str:
    """Returns what is wrong with a topic that has so many partitions (0: it is gone) where the ledger has `partitions`:
    `topic` and `count`.
    """
    if not count:
        return f"the broker has no topic {topic} any more; `sluice topics create` makes it anew"
    wrong = f"{topic} has {count} partitions (expected {partitions})"
    if count > partitions and TOPICS[topic].role == "input":
        return f"{wrong}: what lies in the others is not read; `sluice topics drain` moves it to where lanes read it"
    return f"{wrong}: the number never changes within a ledger"


OF_LANE = ("fold", "lane")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
RECORDS = (1, 10, 50, 100, 250, 500, 1000, 2000, 4000)
BLOCK_SIZES = (1e3, 1e4, 5e4, 1e5, 2.5e5, 5e5, 9e5, 2e6, 4e6)

_LIVE = frozenset({"lives", "waiting"})
"""Of a fold's counters, what can fall."""


class Metrics:
    """The metrics of one process, in a registry of their own. Implements `interfaces.Meter`.

    Args:
        is_member: whether the consumer group has this worker; asked at every scrape.
        certificates: by name, when each expires, Unix seconds; asked at every scrape.
    """

    def __init__(
        self,
        lanes: Callable[[], Sequence[LaneStatus]],  # each lane that is here, as it stands; asked at every scrape
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,  # Unix milliseconds
        *,
        is_member: Callable[[], bool] = lambda: False,
        wanted: int = 0,  # how many lanes the whole installation has
        topics: Callable[[], Watch | None] = lambda: None,  # what is seen of the topics; None where nothing looks
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
        gauges = [(GaugeMetricFamily(name, text, labels=OF_LANE), value_of) for name, text, value_of in _GAUGES]
        fates = CounterMetricFamily(
            "sluice_fates", "Inputs by their named counter, since the ledger began", labels=[*OF_LANE, "fate"]
        )
        now = self._clock()
        for lane in self._lanes():
            lane_id = [lane.fold, str(lane.lane)]
            for topic, count in lane.lag.items():
                lag.add_metric([*lane_id, topic], count)
            for topic, read_to in lane.read_to.items():
                late.add_metric([*lane_id, topic], _age(read_to, now) or 0)
            for gauge, value_of in gauges:
                if (value := value_of(lane, now)) is not None:
                    gauge.add_metric(lane_id, value)
            for fate, count in lane.counters.items():
                if fate not in _LIVE:
                    fates.add_metric([*lane_id, fate], count)
        return lag, late, *(gauge for gauge, _ in gauges), fates


def _age(since: int | None, now: int) -> float | None:
    """Seconds; None where nothing began."""
    return None if since is None else max(0, now - since) / 1000


_GAUGES: Sequence[tuple[str, str, Callable[[LaneStatus, int], float | None]]] = (
    (
        "sluice_overdue_seconds",
        "Age of the oldest due timer that is not committed",
        lambda lane, now: _age(lane.due, now) or 0,
    ),
    (
        "sluice_snapshot_age_seconds",
        "Of the newest snapshot written here",
        lambda lane, now: _age(lane.snapshot_at, now),
    ),
    ("sluice_snapshot_failing", "Whether the last snapshot failed", lambda lane, _: lane.snapshot_fails),
    ("sluice_checkpoint_age_seconds", "Of the newest checkpoint", lambda lane, now: _age(lane.checkpoint_at, now)),
    ("sluice_live_assertions", "Assertions in the state", lambda lane, _: lane.counters.get("lives", 0)),
    ("sluice_waiting_evidence", "Observations without their emission", lambda lane, _: lane.counters.get("waiting", 0)),
    ("sluice_held_bytes", "Bytes fetched and in no block", lambda lane, _: lane.held),
    ("sluice_height", "Of the lane's last block", lambda lane, _: lane.height),
    ("sluice_running", "Whether the lane closes blocks", lambda lane, _: lane.phase == "running"),
    ("sluice_recovering", "Whether the lane is being taken over", lambda lane, _: lane.phase == "taking-over"),
    ("sluice_failed", "Whether the lane was given up, to be tried again", lambda lane, _: lane.phase == "failed"),
    ("sluice_stalled_seconds", "Without progress, though there is work", lambda lane, _: lane.behind),
    ("sluice_clock_skew_seconds", "Ahead of the broker's clock", lambda lane, _: lane.skew / 1000),
)
"""The gauges of a lane: name, description, and the value by its status and the time (Unix ms); None leaves it out."""


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


VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
FLUSH_MS = 1_000
"""What is left at the end may take so long: a worker that is told to end has five seconds in all."""

_SAMPLED = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f][13579bdf]")


class Traces:
    """Makes the spans of a worker's lanes. Implements `interfaces.Meter`.

    The SDK's `provider` decides what is exported, and where to; `clock` gives Unix nanoseconds.
    """

    def __init__(self, provider: TracerProvider, clock: Callable[[], int] = time_ns) -> None:
        self._tracer, self._clock = provider.get_tracer("sluice"), clock

    def committed(self, fold: str, lane: int, block: Committed) -> None:
        traced = [(output, parent) for output in block.outputs if (parent := _parent(output)) is not None]
        if not traced:
            return
        arrived = {header: event.timestamp for event in block.events if (header := traceparent_of(event)) is not None}
        now = self._clock()
        for output, (header, parent) in traced:
            topic, status, reason = kind_of(output)
            attributes: dict[str, Any] = {
                "messaging.system": "kafka",
                "messaging.destination.name": topic,
                "messaging.destination.partition.id": str(lane),
                "sluice.emission_id": (output.key or b"").partition(b"#")[0].decode("utf-8", "replace"),
                "sluice.height": block.height,
                **({"sluice.status": status} if status else {}),
                **({"sluice.reason": reason} if reason else {}),
            }
            start = min(arrived.get(header, block.time) * 1_000_000, now)
            span = self._tracer.start_span(
                f"{topic} {status}".rstrip(),
                trace.set_span_in_context(NonRecordingSpan(parent)),
                kind=SpanKind.PRODUCER,
                attributes=attributes,
                start_time=start,
            )
            span.end(now)

    def restored(self, fold: str, lane: int, seconds: float) -> None:
        """No span: nobody's trace led to it."""

    def claimed(self, fold: str, lane: int) -> None:
        """No span: no record came of it."""

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        """No span: nothing was written."""


class Meters:
    """Several that count as one. Implements `interfaces.Meter`."""

    def __init__(self, meters: Sequence[Meter]) -> None:
        self._meters = meters

    def committed(self, fold: str, lane: int, block: Committed) -> None:
        for meter in self._meters:
            meter.committed(fold, lane, block)

    def restored(self, fold: str, lane: int, seconds: float) -> None:
        for meter in self._meters:
            meter.restored(fold, lane, seconds)

    def claimed(self, fold: str, lane: int) -> None:
        for meter in self._meters:
            meter.claimed(fold, lane)

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        for meter in self._meters:
            meter.aborted(fold, lane, error)


def provider_of(variables: Mapping[str, str] = os.environ) -> Any:
    """The SDK's provider as OpenTelemetry's variables configure it; None where they name no place to export to.

    Raises:
        UsageError: they do, and the SDK is not installed.
    """
    if not any(variables.get(name) for name in VARIABLES) or variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as SdkProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise UsageError(
            "traces are to be exported, but the SDK is not installed",
            path=VARIABLES[0],
            hint=f'run pip install "{DISTRIBUTION}[otel]", or unset the variable',
        ) from None
    named = {} if variables.get("OTEL_SERVICE_NAME") else {"service.name": "sluice"}
    provider = SdkProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _parent(output: Output) -> tuple[bytes, SpanContext] | None:
    """The `traceparent` of an output and what it says, where its trace is sampled."""
    header = next((value for name, value in output.headers if name == "traceparent"), b"")
    found = _SAMPLED.fullmatch(header)
    if found is None:
        return None
    trace_id, span_id = int(found[1], 16), int(found[2], 16)
    return header, SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
