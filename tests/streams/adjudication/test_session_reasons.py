"""What an emitter's own session says of a statement: it refutes and explains, and never admits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import GREP, READ, assertion_value, dispositions, emission, observation

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.records import Session
from sluice.streams.adjudication import snapshot
from sluice.streams.adjudication.grounding import covers, session_reason
from sluice.streams.policy.policy import Admissibility, Policy

T, SECOND = 1_790_000_000_000, 1000
TEXT = "All tests pass."
SPAN = {"chars": [0, len(TEXT)]}
HORIZON, LATE = 60 * SECOND, 30 * SECOND
END, LATE_END = T + HORIZON + 1, T + HORIZON + LATE + 1
RUN = {"kind": "test", "scope": "all", "exit": 1, "counts": {"passed": 38, "failed": 2}, "at": T, "edits_after": 0}
PASSED = {**RUN, "exit": 0, "counts": {"passed": 40}}


@pytest.fixture(params=["compiled", "pure"], autouse=True)
def _sides(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr("sluice.streams.adjudication.fold_layout.core", None)


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (RUN, "session-failed"),
        ({**RUN, "exit": None}, "session-failed"),
        ({**RUN, "counts": {"errors": 1}}, "session-failed"),
        ({**RUN, "exit": 0}, "session-only"),
        ({**RUN, "counts": None}, "session-only"),
        ({**RUN, "counts": {"passed": 38}}, "session-only"),
        ({**RUN, "runs_after": 1}, "session-only"),
        (PASSED, "session-only"),
        ({**RUN, "edits_after": 1}, "stale-run"),
        ({**PASSED, "edits_after": 3}, "stale-run"),
        ({**RUN, "scope": ["tests/a"]}, "narrower-run"),
        ({**RUN, "scope": "tests/a"}, "narrower-run"),
        ({**RUN, "scope": ["tests/a"], "stated": ["tests/a/test_b.py"]}, "session-failed"),
        ({**RUN, "scope": ["tests/a"], "stated": ["tests/b"]}, "narrower-run"),
        ({**RUN, "scope": ["tests/a", "tests/b"], "stated": ["tests/a", "tests/b"]}, "session-failed"),
        ({**RUN, "scope": []}, "narrower-run"),
        ({**RUN, "scope": None}, "narrower-run"),
        ({"kind": "test"}, "no-run"),
    ],
)
def test_reasons(session: dict[str, Any], reason: str) -> None:
    """Of the member alone."""
    assert session_reason(msgspec.convert(session, Session)) == reason


@pytest.mark.parametrize(
    ("scope", "stated", "wanted"),
    [
        ("all", "all", True),
        ("all", ["…"], True),
        (["tests"], "all", False),
        (["tests"], ["tests/a.py::test_b"], True),
        (["tests/a.py"], ["tests/a.py::test_b"], True),
        (["tests/a"], ["tests/ab"], False),
        (["tests/"], ["tests"], True),
        (["-k name"], ["tests"], False),
        ("tests", "tests", True),
    ],
)
def test_scopes(scope: Any, stated: Any, *, wanted: bool) -> None:
    """A run covers what it ran, and what lies in it."""
    assert covers(scope, stated) is wanted


def said(session: dict[str, Any] | None, *provenance: dict[str, Any], **fields: Any) -> tuple[str, Any]:
    made = {**assertion_value(TEXT, *provenance), **fields}
    return emission("em-1", TEXT, at=T, assertions=[made if session is None else {**made, "session": session}])


def late_rules(**rules: Any) -> Policy:
    known = Admissibility(**{"horizon": HORIZON, "late_horizon": LATE, **rules})
    return Policy(admissibility=known, disposition=dispositions("review"))


def decided(outputs: list[Any]) -> list[tuple[str, str]]:
    topics = ("admitted", "inadmissible")
    return [(one.value["status"], one.value.get("reason", "")) for one in outputs if one.topic in topics]


def seen(cls: str) -> Any:
    return observation(cls, "corroborates", emission_id="em-1", span=SPAN, at=T)


def test_a_run_that_failed_contradicts(new_lane: Any) -> None:
    """At once, and `verdicts` tells the same; evidence of others comes too late."""
    lane = new_lane(late_rules(), T)
    assert decided(lane.block(T, [said(RUN, {"substrate_class": READ})])) == [("contradicted", "session-failed")]
    (record,) = lane.verdicts()
    assert [(a["status"], a["reason"]) for a in record.value["assertions"]] == [("contradicted", "session-failed")]
    assert decided(lane.block(T + 1, [seen(READ), seen(GREP)])) == []


def test_it_contradicts_what_is_declared(new_lane: Any) -> None:
    """Where declarations admit, an emitter still speaks against itself."""
    lane = new_lane(late_rules(trust="declared"), T)
    notes = [{"substrate_class": name, "ts": T} for name in (READ, GREP)]
    assert decided(lane.block(T, [said(RUN, *notes)])) == [("contradicted", "session-failed")]


@pytest.mark.parametrize("session", [RUN, PASSED, {"kind": "test"}])
def test_a_denial_has_no_session(new_lane: Any, session: dict[str, Any]) -> None:
    """It says that the result is not so: the run is no evidence against it."""
    lane = new_lane(late_rules(), T)
    lane.block(T, [said(session, kind="denial")])
    assert decided(lane.block(END)) == [("unannotated", "no-corroboration")]


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (PASSED, "session-only"),
        ({**PASSED, "scope": ["tests/a"]}, "narrower-run"),
        ({**PASSED, "edits_after": 1}, "stale-run"),
        ({"kind": "test"}, "no-run"),
    ],
)
def test_the_end_of_the_others(new_lane: Any, session: dict[str, Any], reason: str) -> None:
    """Nothing is admitted by it; it says why nothing is, annotated or not."""
    lane = new_lane(late_rules(), T)
    assert decided(lane.block(T, [said(session)])) == []
    assert decided(lane.block(END)) == [("unverified-inference", reason)]
    annotated = new_lane(late_rules(), T)
    annotated.block(T, [said(session, {"substrate_class": READ})])
    assert decided([*annotated.block(END), *annotated.block(LATE_END)]) == [("unverified-inference", reason)]


@pytest.mark.parametrize("session", [PASSED, {"kind": "test"}])
def test_evidence_counts_as_without_it(new_lane: Any, session: dict[str, Any]) -> None:
    """What observers see admits a statement, and too little of it is below the floor."""
    lane = new_lane(late_rules(), T)
    notes = [{"substrate_class": READ}, {"substrate_class": GREP}]
    outputs = lane.block(T, [said(session, *notes), seen(READ), seen(GREP)])
    assert [one[0] for one in decided(outputs)] == ["admitted"]
    other = new_lane(late_rules(), T)
    other.block(T, [said(session, *notes), seen(READ)])
    assert decided(other.block(END)) == [("below-floor", "below-floor")]


def test_a_snapshot_keeps_it(new_lane: Any) -> None:
    """The reason is the same after a restart between arrival and end."""
    lane = new_lane(late_rules(), T)
    lane.block(T, [said(PASSED)])
    lane.state = snapshot.load(list(snapshot.dump(lane.state)))
    assert decided(lane.block(END)) == [("unverified-inference", "session-only")]


@pytest.mark.parametrize(
    "session",
    [
        {"kind": "tests"},
        {},
        {**RUN, "at": "yesterday"},
        {**RUN, "counts": {"failed": -1}},
        {**RUN, "scope": ["a"] * 41},
        {**RUN, "scope": 7},
        {**RUN, "edits_after": -1},
        {**RUN, "command": "x" * 201},
        [],
    ],
)
def test_members_that_are_none(session: Any) -> None:
    """A record with one is refused with a sentence."""
    _, value = said(session)
    assert isinstance(decode_emission(msgspec.json.encode(value)), Fault)
