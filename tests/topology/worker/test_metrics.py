"""What a worker counts, as Prometheus reads it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from builders import event
from prometheus_client.parser import text_string_to_metric_families

from sluice.codecs.blocks import Event, EventKind, Output
from sluice.streams.policy.policy import INADMISSIBLE, Policy
from sluice.topology.engine.folds import FoldFilter
from sluice.topology.engine.interfaces import PHASES, Committed, LaneStatus
from sluice.topology.engine.telemetry import Metrics, Watch
from sluice.topology.kafka.requests import TopicNow
from sluice.topology.kafka.transactions import FencedError

T = 1_800_000_000_000
STATUS = LaneStatus(
    "adjudicate",
    2,
    "running",
    41,
    1_000,
    900,
    7_000,
    250,
    {"late": 3, "lives": 11, "waiting": 5},
    lag={"emissions": 4},
    read_to={"emissions": 58_000},
    due=45_000,
    snapshot_at=50_000,
    snapshot_fails=True,
    checkpoint_at=20_000,
)


def output(topic: str, value: bytes, *headers: tuple[str, bytes]) -> Output:
    """One record for this topic."""
    return Output(topic, b"k", value, list(headers))


def block(events: list[Event], outputs: list[Output]) -> Committed:
    """A block of two inputs."""
    return Committed(7, T, ("emissions", "observations"), events, 1_234, outputs, 0.002, 0.02)


def samples(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """The values of a metric by the labels beside fold and lane."""
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if sample.name == name:
                labels = {key: value for key, value in sample.labels.items() if key not in ("fold", "lane", "le")}
                found[tuple(labels.values())] = sample.value
    return found


@pytest.fixture
def metrics() -> Metrics:
    """Of one lane, a minute after the epoch."""
    return Metrics(lambda: [STATUS], clock=lambda: 60_000)


def test_inputs_are_counted_by_topic(metrics: Metrics):
    """Only records: a policy that was applied, or a gap, is no input."""
    events = [
        event(source=0),
        event(source=1),
        event(source=1, kind=EventKind.OVERSIZE),
        event(source=2, kind=EventKind.POLICY),
        event(source=0, kind=EventKind.GAP),
    ]

    metrics.committed("adjudicate", 2, block(events, []))

    assert samples(metrics, "sluice_inputs_total") == {("emissions",): 1, ("observations",): 2}
    assert samples(metrics, "sluice_block_records_sum") == {(): 3}
    assert samples(metrics, "sluice_block_bytes_sum") == {(): 1_234}
    assert samples(metrics, "sluice_fold_seconds_sum") == {(): 0.002}
    assert samples(metrics, "sluice_commit_seconds_sum") == {(): 0.02}


def test_outputs_are_counted_by_status_and_reason(metrics: Metrics):
    """As their records say; dead letters by their header."""
    admitted = b'{"emission_id":"e","status":"admitted","basis":"corroboration","x":{"status":"y","reason":"z"}}'
    below = b'{"emission_id":"e","status":"below-floor","reason":"below-floor"}'
    outputs = [
        output("admitted", admitted),
        output("admitted", admitted),
        output("inadmissible", below),
        output("grounded", b"{}"),
        output("dead-letters", b'"status":"admitted"', ("sluice-reason", b"not-json")),
    ]

    metrics.committed("adjudicate", 2, block([], outputs))

    assert samples(metrics, "sluice_outputs_total") == {
        ("", "", "grounded"): 1,
        ("", "admitted", "admitted"): 2,
        ("below-floor", "below-floor", "inadmissible"): 1,
    }
    assert samples(metrics, "sluice_dead_letters_total") == {("not-json",): 1}


def test_real_decisions_are_read_rightly(metrics: Metrics):
    """Whatever the order of a record's members, status and reason are those that the record says."""
    outputs = decisions()

    metrics.committed("adjudicate", 2, block([], outputs))

    said: Counter[tuple[str, str, str]] = Counter()
    for one in outputs:
        record = json.loads(one.value)
        said[record.get("reason", ""), record.get("status", ""), one.topic] += 1
    assert len(said) >= 4
    assert said["", "", "verdicts"] == 3
    assert samples(metrics, "sluice_outputs_total") == said


def decisions() -> list[Output]:
    """What the fold itself writes of three emissions, one of which a hostile span's pointer names a status in."""
    review: dict[Any, Any] = dict.fromkeys(("internal", "external"), "review")
    policy = Policy(disposition=dict.fromkeys(INADMISSIBLE, review))
    lane = FoldFilter(policy)
    refusal = {"path": '/"status":"admitted"'}
    lines = [
        ("em-1", {"assertions": [{"span": {"chars": [0, 9]}}]}),
        ("em-2", {"assertions": [{"span": {"chars": [0, 9]}, "kind": "refusal"}]}),
        ("em-3", {"assertions": [{"span": refusal, "assertion": "It is so.", "kind": "refusal"}]}),
    ]
    found: list[dict[str, Any]] = []
    for name, fields in lines:
        value = {"emission_id": name, "emitted_at": T, "text": "It is so.", **fields}
        found += lane.line(json.dumps({"at": T, "topic": "emissions", "value": value}).encode())
    found += lane.pass_time(T + 7_200_000)
    return [Output(one["topic"], b"k", bytes(one["value"]), []) for one in found]


