"""What the adapter counts, for Prometheus (docs/metrics.md): told by server and door as they go, read off the view.

All counters begin with the process. How the view stands is read from its file at each scrape, so a process that only
reads what another one keeps tells the same. No label holds a word of a stranger, a token or a question: tools are ours,
outcomes and reasons are the lists below. Nothing is decided here.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple, get_args

from mcp.shared.exceptions import MCPError
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...codecs.errors import DoesNotHoldError, SluiceError, UnreachableError
from ...streams.attestations.composition import Verdict
from ..settings.clock import now_ms
from .adapter import STALE_SECONDS
from .adapter_view import BEHIND, TOPICS
from .readers import NotReady, Readers

SECONDS: Final = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)

Outcome = Literal["answered", "not-ready", "not-found", "wrong", "unreachable", "refused", "cancelled", "failed"]
Refusal = Literal["host", "origin", "rate", "token", "scope", "size", "time", "sessions"]


class Request:
    """One request under way; `outcome` is what becomes of it."""

    def __init__(self) -> None:
        self.outcome: Outcome = "answered"

    def ended(self, error: SluiceError) -> None:
        """It is answered with an error."""
        if isinstance(error, NotReady):
            self.outcome = "not-ready"
        elif isinstance(error, DoesNotHoldError):
            self.outcome = "not-found"
        else:
            self.outcome = "unreachable" if isinstance(error, UnreachableError) else "wrong"


class ViewFigures(NamedTuple):
    """How the view stood when it was looked at.

    Attributes:
        attestations: that stand, by their verdict.
        assertions: by `admitted` and `refused`.
        caught_up_at: up to when it is known to be complete, Unix ms; None before it first was.
        behind: by topic, how many offsets are not in it.
    """

    attestations: Mapping[str, int]
    assertions: Mapping[str, int]
    caught_up_at: int | None
    behind: Mapping[str, int]


class AdapterMetrics:
    """The metrics of one process of the adapter, in a registry of their own.

    Args:
        readers: of the view, apart from those that answer questions; None: nothing is known of it.
        sessions: how many sessions over HTTP are open; asked at every scrape.
        refused_records: by topic, records that were not fit to be shown; likewise.
        now: Unix milliseconds.
    """

    def __init__(
        self,
        readers: Readers | None = None,
        sessions: Callable[[], int] = int,
        refused_records: Mapping[str, int] | None = None,
        now: Callable[[], int] = now_ms,
    ) -> None:
        self._readers = readers
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "sluice_adapter_requests",
            "Tools called and resources read",
            ["tool", "outcome"],
            registry=registry,
        )
        self._seconds = Histogram(
            "sluice_adapter_answer_seconds", "Answering a request", ["tool"], buckets=SECONDS, registry=registry
        )
        self._refusals = Counter(
            "sluice_adapter_refusals", "Requests over HTTP that were turned away", ["reason"], registry=registry
        )
        for reason in get_args(Refusal):
            self._refusals.labels(reason)  # from 0 on: an increase from nothing is seen by nobody
        self._view = _OfView(sessions, Tally() if refused_records is None else refused_records, now)
        registry.register(self._view)

    @contextmanager
    def request(self, tool: str) -> Iterator[Request]:
        """Counts and times a request, however it ends. `tool` is a name of ours: a tool's, `resources` or `another`."""
        request, began = Request(), time.perf_counter()
        try:
            yield request
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                request.outcome = "cancelled"
            elif request.outcome == "answered":
                request.outcome = "wrong" if isinstance(error, MCPError) else "failed"
            raise
        finally:
            self._requests.labels(tool, request.outcome).inc()
            if request.outcome == "answered":  # errors come at once, and would make answers look quick
                self._seconds.labels(tool).observe(time.perf_counter() - began)

    def refused(self, reason: Refusal) -> None:
        """A request over HTTP was turned away."""
        self._refusals.labels(reason).inc()

    async def text(self) -> bytes:
        """Everything, in Prometheus' text format, with the view as it stands now."""
        self._view.seen = None
        if self._readers is not None:
            try:
                self._view.seen = await self._readers.ask(_seen)
            except UnreachableError:
                pass  # there is none yet, which is told as not caught up
        return generate_latest(self.registry)


def _seen(db: sqlite3.Connection) -> ViewFigures:
    """Counted by indexes alone: the rows are large."""
    about = dict(db.execute("SELECT name, value FROM about"))
    holding: int = db.execute("SELECT count(*) FROM assertions WHERE holds").fetchone()[0]
    decided: int = db.execute("SELECT count(*) FROM assertions").fetchone()[0]
    verdicts = db.execute("SELECT verdict, count(*) FROM attestations WHERE standing GROUP BY verdict")
    at = about.get("caught_up_at")
    return ViewFigures(
        {verdict: count for verdict, count in verdicts if verdict in get_args(Verdict)},
        {"admitted": holding, "refused": decided - holding},
        None if at is None else int(at),
        {topic: int(about[BEHIND + topic]) for topic in TOPICS if BEHIND + topic in about},
    )


class _OfView(Collector):
    """What is read off the view and the transport at a scrape."""

    def __init__(self, sessions: Callable[[], int], refused: Mapping[str, int], now: Callable[[], int]) -> None:
        self._sessions, self._refused, self._now = sessions, refused, now
        self.seen: ViewFigures | None = None

    def collect(self) -> Iterable[Metric]:
        attestations = GaugeMetricFamily(
            "sluice_adapter_attestations", "Attestations that stand in the view", labels=["verdict"]
        )
        assertions = GaugeMetricFamily(
            "sluice_adapter_assertions", "Assertions that the view holds a verdict on", labels=["status"]
        )
        records = GaugeMetricFamily("sluice_adapter_lag_records", "Offsets that are not in the view", labels=["topic"])
        seconds = GaugeMetricFamily("sluice_adapter_lag_seconds", "Since when the view has not been complete")
        ready = GaugeMetricFamily("sluice_adapter_caught_up", "Whether questions are answered from the view")
        sessions = GaugeMetricFamily("sluice_adapter_sessions", "Sessions over HTTP", value=self._sessions())
        unfit = CounterMetricFamily(
            "sluice_adapter_refused_records", "Records that are not fit to be shown", labels=["topic"]
        )
        for topic in TOPICS:
            unfit.add_metric([topic], self._refused.get(topic, 0))
        late: float | None = None
        if (seen := self.seen) is not None:
            for verdict, count in sorted(seen.attestations.items()):
                attestations.add_metric([verdict], count)
            for status, count in seen.assertions.items():
                assertions.add_metric([status], count)
            for topic, count in seen.behind.items():
                records.add_metric([topic], count)
            if seen.caught_up_at is not None:
                late = max(0, self._now() - seen.caught_up_at) / 1000
                seconds.add_metric([], late)
        ready.add_metric([], late is not None and late <= STALE_SECONDS)
        return attestations, assertions, records, seconds, ready, sessions, unfit
