"""Sightings and citations become observations: which, when, and what nothing of it depends on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from builders import present, sighting_value
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs import blocks
from sluice.codecs.blocks import MAX_INPUT_BYTES, Event, EventKind, Header, Output, Source, quarantine
from sluice.codecs.decode import decode_observation
from sluice.codecs.errors import DoesNotHoldError, Fault
from sluice.codecs.partition import PARTITIONERS
from sluice.streams.adjudication.fold import event_for
from sluice.streams.adjudication.state import waiting_cost
from sluice.streams.adjudication.versions import fold_version
from sluice.streams.judging.checks import parse_check
from sluice.streams.judging.claim_forms import checks_of
from sluice.streams.judging.coverage import cover
from sluice.streams.policy.policy import DEFAULT_POLICY, HOUR, Admissibility, Observer, Policy
from sluice.streams.sightings import binding
from sluice.streams.sightings import binding as binding_state
from sluice.streams.sightings.binding import MAX_TIMERS, due, dump, load, next_due

T = 1_800_000_000_000
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."
HORIZON = DEFAULT_POLICY.admissibility.horizon
WAIT = HOUR + HORIZON
READ, LOG, BRIEF = "substrate.code.read", "substrate.git.log", "substrate.mcp.brief"
Record = tuple[str, Any]


def seen_before(name: str = "sha256:e3b0", **fields: Any) -> Record:
    return "sightings", present(sighting_value(name, at=T - 1000, **fields))


def citation(name: str = "sha256:e3b0", **fields: Any) -> Record:
    value = {
        "observation_id": name,
        "substrate_class": READ,
        "emission_id": "em-1",
        "attempt": 0,
        "span": {"chars": [0, 43]},
        "kind": "assertion",
        "cited_at": T,
        "text": TEXT,
        "checks": ["contains(2026-05-25)"],
        **fields,
    }
    return "citations", {key: item for key, item in value.items() if item is not None}


_COVERED = cover(TEXT, [parse_check("contains(2026-05-25)")])
COVERED = {"coverage": _COVERED.level, "unchecked": [list(span) for span in _COVERED.unchecked]}
"""What observers say that this check covers of the sentence."""


class Lane:
    """A binding lane whose first block holds the policy; heights and offsets are kept as a lane keeps them."""

    fold = fold_version() + binding.FORMS

    def __init__(self, policy: Policy = DEFAULT_POLICY, lane: int = 0, lanes: int = 1) -> None:
        self.state = binding.new_bind_state(lane, lanes)
        self._height, self._next = 0, dict.fromkeys(binding.INPUTS, 0)
        self.block(T, [("policies", policy)])

    def block(self, time: int, records: Iterable[Record] = (), watermark: int | None = None) -> list[Output]:
        """Closes a block of these records and folds it."""
        events = [self._event(time, *record) for record in records]
        rules = self.state.rules
        header = Header(
            lane=rules.lane,
            lanes=rules.lanes,
            height=self._height,
            prev=blocks.GENESIS,
            time=time,
            watermark=time if watermark is None else watermark,
            policy=rules.policy_hash,
            fold=self.fold,
            sources=[Source(topic, 0, self._next[topic]) for topic in binding.INPUTS],
            outputs=blocks.outputs_root([]),
        )
        self._height += 1
        return binding.fold(self.state, blocks.seal(header, events)[0])

    def _event(self, time: int, topic: str, value: Any) -> Event:
        if isinstance(value, Policy):
            return Event(EventKind.POLICY, 0, 0, time, [], None, value.document)
        self._next[topic] += 1
        if isinstance(value, Event):
            return value
        raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
        key = value["observation_id"].encode() if isinstance(value, dict) else b"k"
        return event_for(binding.INPUTS.index(topic), self._next[topic], time, [], key, raw)


def values(outputs: Sequence[Output]) -> list[dict[str, Any]]:
    """The observations among some outputs."""
    return [msgspec.json.decode(one.value) for one in outputs if one.topic == "observations"]


def reasons(outputs: Sequence[Output]) -> list[str]:
    """Why there are dead letters among some outputs."""
    return [dict(one.headers)["sluice-reason"].decode() for one in outputs if one.topic == "dead-letters"]


# ---------------------------------------------------------------- what is written


def test_a_sighting_that_is_cited_becomes_an_observation_of_the_assertion():
    """Facts of the sighting, subject of the citation, key of the emission; whoever reads observations takes it in."""
    lane = Lane()
    lane.block(T, [citation()])

    (output,) = lane.block(
        T + 1,
        [seen_before(locator={"path": "CHANGELOG.md"}, detail={"size": 13}, confidence=0.9, tier="identity-bound")],
    )

    assert (output.topic, output.key) == ("observations", b"em-1")
    assert msgspec.json.decode(output.value) == {
        "observation_id": "sha256:e3b0",
        "substrate_class": READ,
        "observed_at": T - 1000,
        "observer": "observer-2",
        "tier": "identity-bound",
        "confidence": 0.9,
        "locator": {"path": "CHANGELOG.md"},
        "detail": {
            "size": 13,
            "checks": [{"check": "contains(2026-05-25)", "holds": True}],
        },
        "subject": {"emission_id": "em-1", "span": {"chars": [0, 43]}, "attempt": 0},
        "outcome": "corroborates",
        "verified": [0],
        "refuted": [],
        **COVERED,
    }
    assert not isinstance(decode_observation(output.value), Fault)


def test_either_side_may_come_first():
    """The same bytes come of it."""
    one, other = Lane(), Lane()
    one.block(T, [citation()])
    other.block(T, [seen_before()])

    assert one.block(T, [seen_before()]) == other.block(T, [citation()])


def test_what_is_cited_must_be_there():
    """Citing a real observation does not make it support just any text."""
    (value,) = values(Lane().block(T, [seen_before(content="## 2026-05-26"), citation()]))

    assert value["outcome"] == "absent"
    assert value["verified"] == []
    assert value["detail"]["reason"] == "check-fails"


def test_a_denial_is_borne_out_by_nothing_that_is_there():
    """Only `absent`, `missing` and what stands behind a `not` bear one out."""
    (value,) = values(Lane().block(T, [seen_before(), citation(kind="denial")]))

    assert value["outcome"] == "absent"


def test_classes_do_not_mix():
    """An anchored class is the bare one; any other is another substrate."""
    assert values(Lane().block(T, [seen_before(substrate_class=LOG), citation()])) == []
    (value,) = values(Lane().block(T, [seen_before(substrate_class=f"1.0.{READ}"), citation()]))
    assert value["substrate_class"] == READ


@pytest.mark.parametrize("name", ["substrate.nowhere", "9.0.substrate.grep", "unverified-inference"])
def test_what_is_no_class_is_only_counted(name: str):
    """On either side: nothing waits for it."""
    lane = Lane()

    assert lane.block(T, [seen_before(substrate_class=name), citation(substrate_class=name)]) == []
    assert binding_state.counters(lane.state)["not-counted"] == 2
    assert lane.state.held == 0


def test_a_trace_context_is_passed_through():
    """The emission's, which its citation carries."""
    lane = Lane()
    key, value = b"sha256:e3b0", msgspec.json.encode(citation()[1])
    event = event_for(1, 1, T, [("traceparent", b"00-aa-bb-01")], key, value)

    (output,) = lane.block(T, [seen_before(), ("citations", event)])

    assert output.headers == [
        ("content-type", b"application/json"),
        ("traceparent", b"00-aa-bb-01"),
        (binding.BOUND, b"0/1/0"),
    ]


