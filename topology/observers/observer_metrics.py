"""What the observers count, for Prometheus (docs/metrics.md): told by the service as it goes, read off it at a scrape.

All of it begins with the process. Nothing is decided here, and no label holds a word of a stranger: classes are those
of the vocabulary, outcomes those of an observation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, get_args

from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...codecs.records import Observation

Result = Literal["looked-at", "left-to-the-lane", "passed-over"]
"""How an emission ends: what does not decode is left to the lane, and what fails is passed over."""
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class ObserverMetrics:
    """The metrics of one process of observers, in a registry of their own. Safe in the threads that look.

    Args:
        lag: for each partition that is here, how many records of it are not done; asked at every scrape.
        in_flight: how many emissions are under way; likewise.
    """

    def __init__(
        self,
        lag: Callable[[], Mapping[TopicPartition, int]] = dict,
        in_flight: Callable[[], int] = int,
    ) -> None:
        self.registry = registry = CollectorRegistry()
        self._emissions = Counter("sluice_observer_emissions", "Emissions that are done", ["result"], registry=registry)
        self._observations = Counter(
            "sluice_observer_observations", "Observations stored", ["class", "outcome"], registry=registry
        )
        self._look = Histogram(
            "sluice_observer_look_seconds", "Looking at one class", ["class"], buckets=SECONDS, registry=registry
        )
        for result in get_args(Result):
            self._emissions.labels(result)  # from 0 on: an increase from nothing is seen by nobody
        registry.register(_OfService(lag, in_flight))

    @contextmanager
    def looking(self, name: str) -> Generator[None, None, None]:
        """Times a look at one class, however it ends."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._look.labels(name).observe(time.perf_counter() - began)

    def stored(self, observations: Sequence[Observation]) -> None:
        """Observations were acknowledged by the broker."""
        for one in observations:
            self._observations.labels(one.substrate_class, one.outcome).inc()

    def done(self, result: Result) -> None:
        """An emission needs no look of ours any more."""
        self._emissions.labels(result).inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self.registry)


class _OfService(Collector):
    """What is read off the service at a scrape."""

    def __init__(self, lag: Callable[[], Mapping[TopicPartition, int]], in_flight: Callable[[], int]) -> None:
        self._lag, self._in_flight = lag, in_flight

    def collect(self) -> Iterable[Metric]:
        behind = GaugeMetricFamily("sluice_observer_lag_records", "Emissions that are not done", labels=["partition"])
        for place, count in self._lag().items():
            behind.add_metric([str(place.partition)], count)
        under_way = GaugeMetricFamily("sluice_observer_in_flight", "Emissions under way", value=self._in_flight())
        return behind, under_way
