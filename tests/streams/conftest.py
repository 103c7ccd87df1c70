"""A lane without a broker: builds real blocks, folds them, and shows the outputs as JSON.

Tests of the fold say what stands in each block; heights, hashes, offsets and the chain are kept here as a lane keeps
them. Times are Unix milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import pytest

from sluice.codecs import blocks
from sluice.codecs.blocks import Block, Event, EventKind, Header, Output, Source
from sluice.codecs.partition import Partitioner
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import DEFAULT_POLICY, Policy

Record = tuple[str, Any]
"""A topic and a value: JSON-ready, raw bytes, a policy on `policies`, or a whole `Event` to be taken as it is."""


class Shown(NamedTuple):
    """An output with its value decoded; the raw bytes of a dead letter stay bytes."""

    topic: str
    key: str
    value: Any
    headers: dict[str, str]


class Lane:
    """One lane that starts with a policy. Invariant: heights have no gap, and `prev` names the block before."""

    def __init__(
        self,
        policy: Policy = DEFAULT_POLICY,
        start: int = 0,
        lane: int = 0,
        lanes: int = 1,
        partitioner: Partitioner = "murmur2",
    ) -> None:
        self.state = core.new_state(lane, lanes, partitioner)
        self.ledger: list[Block] = []
        self.outputs: list[Output] = []
        self._root = blocks.outputs_root([])
        self._next = dict.fromkeys(core.INPUTS, 0)
        self.block(start, [("policies", policy)])

    def block(self, time: int, records: Iterable[Record] = (), watermark: int | None = None) -> list[Shown]:
        """Closes a block with these records, folds it, and returns what it says of assertions and inputs.

        What it says of whole emissions on `verdicts` repeats that; `verdicts` returns it.
        """
        first = dict(self._next)
        events = [self._event(time, topic, value) for topic, value in records]
        header = Header(
            lane=self.state.lane,
            lanes=self.state.lanes,
            height=len(self.ledger),
            prev=self.ledger[-1].hash if self.ledger else blocks.GENESIS,
            time=time,
            watermark=time if watermark is None else watermark,
            policy=self.state.policy_hash,
            fold=core.FOLD_VERSION,
            sources=[Source(topic, first[topic], self._next[topic]) for topic in core.INPUTS],
            outputs=self._root,
        )
        block, _ = blocks.seal(header, events)
        outputs = core.fold(self.state, block)
        self._root = blocks.outputs_root(outputs)
        self.ledger.append(block)
        self.outputs += outputs
        self._told = [show(output) for output in outputs if output.topic == "verdicts"]
        return [show(output) for output in outputs if output.topic != "verdicts"]

    def on(self, topic: str) -> list[Shown]:
        """Everything that was written to a topic so far."""
        return [show(output) for output in self.outputs if output.topic == topic]

    def verdicts(self) -> list[Shown]:
        """What the last block says on `verdicts`."""
        return self._told

    def _event(self, time: int, topic: str, value: Any) -> Event:
        if topic == "policies":
            document = value.document if isinstance(value, Policy) else value
            return Event(EventKind.POLICY, 0, 0, time, [], None, document)
        offset = self._next[topic]
        self._next[topic] = offset + 1
        if isinstance(value, Event):
            return value
        raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
        return core.event_for(core.INPUTS.index(topic), offset, time, [], _key(value), raw)


def _key(value: Any) -> bytes | None:
    if not isinstance(value, dict):
        return None
    return str(value.get("subject", value).get("emission_id")).encode()


def show(output: Output) -> Shown:
    """An output as tests look at it."""
    value = output.value if output.topic == "dead-letters" else msgspec.json.decode(output.value)
    headers = {name: content.decode() for name, content in output.headers}
    return Shown(output.topic, (output.key or b"").decode(errors="replace"), value, headers)


@pytest.fixture(scope="session")
def new_lane() -> type[Lane]:
    """`new_lane(policy, start, …)`: a lane whose first block holds the policy; see `Lane`."""
    return Lane