def test_a_sentence_without_checks_has_the_one_that_its_words_give():
    """As observers derive it, and marked as theirs; a sentence that gives none decides nothing."""
    text = "`HORIZON` equals 10 in `a.py`."
    told, nothing = (citation(text=said, checks=None, substrate_class=BRIEF) for said in (text, "It is so."))
    sighting = seen_before(substrate_class=BRIEF, content='{"HORIZON": 10}', locator={"path": "a.py"})

    ((check, covered), (_, none)) = (
        (one["detail"]["checks"], one) for one in values(Lane().block(T, [sighting, told, nothing]))
    )

    derived = checks_of(text, "assertion", None)
    assert [(one["check"], one["holds"], one["by"]) for one in check] == [(derived.checks[0], True, "form")]
    assert (covered["outcome"], covered["verified"]) == ("corroborates", [0])
    assert (none["outcome"], none["detail"]["reason"], "verified" in none) == ("absent", "check-undecided", False)


def test_other_forms_are_not_folded_with():
    """They may give other checks of the same sentences."""
    lane = Lane()
    for forms in ("", " forms=999"):
        lane.fold = fold_version() + forms
        with pytest.raises(DoesNotHoldError, match="other claim forms"):
            lane.block(T)


# ---------------------------------------------------------------- repetition