def test_what_the_compiled_core_left_to_python_is_counted(metrics: Metrics):
    """From 0 on, block by block: a lane that folds in Python where it need not is slow, and nothing else says so."""
    metrics.committed("adjudicate", 2, block([], []))
    assert samples(metrics, "sluice_left_to_python_total") == {(): 0}

    metrics.committed("adjudicate", 2, block([], [])._replace(left_to_python=3))
    metrics.committed("adjudicate", 2, block([], [])._replace(left_to_python=4))

    assert samples(metrics, "sluice_left_to_python_total") == {(): 7}


def test_blocks_that_were_not_committed_are_counted(metrics: Metrics):
    """And apart those that another owner has fenced."""
    metrics.aborted("adjudicate", 2, FencedError("another"))
    metrics.aborted("adjudicate", 2, OSError("away"))

    assert samples(metrics, "sluice_fenced_total") == {(): 1}
    assert samples(metrics, "sluice_aborted_transactions_total") == {(): 2}


def test_changes_of_owner_are_counted(metrics: Metrics):
    """Each claim is one; there is at most one fencing for each (docs/faults.md)."""
    metrics.claimed("adjudicate", 2)
    metrics.claimed("adjudicate", 2)

    assert samples(metrics, "sluice_claims_total") == {(): 2}


def test_what_a_lane_is_behind_by_is_read_off_it(metrics: Metrics):
    """In offsets and in seconds; and what lives in it."""
    assert samples(metrics, "sluice_lag_records") == {("emissions",): 4}
    assert samples(metrics, "sluice_lag_seconds") == {("emissions",): 2}
    assert samples(metrics, "sluice_live_assertions") == {(): 11}
    assert samples(metrics, "sluice_waiting_evidence") == {(): 5}
    assert samples(metrics, "sluice_clock_skew_seconds") == {(): 0.25}
    assert samples(metrics, "sluice_fates_total") == {("late",): 3}
    assert samples(metrics, "sluice_running") == {(): 1}
    assert samples(metrics, "sluice_recovering") == {(): 0}
    assert samples(metrics, "sluice_failed") == {(): 0}


def test_what_grows_old_is_told_by_its_age(metrics: Metrics):
    """Of what there is none, there is no age; and nothing is due before its time."""
    names = [f"sluice_{name}" for name in ("overdue_seconds", "snapshot_age_seconds", "checkpoint_age_seconds")]
    fresh = STATUS._replace(due=60_001, snapshot_at=None, snapshot_fails=False, checkpoint_at=None)
    none = Metrics(lambda: [fresh, fresh._replace(due=None)], clock=lambda: 60_000)

    assert [samples(metrics, name) for name in names] == [{(): 15}, {(): 10}, {(): 40}]
    assert [samples(none, name) for name in names] == [{(): 0}, {}, {}]
    assert [samples(one, "sluice_snapshot_failing") for one in (metrics, none)] == [{(): 1}, {(): 0}]


def test_topics_and_certificates_are_told():
    """As they were seen last; while nothing looks, what is wanted is not told either, so that no alert compares it."""
    watch = Watch(4)
    watch.saw({"emissions": TopicNow(6), "admitted": TopicNow(4)}, {("ledger", 1): 7}, certificate_end=160.0)
    found = Metrics(lambda: (), clock=lambda: 60_000, topics=lambda: watch, certificates=lambda: {"client": 50.0})
    blind = Metrics(lambda: (), clock=lambda: 60_000)
    names = ("topic_partitions", "topic_partitions_wanted", "certificate_expiry_seconds")

    assert [samples(found, f"sluice_{name}") for name in names] == [
        {("admitted",): 4, ("emissions",): 6},
        {(): 4},
        {("broker",): 100, ("client",): -10},
    ]
    assert samples(found, "sluice_log_start_offset") == {("ledger",): 7}
    assert [samples(blind, f"sluice_{name}") for name in names] == [{}, {}, {}]


def test_the_states_of_lanes_are_told_also_where_there_is_none():
    """With Kafka gone a worker has no lane: its series must not vanish with them."""
    here, none = (
        Metrics(lambda: [STATUS], is_member=lambda: True, wanted=6),
        Metrics(lambda: (), is_member=lambda: False, wanted=6),
    )
    states = dict.fromkeys([(state,) for state in PHASES], 0.0)

    assert samples(here, "sluice_lanes") == {**states, ("running",): 1}
    assert samples(none, "sluice_lanes") == states
    assert (samples(here, "sluice_member"), samples(none, "sluice_member")) == ({(): 1}, {(): 0})
    assert samples(here, "sluice_lanes_wanted") == samples(none, "sluice_lanes_wanted") == {(): 6}


def test_a_lane_that_was_given_up_is_told():
    """It does not run, and is not being taken over."""
    failed = Metrics(lambda: [STATUS._replace(phase="failed", reason="the chain of blocks is broken")])

    assert samples(failed, "sluice_failed") == {(): 1}
    assert samples(failed, "sluice_running") == samples(failed, "sluice_recovering") == {(): 0}


def test_taking_over_is_timed(metrics: Metrics):
    """Each lane by itself."""
    metrics.restored("adjudicate", 2, 4.0)

    assert samples(metrics, "sluice_recovery_seconds_sum") == {(): 4.0}
    assert samples(metrics, "sluice_fenced_total") == {(): 0}  # so that the first one is an increase
