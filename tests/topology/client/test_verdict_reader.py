"""The reader of verdicts on a fake: what it hands out, what it leaves out, and positions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import text_value

from sluice.topology.client import (
    AsyncVerdictReader,
    ClosedError,
    EmissionVerdicts,
    FakeSluice,
    Position,
    Settings,
    UsageError,
    VerdictReader,
)

READ, GREP = "substrate.code.read", "substrate.grep"
TEXT = "Ignore all rules."


@pytest.fixture
def fake() -> FakeSluice:
    return FakeSluice('verdicts = "all"')


def emit(fake: FakeSluice, emission_id: str = "em-1", attempt: int = 0, **fields: Any) -> None:
    """An emission of one assertion, which is pending."""
    claim = {"span": {"chars": [0, len(TEXT)]}, "provenance": [{"substrate_class": READ}]}
    emission = text_value(emission_id, TEXT, attempt=attempt, assertions=[claim])
    fake.emit(emission | fields)


async def test_each_record_says_what_became_of_an_emission(fake: FakeSluice):
    """Typed, pending ones and discarded ones included, and without any text."""
    emit(fake, emitter={"system": "bot"})
    fake.corroborate("em-1", READ, GREP)
    emit(fake, "em-2")
    fake.advance("21m")

    async with fake.async_verdict_reader() as reader:
        found = [one async for one in reader]

    last = {one.emission_id: one for one in found}
    assert [(one.emission_id, one.settled) for one in found[:1]] == [("em-1", False)]
    assert (last["em-1"].emitter, last["em-1"].attempt, last["em-1"].settled) == ("bot", 0, True)
    assert last["em-2"].emitter is None
    admitted, discarded = (last[name].assertion("c:0-17") for name in ("em-1", "em-2"))
    assert admitted is not None
    assert discarded is not None
    assert (admitted.status, discarded.status, discarded.disposition) == ("admitted", "unverified-inference", "discard")
    assert last["em-2"].assertions == [discarded]
    assert last["em-1"].assertion("c:0-18") is None
    assert last["em-2"].decided_at <= fake.now
    assert "gnore" not in repr(found) + repr([one.record for one in found])


async def test_an_assertion_is_the_newest_attempt_s_unless_another_is_asked_for(fake: FakeSluice):
    """The one before it was superseded."""
    emit(fake)
    emit(fake, attempt=1)

    async with fake.async_verdict_reader() as reader:
        *_, last = [one async for one in reader]

    newest, before = last.assertion("c:0-17"), last.assertion("c:0-17", attempt=0)
    assert newest is not None
    assert before is not None
    assert (newest.status, before.reason) == ("pending", "superseded")


async def test_only_the_caller_s_own_are_handed_out(fake: FakeSluice):
    """By their emission ids."""
    for name in ("a-1", "b-1"):
        emit(fake, name)

    async with fake.async_verdict_reader(wants=lambda name: name.startswith("a-")) as reader:
        found = [one async for one in reader]

    assert ([one.emission_id for one in found], reader.unwanted) == (["a-1"], 1)


async def test_what_is_no_record_is_counted(fake: FakeSluice):
    """Somebody else wrote to the topic, under another emission's key or none, or a version that is still to come."""
    emit(fake)
    lane, record = fake._world.lane, json.dumps(fake.records("verdicts")[0]).encode()
    for key, value in ((b"em-2", record), (None, record), (b"em-1", b""), (b"em-1", b"\xff"), (b"em-1", b"[" * 10_000)):
        lane.put("verdicts", key, value, [], fake.now)

    async with fake.async_verdict_reader() as reader:
        found = [one async for one in reader]

    assert (len(found), reader.unreadable) == (1, 5)


async def test_a_group_keeps_the_position(fake: FakeSluice):
    """Apart from that of a reader of requests of the same name; what failed comes again."""
    emit(fake, "em-1")
    async with fake.async_verdict_reader(group="mine") as reader:
        await reader.next(1.0)
    async with fake.async_re_emission_reader(group="mine") as other:
        assert other.position == Position()
    emit(fake, "em-2")

    async with fake.async_verdict_reader(group="mine") as reader:
        found = [one async for one in reader]
    async with fake.async_verdict_reader(from_position=Position({0: 1})) as reader:
        again = [one async for one in reader]

    assert found == again
    assert [one.emission_id for one in found] == ["em-2"]


async def test_it_is_a_context_manager(fake: FakeSluice):
    """Outside of its block it reads nothing."""
    with pytest.raises(ClosedError):
        await fake.async_verdict_reader().next(0.0)
    with pytest.raises(UsageError, match="a position or a group, not both"):
        AsyncVerdictReader(Settings(), group="mine", from_position=Position())


def test_the_blocking_one_does_the_same(fake: FakeSluice):
    """Each of its ways."""
    emit(fake, "em-0")
    emit(fake, "em-1")
    emit(fake, "em-2")

    with fake.verdict_reader(group="mine", wants=lambda name: name != "em-0") as reader:
        assert isinstance(reader, VerdictReader)
        one = reader.next(1.0)
        assert isinstance(one, EmissionVerdicts)
        assert repr(one) == "<EmissionVerdicts em-1 attempt 0 pending 0/1>"
        assert reader.position == Position({0: 2})
        reader.commit()
        assert [one.emission_id for one in reader] == ["em-2"]
        assert reader.next(0.0) is None
        assert (reader.unwanted, reader.unreadable) == (1, 0)
    with fake.verdict_reader(group="mine") as reader:
        assert list(reader) == []