def test_a_repetition_changes_nothing():
    """Of either side, in the same block or a later one."""
    lane = Lane()
    assert len(values(lane.block(T, [seen_before(), citation(), seen_before(), citation()]))) == 1

    assert lane.block(T + 5, [citation(), seen_before()]) == []
    assert binding_state.counters(lane.state)["duplicate"] == 4


def test_a_repetition_at_the_end_of_its_own_time_changes_nothing():
    """The other side, which came later, still waits then."""
    lane = Lane()
    lane.block(T, [citation()])
    assert len(lane.block(T + WAIT, [seen_before()])) == 1

    assert lane.block(T + WAIT + 1, [citation()]) == []
    assert lane.block(T + 2 * WAIT, [citation()]) == []
    assert "unmatched" not in binding_state.counters(lane.state)


def test_another_sighting_of_the_same_is_another_pair():
    """It is newer evidence."""
    lane = Lane()
    lane.block(T, [seen_before(), citation()])

    (value,) = values(lane.block(T + 60_000, [seen_before(observed_at=T + 60_000)]))

    assert value["observed_at"] == T + 60_000


# ---------------------------------------------------------------- waiting


@pytest.mark.parametrize(("first", "second"), [(citation(), seen_before()), (seen_before(), citation())])
def test_either_side_waits_for_the_window_and_the_horizon(first: Record, second: Record):
    """On the watermark, that instant included."""
    early, late = Lane(), Lane()
    early.block(T, [first])
    late.block(T, [first])

    assert len(values(early.block(T + WAIT, [second]))) == 1
    assert late.block(T + WAIT + 1, [second]) == []
    assert binding_state.counters(late.state)["unmatched"] == 1


def test_a_backlog_ends_no_waiting():
    """Time alone does not: what the inputs held is read first."""
    lane = Lane(Policy(admissibility=Admissibility(max_stall=24 * HOUR)))
    lane.block(T, [citation()])

    assert len(values(lane.block(T + 3 * WAIT, [seen_before()], watermark=T + 10))) == 1


