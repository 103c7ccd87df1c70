"""Bytewax: one worker, both inputs into one keyed stateful step, without recovery (at least once needs its store)."""

from __future__ import annotations

from typing import Any

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.testing import cluster_main
from join import Seen, advance, arguments, tell_begun

broker, prefix, begun, _, _ = arguments()
emissions = prefix + "emissions"
started: list[bool] = []


def keyed(message: Any) -> tuple[str, tuple[str, bool, bytes, int]]:
    """Key, and what the join wants of a message."""
    if not started:
        tell_begun(begun)
        started.append(True)
    key = message.key.decode()
    return key, (key, message.topic == emissions, message.value, message.timestamp[1])


def step(seen: Seen | None, record: tuple[str, bool, bytes, int]) -> tuple[Seen, list[KafkaSinkMessage]]:
    """The join, with what is known kept by the framework."""
    key, is_emission, value, at = record
    seen = seen or Seen()
    outputs = advance(seen, is_emission, value, at, key)
    return seen, [KafkaSinkMessage(key.encode(), one) for one in outputs]


flow = Dataflow("join")
source = KafkaSource([broker], [emissions, prefix + "observations"], tail=True, batch_size=4000)
records = op.map("key", op.input("inputs", flow, source), keyed)
joined = op.flatten("flat", op.key_rm("unkeyed", op.stateful_map("join", records, step)))
sink = KafkaSink([broker], prefix + "admitted", add_config={"partitioner": "murmur2_random", "linger.ms": "5"})
op.output("admitted", joined, sink)
cluster_main(flow, [], 0)
