"""Histories of a lane, folded as lanes fold them, and written down as an export (topology/engine/stored_topics.py)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from builders import assertion_value, emission_value, observation_value, present, review_value
from msgspec.structs import replace

from sluice.codecs.blocks import Event, EventKind, Output
from sluice.codecs.partition import PARTITIONERS, Partitioner
from sluice.streams.policy.policy import DEFAULT_POLICY, Policy
from sluice.streams.policy.privacy import NO_SECRETS, Secrets
from sluice.topology.audit.explain import explain
from sluice.topology.audit.explanation import Explanation
from sluice.topology.engine.chain import BlockBuilder
from sluice.topology.engine.export_files import (
    AUDITED,
    LATER,
    MANIFEST,
    FolderLogs,
    Manifest,
    Stored,
    file_name,
    framed,
)
from sluice.topology.engine.folds import Adjudicate
from sluice.topology.engine.interfaces import Fold

Record = tuple[str, Any]
"""A topic and a value: JSON-ready, raw bytes (with its key: a pair), or a policy on `policies`."""


class ExportedLane:
    """One lane that starts with a policy; `export` writes its ledger and its outputs down."""

    def __init__(
        self,
        policy: Policy = DEFAULT_POLICY,
        start: int = 0,
        *,
        lane: int = 0,
        lanes: int = 1,
        partitioner: Partitioner = "murmur2",
        secrets: Secrets = NO_SECRETS,
        raised: int = 0,
        fold: Fold | None = None,
    ) -> None:
        self.fold: Fold = Adjudicate(partitioner, secrets, raised) if fold is None else fold
        self._builder = BlockBuilder(self.fold, lane, lanes, policy.hash)
        self.lane, self.lanes = lane, lanes
        self.blocks: list[bytes] = []
        self.outputs: list[Output] = []
        self.inputs: list[tuple[int, str, int, Event]] = []
        """Height, topic, offset and event of every input."""
        self.block(start, [("policies", policy)])

    @property
    def state(self) -> Any:
        """The fold of all blocks."""
        return self._builder.state

    def block(self, time: int, records: Iterable[Record] = (), watermark: int | None = None) -> list[Output]:
        """Closes a block with these records and returns its outputs."""
        ends = {topic: self._builder.position(topic) for topic in self.fold.inputs}
        events = [self._event(time, topic, value, ends) for topic, value in records]
        self._builder.fold = self.fold  # a test may have put another in its place
        header = self._builder.header(time, time if watermark is None else watermark, events)
        made = self._builder.close(replace(header, fold=self.fold.named(self.state)), events)
        self.blocks.append(made.data)
        self.outputs += made.outputs
        for event in events:
            if event.kind != EventKind.POLICY:
                self.inputs.append((header.height, header.sources[event.source].topic, event.offset, event))
        return made.outputs

    def _event(self, time: int, topic: str, value: Any, ends: dict[str, int]) -> Event:
        if topic == "policies":
            return Event(EventKind.POLICY, 0, 0, time, [], None, value.document)
        offset, ends[topic] = ends[topic], ends[topic] + 1
        key, raw = value if isinstance(value, tuple) else (_key(value), msgspec.json.encode(value))
        return self.fold.event_for(list(self.fold.inputs).index(topic), offset, time, [], key, raw)

    def export(self, folder: Path) -> Path:
        """The folder, with an export in it; other lanes than this one are empty."""
        folder.mkdir(parents=True, exist_ok=True)
        stored: dict[str, list[Stored]] = {topic: [] for topic in (*AUDITED, *LATER)}
        # Offsets with holes, as transactions' markers leave them.
        stored[self.fold.ledger] = [Stored(2 * at, 0, None, data, []) for at, data in enumerate(self.blocks)]
        for topic, key, value, headers in (one for one in self.outputs if one.topic in stored):
            stored[topic].append(Stored(len(stored[topic]), 0, key, value, headers))
        ranges: dict[str, list[tuple[int, int]]] = {}
        for topic, records in stored.items():
            if topic in LATER and not records:
                continue
            ranges[topic] = [(0, 0)] * self.lanes
            ranges[topic][self.lane] = (0, records[-1].offset + 1 if records else 0)
            with open(folder / file_name(topic, self.lane), "wb") as file:
                file.writelines(framed(records))
        manifest = Manifest(
            broker="kafka://nowhere:9092",
            app_id="sluice",
            ledger="ledger",
            lanes=self.lanes,
            exported_at="2026-11-21T09:00:00Z",
            ranges=ranges,
        )
        (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))
        return folder


def lane_of(emission_id: str, lanes: int, partitioner: Partitioner = "murmur2") -> int:
    """The lane in which an emission is."""
    return PARTITIONERS[partitioner](emission_id.encode(), lanes)


def _key(value: Any) -> bytes | None:
    return str(value.get("subject", value).get("emission_id")).encode()


# ---------------------------------------------------------------- what comes in

BASE = 1_795_251_600_000
"""2026-11-21T09:00:00Z, when every story begins."""
S, M, H = 1000, 60_000, 3_600_000
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."
SPAN = {"chars": [0, len(TEXT)]}
KEY = f"c:0-{len(TEXT)}"
DECLARED = "sha256:e3b0c442"


def emission_after(
    at: int = 0, emission_id: str = "em-1", *, text: str = TEXT, attempt: int = 0, **claim: Any
) -> Record:
    """An emission of one assertion over its text, emitted so many ms after the base; `claim` are its own fields.

    `fields` are the emission's; `provenance=None` leaves it unannotated. The order of the members is part of the
    golden ledgers.
    """
    fields = claim.pop("fields", {})
    note = {"substrate_class": "substrate.code.read", "observation_id": DECLARED, "ts": BASE + at}
    assertion = present(assertion_value(text, note, **claim))
    order = {
        "emission_id": emission_id,
        "attempt": attempt,
        "emitted_at": 0,
        "emitter": {"system": "bot", "model": "model-1"},
    }
    return "emissions", order | emission_value(emission_id, text, at=BASE + at, assertions=[assertion]) | fields


def observation_after(at: int, name: str, outcome: str = "corroborates", **fields: Any) -> Record:
    """What an observer saw then in the class `substrate.NAME`; `attempt`, `span` and `emission_id` say of what."""
    about = {"substrate_class": f"substrate.{name}", "span": SPAN, "attempt": 0, "at": BASE + at}
    return "observations", observation_value(outcome=outcome, **{**about, "observation_id": f"seen:{name}", **fields})


def reviewed_claim(decision: str, **fields: Any) -> Record:
    """A person's decision about em-1."""
    return "reviews", review_value(decision, **{"span": SPAN, **fields})


def lane_after(
    *blocks: tuple[int, list[Record]],
    policy: Policy = DEFAULT_POLICY,
    emission_id: str = "em-1",
    lanes: int = 1,
    secrets: Secrets = NO_SECRETS,
    raised: int = 0,
) -> ExportedLane:
    """The lane of an emission after blocks at these times (ms after the base), by the newest fold version or this."""
    lane = ExportedLane(policy, BASE - S, lane=lane_of(emission_id, lanes), lanes=lanes, secrets=secrets, raised=raised)
    for at, records in blocks:
        lane.block(BASE + at, records)
    return lane


async def explanation_of(
    lane: ExportedLane,
    folder: Path,
    emission_id: str = "em-1",
    span_key: str | None = None,
    now: int = BASE,
    secrets: Secrets = NO_SECRETS,
) -> Explanation:
    """What `explain` tells of an emission from the lane's export."""
    return await explain(FolderLogs(lane.export(folder / "export"), secrets), emission_id, span_key, now)