def test_a_watermark_that_stalls_ends_waiting_all_the_same():
    """After `max_stall` of running time."""
    lane = Lane(Policy(admissibility=Admissibility(max_stall=1000, horizon=1000)))
    lane.block(T, [citation()], watermark=T)
    for second in range(1, 2 * HOUR // 1000, 2):
        lane.block(T + 2 * second * 1000, watermark=T)

    assert lane.state.held == 0


def test_a_lane_says_when_something_is_due():
    """The block after which nothing waits any more."""
    lane = Lane()
    assert next_due(lane.state) == (None, None)
    lane.block(T, [citation()])

    at, mark = next_due(lane.state)

    assert (at, mark) == (T + WAIT + 1, T + WAIT + 1)
    assert (due(lane.state, T, T + WAIT), due(lane.state, T, T + WAIT + 1)) == (0, 1)
    lane.block(T + WAIT + 1)
    assert lane.state.held == 0


def test_a_newer_policy_is_for_what_comes_after_it():
    """What waits already keeps its end."""
    longer = Policy(admissibility=Admissibility(horizon=2 * HORIZON))
    lane = Lane()
    lane.block(T, [citation(), ("policies", longer)])
    lane.block(T, [citation("b")])

    assert values(lane.block(T + WAIT + HORIZON, [seen_before(), seen_before("b")]))[0]["observation_id"] == "b"
    assert lane.state.rules.policy_hash == longer.hash


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (("sightings", b"{"), "not-json"),
        (("citations", b""), "not-json"),
        (seen_before(content=None), "schema"),
        (seen_before(content="x" * 64_001), "schema"),
        (seen_before(observed_at="yesterday"), "schema"),
        (citation(text="a" * 20_001), "schema"),
        (citation(span={"chars": [0, 1], "path": ""}), "schema"),
        (citation(span={"chars": [4, 4]}), "span-out-of-range"),
        (citation(cited_at="soon"), "schema"),
        (seen_before(observed_at=T + 30_001), "clock-skew"),
        (seen_before(detail={"much": "x" * 850_000}), "oversize"),
        (seen_before(detail={"much": "x" * MAX_INPUT_BYTES}), "oversize"),
        (seen_before(detail={"much": "x" * 425_000}, signature="AA=="), "oversize"),
    ],
)
def test_what_cannot_be_taken_in_is_a_dead_letter(record: Record, reason: str):
    """With its reason; what comes behind it is bound all the same."""
    outputs = Lane().block(T, [record, seen_before(), citation()])

    assert reasons(outputs) == [reason]
    assert len(values(outputs)) == 1


def test_a_key_has_to_be_the_observation_id_and_of_this_lane():
    """Else the two sides would never meet."""
    name = next(f"o-{n}" for n in range(9) if PARTITIONERS["murmur2"](f"o-{n}".encode(), 2) == 1)
    value = msgspec.json.encode(seen_before(name)[1])
    events = [("sightings", event_for(0, 1, T, [], key, value)) for key in (b"other", None, name.encode())]

    outputs = Lane(lane=0, lanes=2).block(T, events)

    assert reasons(outputs) == ["misrouted"] * 3
    assert reasons(Lane(lane=1, lanes=2).block(T, events)) == ["misrouted"] * 2


@pytest.mark.parametrize(
    "fields", [{"detail": {"much": "x" * 840_000}}, {"detail": {"much": "x" * 424_000}, "signature": "AA=="}]
)
def test_the_largest_sighting_makes_an_observation_that_is_an_input(fields: dict[str, Any]):
    """Whatever its citation adds, and though it goes along whole where it is signed."""
    checks = [f'contains("{"x" * 1900}")'] * 20
    outputs = Lane().block(T, [seen_before(**fields), citation(checks=checks)])

    (output,) = outputs
    assert len(output.value) <= MAX_INPUT_BYTES


def test_lost_inputs_are_counted():
    """As retention took them."""
    lane = Lane()

    assert lane.block(T, [("sightings", Event(EventKind.GAP, 0, 3, T, [], None, b"10"))]) == []
    assert binding_state.counters(lane.state)["lost"] == 7


def test_a_batch_that_could_not_be_read_is_a_dead_letter_and_counted():
    """As with any lane."""
    lane = Lane()

    outputs = lane.block(T, [("citations", quarantine(1, 3, 10, T, "damaged", b"raw"))])

    assert reasons(outputs) == ["unreadable-batch"]
    assert binding_state.counters(lane.state)["quarantined"] == 7


def test_a_ledger_begins_with_a_policy():
    """No record has any meaning before."""
    lane = Lane()
    lane.state = binding.new_bind_state(0, 1)

    with pytest.raises(DoesNotHoldError, match="begins with a policy"):
        lane.block(T, [seen_before()])


