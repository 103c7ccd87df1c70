"""The filter is a lane without a broker: lines become blocks of one chained ledger, and go through the same fold."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from builders import emission, emission_value, observation, observation_value
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs import blocks
from sluice.codecs.blocks import Block, EventKind
from sluice.codecs.errors import Fault, UsageError
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import DEFAULT_POLICY, Admissibility, Floor, Policy
from sluice.topology.engine import folds
from sluice.topology.engine.folds import Adjudicate, FoldFilter, parse_until

T = 1_800_000_000_000
GREP, GIT = "substrate.grep", "substrate.git.log"
HOUR = 3_600_000
EASY = Policy(admissibility=Admissibility(k=Floor(internal=1, external=1)))


def line(topic: str, value: Any, at: Any = T, **fields: Any) -> bytes:
    return json.dumps({"at": at, "topic": topic, "value": value, **fields}).encode()


def shown(results: Any) -> list[dict[str, Any]]:
    """What a filter answers, as a reader of its lines sees it."""
    return [json.loads(msgspec.json.encode(result)) for result in results]


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> list[Block]:
    """Every block that a filter folds from here on."""
    folded: list[Block] = []

    def fold(state: Any, block: Block) -> Any:
        folded.append(block)
        return real(state, block)

    real = core.fold
    monkeypatch.setattr(Adjudicate, "fold", staticmethod(fold))
    return folded


def test_a_line_with_a_record_is_a_block_and_its_outputs_are_lines() -> None:
    """Topic, key, value and headers, in order; the value is the record as a consumer would read it."""
    filtering = FoldFilter(EASY)

    first = shown(filtering.line(line("emissions", emission_value())))
    second = shown(filtering.line(line("observations", observation_value())))

    assert first == []
    output, told = second
    assert (told["topic"], told["key"], told["value"]["settled"]) == ("verdicts", "em-1", True)
    assert list(output) == ["topic", "key", "value", "headers"]
    assert (output["topic"], output["key"]) == ("admitted", "em-1#c:0-9")
    assert output["value"]["status"] == "admitted"
    assert output["headers"]["ce_id"] == f"admitted/{output['value']['id']}"
    assert output["value"]["ledger"]["height"] == 2


def test_the_blocks_form_a_ledger(ledger: list[Block]) -> None:
    """Heights without a gap, each naming the one before, its policy, how far each input was read, and the outputs."""
    filtering = FoldFilter(EASY)
    for one in (
        line("emissions", emission_value()),
        line("observations", observation_value()),
        b'{"at": 1800000000001}',
        line("emissions", b"{".decode(), T + 2),
        line("emissions", emission_value("em-2"), T + 2),
    ):
        list(filtering.line(one))

    assert [block.header.height for block in ledger] == list(range(6))
    assert [block.header.prev for block in ledger] == [blocks.GENESIS, *(block.hash for block in ledger[:-1])]
    assert [event.kind for event in ledger[0].events] == [EventKind.POLICY]
    assert {block.header.policy for block in ledger} == {EASY.hash}
    assert all(block.header.time == block.header.watermark for block in ledger)
    assert [[(source.first, source.next) for source in block.header.sources] for block in ledger] == [
        [(0, 0), (0, 0), (0, 0)],
        [(0, 1), (0, 0), (0, 0)],
        [(1, 1), (0, 1), (0, 0)],
        [(1, 1), (1, 1), (0, 0)],
        [(1, 2), (1, 1), (0, 0)],
        [(2, 3), (1, 1), (0, 0)],
    ]


def test_a_block_names_the_root_of_the_outputs_before_it(ledger: list[Block]) -> None:
    """Folding the ledger again gives the outputs that each next header commits to."""
    filtering = FoldFilter(EASY)
    for one in (
        line("emissions", emission_value()),
        line("observations", observation_value()),
        b'{"at": 1800000000001}',
    ):
        list(filtering.line(one))

    state, root = core.new_state(0, 1), blocks.outputs_root([])
    for block in list(ledger):
        assert block.header.outputs == root
        root = blocks.outputs_root(core.fold(state, block))


def test_a_line_with_only_a_time_lets_time_pass() -> None:
    """Both clocks move: pending times end, and so do validities."""
    filtering = FoldFilter(EASY)
    list(filtering.line(line("emissions", emission_value())))
    list(filtering.line(line("observations", observation_value())))

    assert shown(filtering.line(b'{"at": %d}' % (T + HOUR))) == []
    decayed, told = shown(filtering.line(b'{"at": %d}' % (T + HOUR + 1)))

    assert decayed["value"]["status"] == "decayed-to-uncertainty"
    assert [one["status"] for one in told["value"]["assertions"]] == ["decayed-to-uncertainty"]


def test_time_passes_to_the_end_that_is_asked_for() -> None:
    """What `--until` does, as one more block."""
    filtering = FoldFilter(EASY)
    list(filtering.line(line("emissions", emission_value())))
    list(filtering.line(line("observations", observation_value())))

    decayed, told = shown(filtering.pass_time(T + 2 * HOUR))
    assert (decayed["value"]["status"], told["topic"]) == ("decayed-to-uncertainty", "verdicts")


@pytest.mark.parametrize(
    ("given", "reason", "part"),
    [
        (b"{", "not-json", "not JSON"),
        (b"[]", "schema", "object"),
        (b"{}", "schema", "at"),
        (b'{"at": "soon"}', "schema", "$.at: expected an RFC 3339 time"),
        (b'{"at": -1}', "schema", "$.at"),
        (b'{"at": 1.5}', "schema", "$.at"),
        (line("sightings", {}), "schema", "$.topic: expected one of emissions, observations, reviews"),
        (line("emissions", {}, T - 1), "schema", "a time that is not before that of the line before"),
        (line("emissions", {}, headers={"a": 1}), "schema", "headers"),
    ],
)
def test_a_line_that_cannot_be_read_is_a_fault_and_no_block(
    ledger: list[Block], given: bytes, reason: str, part: str
) -> None:
    """The ledger does not see it: only what is no record of an input can fail here."""
    filtering = FoldFilter(EASY)
    list(filtering.line(b'{"at": %d}' % T))
    before = len(ledger)

    (fault,) = filtering.line(given)

    assert isinstance(fault, Fault)
    assert (fault.reason, part in fault.detail) == (reason, True), fault.detail
    assert len(ledger) == before


def test_times_may_be_written_either_way() -> None:
    """RFC 3339, or Unix milliseconds; equal times may follow one another."""
    filtering = FoldFilter(EASY)

    assert list(filtering.line(b'{"at": "2027-01-15T08:00:00Z"}')) == []
    assert list(filtering.line(b'{"at": %d}' % T)) == []
    assert isinstance(next(iter(filtering.line(b'{"at": "2027-01-15T07:59:59.999Z"}'))), Fault)


@pytest.mark.parametrize(
    ("topic", "value"),
    [emission(), observation(), ("reviews", {"emission_id": "em-1"})],
)
def test_a_missing_key_is_the_one_that_a_producer_would_have_given(
    ledger: list[Block], topic: str, value: dict[str, Any]
) -> None:
    """The emission id, wherever the record has it."""
    list(FoldFilter(EASY).line(line(topic, value)))

    assert ledger[-1].events[0].key == b"em-1"


@pytest.mark.parametrize(
    ("fields", "value", "key"),
    [
        ({"key": "other"}, emission_value(), b"other"),
        ({"key": ""}, emission_value(), b""),
        ({"key": None}, emission_value(), None),
        ({}, {"emission_id": 5}, None),
        ({}, [1], None),
        ({}, "no json", None),
        ({}, None, None),
    ],
)
def test_a_key_that_is_given_stands_and_one_that_is_nowhere_is_none(
    ledger: list[Block], fields: dict[str, Any], value: Any, key: bytes | None
) -> None:
    """`null` is no key at all, which is another thing than leaving it out."""
    list(FoldFilter(EASY).line(line("emissions", value, **fields)))

    assert ledger[-1].events[0].key == key


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        ('{"a":  [1.0, 1e5]}', b'{"a":  [1.0, 1e5]}'),
        ('"{\\"a\\": 1}"', b'{"a": 1}'),
        ('"\\u00e9"', "é".encode()),
        ("null", None),
        ("12", b"12"),
    ],
)
def test_a_value_is_kept_as_its_bytes_stand(ledger: list[Block], value: str, raw: bytes | None) -> None:
    """Duplicates are judged by bytes; a string stands for raw bytes, `null` for none."""
    list(FoldFilter(EASY).line(b'{"at": %d, "topic": "emissions", "value": %s}' % (T, value.encode())))

    assert ledger[-1].events[0].value == raw


def test_headers_go_with_the_record(ledger: list[Block]) -> None:
    """So that `traceparent` passes through."""
    filtering = FoldFilter(EASY)
    list(filtering.line(line("observations", observation_value())))

    output, _ = shown(filtering.line(line("emissions", emission_value(), headers={"traceparent": "00-1", "b": "é"})))

    assert ledger[-1].events[0].headers == [("traceparent", b"00-1"), ("b", "é".encode())]
    assert output["headers"]["traceparent"] == "00-1"


@pytest.mark.parametrize(
    ("value", "expected"),
    [({"emission_id": "em-1"}, {"emission_id": "em-1"}), ([1], "[1]"), ("{", "{"), (None, ""), ("é", "é")],
)
def test_a_dead_letter_shows_its_bytes_as_the_object_that_they_are_else_as_text(value: Any, expected: Any) -> None:
    """Every answer is a JSON line, whatever the input was."""
    (output,) = shown(FoldFilter(EASY).line(line("emissions", value, key="em-1")))

    assert (output["topic"], output["key"], output["value"]) == ("dead-letters", "em-1", expected)
    assert output["headers"]["sluice-source"] == "emissions/0/0"


def test_no_block_of_a_filter_fires_more_timers_than_a_lane_s_would(
    ledger: list[Block], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While more are due, empty blocks close at that time; the record comes when they are done."""
    monkeypatch.setattr(folds.core, "MAX_TIMERS", 2)
    monkeypatch.setattr("sluice.streams.adjudication.state.MAX_TIMERS", 2)
    filtering = FoldFilter(EASY)
    for number in range(5):
        list(filtering.line(line("observations", observation_value(emission_id=f"em-{number}"))))
    before = len(ledger)

    list(filtering.line(line("emissions", emission_value(at=T + HOUR), T + HOUR)))

    closed = ledger[before:]
    assert [len(block.events) for block in closed] == [0, 0, 1]
    assert {block.header.time for block in closed} == {T + HOUR}


@settings(max_examples=examples(150))
@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([line("emissions", emission_value()), b'{"at": 1}']), max_size=6)
)
def test_no_line_stops_the_filter(given: list[bytes]) -> None:
    """Whatever comes, each answer is a fault or a line that JSON can hold."""
    filtering = FoldFilter(DEFAULT_POLICY)

    for one in given:
        for result in filtering.line(one):
            assert isinstance(result, Fault) or msgspec.json.encode(result)


@pytest.mark.parametrize(("text", "time"), [(None, None), ("1800000000000", T), ("2027-01-15T08:00:00Z", T), ("0", 0)])
def test_until_is_a_time_written_either_way(text: str | None, time: int | None) -> None:
    """Or nothing, where no time is to pass."""
    assert parse_until(text) == time


@pytest.mark.parametrize("text", ["", "soon", "-1", "2027-01-15", "2027-01-15T08:00:00", "²", "9" * 20])
def test_an_until_that_is_no_time_is_wrong_usage(text: str) -> None:
    """One sentence that says what a time looks like."""
    with pytest.raises(UsageError, match="--until is not a time"):
        parse_until(text)
