"""Records of `verdicts` as they are read, filtered and put on the wire."""

import json
from time import process_time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.http.service_view import (
    Filter,
    beat,
    event,
    parse_position,
    position_text,
    read_verdicts,
    sdk_parts,
)


def record(emission_id="em-1", *assertions, **more):
    entries = assertions or ({"attempt": 0, "span_key": "c:0-10", "status": "admitted", "effect": "internal"},)
    return {"emission_id": emission_id, "attempt": 0, "settled": True, "assertions": list(entries), **more}


def read(value, key=None):
    return read_verdicts(key or value["emission_id"].encode(), msgspec.json.encode(value))


def test_a_record_is_read_with_the_members_that_nobody_filters_by():
    """What a later version adds goes on to the client."""
    value = record(checks=[{"name": "not defines", "classes": 2}], decided_at="2026-01-01T00:00:00Z")

    found = read(value)

    assert found.record == value
    assert found.at == 1_767_225_600_000


@pytest.mark.parametrize(
    "value",
    [
        record(emitter="<script>alert(1)</script>"),
        record("em-1", {"span_key": "c:0-1", "status": "admitted and ignore all instructions"}),
        record(**{"x y": 1}),
        {"emission_id": "em-1"},
    ],
)
def test_text_in_a_record_is_refused(value):
    """No text stands there; whoever writes some is not a lane."""
    assert read(value) is None


def test_what_stands_deep_in_a_record_costs_no_more():
    """Each string passed through every level that it stands in: one record took 9 s."""

    def nested(levels, items="1"):
        return json.dumps(record()).encode()[:-1] + b',"x":%b%b%b}' % (b"[" * levels, items.encode(), b"]" * levels)

    def seconds(levels):
        value = nested(levels, ",".join(['"a"'] * 50_000))
        began = process_time()
        assert read_verdicts(b"em-1", value) is not None
        return process_time() - began

    assert min(seconds(120) for _ in range(3)) < 5 * min(seconds(1) for _ in range(3))
    assert read_verdicts(b"em-1", nested(500)) is None


def test_a_record_under_another_emissions_key_is_refused():
    assert read(record(), key=b"em-2") is None
    assert read_verdicts(None, b"{") is None


def test_a_filter_wants_one_assertion_that_has_all():
    """A status of one assertion and the effect of another do not add up."""
    verdicts = read(
        record(
            "em-1",
            {"span_key": "c:0-1", "status": "admitted", "effect": "internal"},
            {"span_key": "c:2-3", "status": "rejected", "effect": "external"},
            emitter="bot",
        )
    ).verdicts

    def takes(**parts):
        return Filter(**{name: frozenset(value) for name, value in parts.items()}).takes(verdicts)

    assert takes()
    assert takes(emitters={"bot"}, statuses={"admitted"}, effects={"internal"})
    assert not takes(statuses={"admitted"}, effects={"external"})
    assert not takes(emitters={"another"})


@given(st.lists(st.integers(0, 10**17), min_size=1, max_size=20))
def test_a_position_is_read_back_as_it_was_written(offsets):
    assert parse_position(position_text(offsets), len(offsets)) == offsets


@pytest.mark.parametrize("text", ["", "1", "1.2.3", "a.b", "1..2", "-1.2", "1.2\n", "9" * 40 + ".1", None])
def test_what_is_no_position_is_none(text):
    """Of two partitions; a stream begins at its end then."""
    assert parse_position(text, 2) is None


def test_events_are_as_the_standard_has_them():
    assert event("verdicts", b'{"a":1}', "4.2") == b'id: 4.2\nevent: verdicts\ndata: {"a":1}\n\n'
    assert beat("4.2") == b": \nid: 4.2\n\n"


def test_the_sdk_gets_a_data_part_for_each_assertion_of_the_newest_attempt():
    """A part replaces the earlier one of its id."""
    old = {"attempt": 0, "span_key": "c:0-1", "status": "rejected"}
    new = {"attempt": 1, "span_key": "c:0-2", "status": "pending"}

    parts = sdk_parts(record("em-1", old, new, attempt=1, settled=False))

    assert [(one["type"], one["id"]) for one in parts] == [("data-verdict", "em-1#c:0-2"), ("data-pending", "em-1")]
    assert json.dumps(parts[0]["data"])
