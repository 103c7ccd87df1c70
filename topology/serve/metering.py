"""What the service counts, for Prometheus (docs/metrics.md).

No label holds a word of a stranger: routes, topics, outcomes and reasons are lists of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS: Final = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
Turned = Literal["host", "origin", "rate", "token", "scope", "size", "time", "busy"]
Fate = Literal["stored", "repeated", "invalid", "conflict", "busy", "away", "denied"]


class ServiceMetrics:
    """The metrics of one process of the service, in a registry of their own.

    Args:
        held: how many records wait for Kafka; asked at every scrape.
        streams: how many streams of verdicts are open; likewise.
    """

    def __init__(self, held: Callable[[], float] = int, streams: Callable[[], float] = int) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter("sluice_serve_requests", "Answered requests", ["route", "status"], registry=registry)
        self._seconds = Histogram(
            "sluice_serve_answer_seconds", "Answering a request", ["route"], buckets=SECONDS, registry=registry
        )
        self._records = Counter("sluice_serve_records", "Posted records", ["topic", "outcome"], registry=registry)
        self._turned = Counter(
            "sluice_serve_refusals", "Requests that were turned away at the door", ["reason"], registry=registry
        )
        for reason in get_args(Turned):
            self._turned.labels(reason)
        waiting = Gauge("sluice_serve_held_records", "Records that wait for Kafka", registry=registry)
        waiting.set_function(held)
        Gauge("sluice_serve_streams", "Streams of verdicts that are open", registry=registry).set_function(streams)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is a template of ours."""
        self._requests.labels(route, str(status)).inc()
        if not route.endswith("/events"):  # a stream lasts as long as its client likes
            self._seconds.labels(route).observe(seconds)

    def records(self, topic: str, fate: Fate, count: int = 1) -> None:
        """What became of posted records."""
        self._records.labels(topic, fate).inc(count)

    def turned_away(self, reason: Turned) -> None:
        """A request did not get through the gate."""
        self._turned.labels(reason).inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self.registry)
