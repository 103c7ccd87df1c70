"""What the measured figures say about one another: ratios, and whether the goals are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from measuring import Result

FAMILIES = {
    "kafka_streams": "kafka_streams_exactly_once",
    "quix_streams": "quix_streams",
    "bytewax": "bytewax",
    "plain_faust": "plain_faust",
    "aiokafka_floor": "aiokafka_floor",
    "librdkafka_floor": "librdkafka_floor",
}
"""The ratio's name, by the family that sluice is held against."""


class Goal(NamedTuple):
    """What a figure should be; `figure` is None where it was not measured."""

    name: str
    figure: float | None
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether it is; None where that is not known."""
        if self.figure is None:
            return None
        return (self.least is None or self.figure >= self.least) and (self.most is None or self.figure <= self.most)

    @property
    def wanted(self) -> str:
        """In words."""
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"


def best(results: Mapping[str, Result], family: str) -> Result | None:
    """The fastest setting of a family among those that let everything through, or where none did, among all.

    A contestant that lost something is still worth being compared with; the table says what it lost.
    """
    ran = [result for result in results.values() if result.family == family and not result.failed]
    whole = [result for result in ran if result.complete]
    return max(whole or ran, key=lambda result: result.inputs_per_second, default=None)


def ratios(
    results: Mapping[str, Result], audits: Mapping[str, float], commands: Mapping[str, float]
) -> dict[str, float | None]:
    """sluice's best rate over each family's best, None where either was not measured.

    Args:
        results: by name.
        audits: inputs a second of the audit, by the name of the run whose ledger it read; on the clock that the runs
            have, without start-up.
        commands: the same from the command's call on.

    Returns:
        By name; besides `audit_over_live` (best audit over best live rate), `audit_command_over_live` (its start-up
        included) and `kafka_streams_cpu` (CPU an input of sluice's best over that of Kafka Streams' best).
    """
    ours = best(results, "sluice")
    found: dict[str, float | None] = {}
    for family, name in FAMILIES.items():
        theirs = best(results, family)
        found[name] = _ratio(ours and ours.inputs_per_second, theirs and theirs.inputs_per_second)
    found["audit_over_live"] = _ratio(max(audits.values(), default=None), ours and ours.inputs_per_second)
    whole = max(commands.values(), default=None)
    found["audit_command_over_live"] = _ratio(whole, ours and ours.inputs_per_second)
    streams = best(results, "kafka_streams")
    found["kafka_streams_cpu"] = _ratio(ours and ours.cpu_us_per_input, streams and streams.cpu_us_per_input)
    return found


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else round(above / below, 3)


def p99_over_peer(beside: Sequence[Mapping[str, Any]]) -> float | None:
    """sluice's p99 latency over that of Kafka Streams at the first of the loads that both had."""
    by_load: dict[int, dict[str, float | None]] = {}
    for one in beside:
        by_load.setdefault(one["inputs_per_second"], {})[one["family"]] = one.get("p99")
    found = (_ratio(at.get("sluice"), at.get("kafka_streams")) for at in by_load.values())
    return next((one for one in found if one is not None), None)


def goals(
    found: Mapping[str, float | None], latency: Mapping[str, float | None], beside: Sequence[Mapping[str, Any]] = ()
) -> list[Goal]:
    """The goals, on two cores with the broker on the same machine."""
    return [
        Goal("rate over Kafka Streams' best", found.get("kafka_streams_exactly_once"), least=1.5),
        Goal("CPU an input over Kafka Streams' best", found.get("kafka_streams_cpu"), most=0.6),
        Goal("rate over the bare aiokafka floor", found.get("aiokafka_floor"), least=0.4),
        Goal("rate over plain Faust", found.get("plain_faust"), least=25),
        Goal("audit over live", found.get("audit_over_live"), least=3),
        Goal("latency p50, ms", latency.get("p50"), most=60),
        Goal("latency p99, ms", latency.get("p99"), most=150),
        Goal("latency p99 at half load over Kafka Streams' at the same load", p99_over_peer(beside), most=1),
    ]