def test_a_policy_that_is_none_changes_nothing():
    """The adjudicating lane tells of it."""
    lane = Lane()
    bad = Event(EventKind.POLICY, 0, 0, T, [], None, b"{}x")

    assert lane.block(T, [("sightings", bad), seen_before(), citation()])[0].topic == "observations"
    assert lane.state.rules.policy_hash == DEFAULT_POLICY.hash


# ---------------------------------------------------------------- bounds of a block


def test_a_block_writes_so_much_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch):
    """Whoever cites much is served all the same, in the order in which it came, before anything else is read."""
    monkeypatch.setattr(binding, "MAX_PAIRS", 10)
    lane, whole = Lane(), Lane()
    cited = [citation(emission_id=f"em-{number}") for number in range(25)]
    first = lane.block(T, [*cited, seen_before(), seen_before(observed_at=T)])
    assert len(first) == 10
    assert due(lane.state, T, T) > MAX_TIMERS
    assert next_due(lane.state) == (T, None)

    later = [lane.block(T) for _ in range(4)]

    assert [len(one) for one in later] == [10, 10, 10, 10]
    assert due(lane.state, T, T) == 0
    monkeypatch.undo()
    at_once = whole.block(T, [*cited, seen_before(), seen_before(observed_at=T)])
    assert [one.value for some in (first, *later) for one in some] == [one.value for one in at_once]


def test_nothing_is_forgotten_that_is_still_to_be_paired(monkeypatch: pytest.MonkeyPatch):
    """However late the block comes that has room for it."""
    monkeypatch.setattr(binding, "MAX_PAIRS", 1)
    lane = Lane()
    lane.block(T, [citation(), citation(emission_id="em-2"), seen_before()])

    (value,) = values(lane.block(T + 3 * WAIT))

    assert value["subject"]["emission_id"] == "em-2"
    lane.block(T + 3 * WAIT + 1)
    assert lane.state.held == 0


# ---------------------------------------------------------------- laws

NAMES = st.sampled_from(["o-1", "o-2"])
SIGHTINGS = st.builds(
    lambda name, cls, ago, content: seen_before(name, substrate_class=cls, observed_at=T - ago, content=content),
    NAMES,
    st.sampled_from([READ, LOG, f"1.0.{READ}"]),
    st.integers(0, 2),
    st.sampled_from(["## 2026-05-25", "nothing"]),
)
CITATIONS = st.builds(
    lambda name, cls, number, kind: citation(name, substrate_class=cls, emission_id=f"em-{number}", kind=kind),
    NAMES,
    st.sampled_from([READ, LOG]),
    st.integers(0, 2),
    st.sampled_from(["assertion", "denial"]),
)
RECORDS = st.lists(SIGHTINGS | CITATIONS, max_size=14)


def expected(records: Iterable[Record]) -> Counter[tuple[str, ...]]:
    """The pairs that ought to be, by a plain product of the two sides, each once."""
    sides: dict[str, list[dict[str, Any]]] = {"sightings": [], "citations": []}
    for topic, value in records:
        if value not in sides[topic]:
            sides[topic].append(value)
    found = Counter[tuple[str, ...]]()
    for seen in sides["sightings"]:
        for cited in sides["citations"]:
            cls = seen["substrate_class"].removeprefix("1.0.")
            if (seen["observation_id"], cls) == (cited["observation_id"], cited["substrate_class"]):
                holds = "2026-05-25" in seen["content"] and cited["kind"] == "assertion"
                outcome = "corroborates" if holds else "absent"
                found[seen["observation_id"], cls, str(seen["observed_at"]), cited["emission_id"], outcome] += 1
    return found


def kinds_of(outputs: Sequence[Output]) -> Counter[tuple[str, ...]]:
    return Counter(
        (
            one["observation_id"],
            one["substrate_class"],
            str(one["observed_at"]),
            one["subject"]["emission_id"],
            one["outcome"],
        )
        for one in values(outputs)
    )


@settings(deadline=None, max_examples=examples(60))
@given(RECORDS, st.data())
def test_the_order_of_arrival_does_not_matter(records: list[Record], data: st.DataObject):
    """Nor how it is cut into blocks, nor what comes again: each pair makes one observation, byte for byte."""
    lane, other = Lane(), Lane()
    outputs = [one for record in records for one in lane.block(T, [record])]
    shuffled = data.draw(st.permutations(records + data.draw(st.lists(st.sampled_from(records or [seen_before()])))))
    if not records:
        shuffled = []

    others = other.block(T, shuffled)

    assert kinds_of(outputs) == expected(records)
    assert Counter(one.value for one in outputs) == Counter(one.value for one in others)


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.tuples(SIGHTINGS | CITATIONS, st.integers(0, HOUR)), max_size=12), st.data())
def test_restored_is_uninterrupted(steps: list[tuple[Record, int]], data: st.DataObject):
    """At every cut: the same outputs, and the same bytes of the state."""
    cut = data.draw(st.integers(0, len(steps)))
    lane, other = Lane(), Lane()
    other._next = lane._next
    time = T
    for place, (record, after) in enumerate(steps):
        if place == cut:
            other.state = load(list(dump(other.state)))
        time += after
        assert lane.block(time, [record]) == other.block(time, [record])
    assert list(dump(load(dump(other.state)))) == list(dump(lane.state))


def is_plain(record: Record) -> bool:
    """Whether no other record of these makes the same observation."""
    return not record[1]["substrate_class"].startswith("1.0") and record[1].get("kind") != "denial"


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.tuples((SIGHTINGS | CITATIONS).filter(is_plain), st.integers(0, HOUR)), min_size=1, max_size=25))
def test_no_pair_is_written_twice_and_nothing_is_kept_for_ever(steps: list[tuple[Record, int]]):
    """However late a repetition comes, while the other side still waits; after twice its waiting time nothing is."""
    lane, time, last = Lane(), T, dict[bytes, int]()
    for record, after in steps:
        time += after
        for one in lane.block(time, [record]):
            assert one.topic == "observations"
            assert time - last.get(one.value, -9 * WAIT) > WAIT
            last[one.value] = time
    lane.block(time + 2 * WAIT + 1)
    assert lane.state.held == 0
    assert lane.state.rules.live == 0


def test_a_snapshot_is_of_the_moment_at_which_it_was_asked_for():
    """Its chunks may be made while the lane folds on."""
    lane = Lane()
    lane.block(T, [citation(), seen_before("o-2")])
    chunks = dump(lane.state)
    still = list(dump(lane.state))
    lane.block(T + WAIT, [seen_before()])
    lane.block(T + 5 * WAIT)

    assert list(chunks) == still


@pytest.mark.parametrize("chunks", [[], [b""], [b"\x80"]])
def test_what_is_no_snapshot_is_refused(chunks: list[bytes]):
    """With a sentence."""
    with pytest.raises(DoesNotHoldError):
        load(chunks)
    with pytest.raises(DoesNotHoldError):
        load([next(dump(Lane().state)), *chunks])
    with pytest.raises(DoesNotHoldError, match="format"):
        load([next(dump(Lane().state)), msgspec.msgpack.encode({"bind": 1, "jobs": [], "counters": {}})])


def test_pairs_still_to_be_written_survive_a_restart(monkeypatch: pytest.MonkeyPatch):
    """Where the one left off the other goes on."""
    monkeypatch.setattr(binding, "MAX_PAIRS", 2)
    lane = Lane()
    lane.block(T, [*(citation(emission_id=f"em-{number}") for number in range(5)), seen_before()])
    other = Lane()
    other.state, other._next, other._height = load(dump(lane.state)), lane._next, lane._height

    assert lane.block(T) == other.block(T) != []


# ---------------------------------------------------------------- how much may wait


def bounded(max_waiting: int = 5, max_waiting_bytes: int = 1 << 30) -> Lane:
    """A lane with these bounds."""
    rules = Admissibility(max_waiting=max_waiting, max_waiting_bytes=max_waiting_bytes)
    return Lane(Policy(admissibility=rules, observers={"lab": Observer()}))


def many(count: int, **fields: Any) -> list[Record]:
    """Sightings of one id, no two alike."""
    return [seen_before(detail={"n": number}, **fields) for number in range(count)]


def test_sightings_that_nobody_cites_are_bounded():
    """For each id and observer: all that the policy does not list share one quota, whatever they call themselves."""
    lane = bounded()
    flood = [seen_before(observer=f"stranger-{number}", detail={"n": number}) for number in range(12)]

    assert reasons(lane.block(T, flood)) == ["too-many-waiting"] * 7
    assert reasons(lane.block(T, many(6, observer="lab"))) == ["too-many-waiting"]
    assert reasons(lane.block(T, many(5, name="other"))) == []
    assert len(values(lane.block(T, [citation()]))) == 10


def test_sightings_that_have_met_a_citation_wait_no_more():
    """An observer that looks again and again at what is cited is heard each time."""
    lane = bounded()
    lane.block(T, [citation()])
    for _ in range(4):
        assert reasons(lane.block(T, many(5))) == []
    outputs = [lane.block(T, [seen_before(detail={"n": 100 + number})]) for number in range(20)]

    assert [len(values(one)) for one in outputs] == [1] * 20


def test_an_id_that_everybody_cites_is_no_flood():
    """Citations are our own lanes' records: as many as there are emissions."""
    lane = bounded()

    assert reasons(lane.block(T, [citation(emission_id=f"em-{number}") for number in range(50)])) == []


@pytest.mark.parametrize(("record", "share"), [(seen_before, 4), (citation, 2)])
def test_a_lane_holds_no_more_bytes_than_its_budget(record: Any, share: int):
    """Half for citations; of the other half a share for each listed observer, and one for all others."""
    size = waiting_cost(msgspec.json.encode(record(name="n-10")[1]))
    lane = bounded(max_waiting_bytes=share * 10 * size)

    outputs = lane.block(T, [record(name=f"n-{number}") for number in range(10, 35)])

    assert reasons(outputs) == ["too-many-waiting"] * 15
    later = lane.block(T + 3 * WAIT)
    assert later == []
    assert lane.state.held == 0
    assert reasons(lane.block(T + 3 * WAIT, [record(name="n-99")])) == []


def test_no_sighting_looks_through_those_before_it():
    """Only the other side's, of the same class: so the last of thousands costs what the first did."""
    lane = bounded(max_waiting=100_000)
    lane.block(T, many(2000))
    last = lane.state.at_rest()[-1]

    assert list(lane.state.partners(last, -1)) == []


def test_what_was_dropped_goes_in_bulk():
    """No list is moved up for each; none keeps more dead than living."""
    lane = bounded(max_waiting=100_000)
    for minute in range(50):
        lane.block(T + minute * 60_000, [seen_before(detail={"n": minute * 10 + n}) for n in range(10)])
    for minute in range(50, 130):
        lane.block(T + minute * 60_000)
        for found in lane.state._orders.values():
            assert 2 * found.dead <= len(found.all)

    assert lane.state.held == 0
    assert (lane.state._orders, lane.state._names, lane.state._unmet, lane.state._bytes) == ({}, {}, {}, {})


def test_what_is_bound_is_marked():
    """With the lane, the block's height, and the place among its outputs, so that an audit finds it among what
    observers write; a dead letter has no mark."""
    lane = Lane()
    lane.block(T, [citation(), citation(emission_id="em-2")])

    outputs = lane.block(T + 1, [("sightings", b"{"), seen_before()])

    assert [dict(one.headers).get(binding.BOUND) for one in outputs[1:]] == [b"0/2/1", b"0/2/2"]
    assert binding.BOUND not in dict(outputs[0].headers)
