"""What the adjudicating lane tells of an assertion that cites an observation, and what a sighting says of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import decoded, emission_value
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.decode import MAX_TEXT, decode_citation
from sluice.codecs.errors import Fault
from sluice.codecs.records import Emission, Kind
from sluice.streams.adjudication import outputs
from sluice.streams.adjudication.outputs import Citing
from sluice.streams.judging.claim_forms import Derived
from sluice.streams.judging.coverage import Coverage
from sluice.streams.judging.prose_literals import format_ns
from sluice.streams.judging.verify import Judged, checks_of_assertion, match, time_of

T = 1_800_000_000_000
READ, LOG = "substrate.code.read", "substrate.git.log"
MTIME, COUNT, BRIEF = "substrate.fs.mtime", "substrate.do.sse-count", "substrate.mcp.brief"
DIGEST = "sha256:" + "0" * 64
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."


def declaring(*provenance: dict[str, Any], text: str = TEXT, **fields: Any) -> Emission:
    return decoded(emission_value(text=text, attempt=2, claim={"provenance": list(provenance), **fields}))


def cited(one: Emission, classes: tuple[str, ...] = (READ,)) -> list[tuple[bytes, dict[str, Any]]]:
    """Keys and values of an emission's citations; every one of them is a citation."""
    wire = [pair for assertion in one.assertions or () for pair in Citing(one, classes, T, DIGEST).of(assertion)]
    assert not any(isinstance(decode_citation(value), Fault) for _, value in wire)
    return [(key, msgspec.json.decode(value)) for key, value in wire]


# ---------------------------------------------------------------- what is cited


def test_a_citation_says_what_the_test_needs():
    """The sentence and the bare class, keyed by what it cites; nothing is read of the sentence."""
    ((key, value),) = cited(declaring({"substrate_class": f"1.0.{READ}", "observation_id": "sha256:e3b0"}))

    assert key == b"sha256:e3b0"
    assert value == {
        "observation_id": "sha256:e3b0",
        "substrate_class": READ,
        "emission_id": "em-1",
        "attempt": 2,
        "span": {"chars": [0, 43]},
        "kind": "assertion",
        "cited_at": "2027-01-15T08:00:00Z",
        "digest": DIGEST,
        "text": TEXT,
    }


def test_checks_go_along_with_who_proposed_them():
    """Those that it declares go before the proposer's; the path that the annotation names goes along as well, so that
    another file's sighting says nothing of it."""
    proposal = {"by": "critic", "at": T, "digest": DIGEST, "checks": ["contains(2026)"], "whole": True}
    annotation = {"substrate_class": READ, "observation_id": "o-1", "locator": {"path": "CHANGELOG.md"}}

    ((_, proposed),) = cited(declaring(annotation, proposal=proposal))
    ((_, declared),) = cited(declaring(annotation, proposal=proposal, checks=["exists(a)"]))

    assert proposed["checks"] == ["contains(2026)"]
    assert declared["checks"] == ["exists(a)"]
    assert [(one["proposer"], one["whole"], one["path"]) for one in (proposed, declared)] == [
        ("critic", True, "CHANGELOG.md")
    ] * 2


def test_a_sentence_that_is_too_long_is_left_out():
    """Then nothing is read of it."""
    ((_, value),) = cited(declaring({"substrate_class": READ, "observation_id": "o-1"}, text="a" * (MAX_TEXT + 1)))

    assert "text" not in value


@pytest.mark.parametrize(
    "annotation",
    [
        {"substrate_class": READ},
        {"substrate_class": LOG, "observation_id": "o-1"},
        {"substrate_class": "substrate.nowhere", "observation_id": "o-1"},
        {"substrate_class": f"9.0.{READ}", "observation_id": "o-1"},
        {"substrate_class": READ, "observation_id": "o-1", "unknown": True},
        {"substrate_class": "unverified-inference", "observation_id": "o-1"},
        {"substrate_class": "decayed-to-uncertainty", "observation_id": "o-1"},
        {"substrate_class": READ, "observation_id": "peercred:uid=998"},
    ],
)
def test_what_cites_nothing_that_may_be_seen_is_not_cited(annotation: dict[str, Any]):
    """No id, another class, no class, a terminal; and no id that may hold credentials in clear [S §12]."""
    assert cited(declaring(annotation)) == []


def test_annotations_that_cite_the_same_are_one_citation():
    """Other terms are another one: each place that is named has its own."""
    one = {"substrate_class": READ, "observation_id": "o-1"}
    other = one | {"locator": {"path": "docs/a.md"}}

    assert len(cited(declaring(one, one))) == 1
    assert len(cited(declaring(one, other))) == 2


def test_an_emission_is_cited_within_bounds(monkeypatch: pytest.MonkeyPatch):
    """What lies beyond is told."""
    provenance = [{"substrate_class": READ, "observation_id": f"o-{number}"} for number in range(9)]
    one = declaring(*provenance)
    (assertion,) = one.assertions or ()
    monkeypatch.setattr(outputs, "MAX_BYTES", 900)
    within = Citing(one, [READ], T, DIGEST)

    found = list(within.of(assertion))

    assert 0 < len(found) < 9
    assert within.left_out == 9 - len(found)


# ---------------------------------------------------------------- what a sighting says


def judge(
    checks: list[str] | None,
    content: str | float,
    substrate_class: str = READ,
    path: str = "a.py",
    kind: Kind = "assertion",
) -> Judged:
    """What comes of declared checks on a sighting of `content` at `path`, where the annotation names `a.py`."""
    derived = Derived(tuple(checks or ()), bool(checks), "declared" if checks else "none")
    asked = checks_of_assertion(kind, derived)
    return match(substrate_class, asked, Coverage("whole", ()), content, path, "a.py")


def test_a_text_verifies_what_stands_in_it():
    """By place; what is not there is not found, and never false: the text may be a part of what stood there."""
    found = judge(['contains("retry limit 42")', "contains(43)"], "the retry limit 42 holds")

    assert (found.outcome, found.verified, found.refuted) == ("corroborates", (0,), ())
    assert judge(["contains(43)"], "the retry limit 42 holds").outcome == "absent"


@pytest.mark.parametrize(
    "check",
    ["absent(secret)", "count(a, =, 1)", "equals(a, 1)", "defines(a)", "calls(a, b)", "exists(a.py)", "order(a, b)"],
)
def test_a_piece_of_text_decides_nothing_else(check: str):
    """Nothing can be said to be missing from what may be a part, and no code is parsed in a lane."""
    found = judge([check], "a = 1\ndef a(): b()\n")

    assert (found.outcome, found.verified, found.refuted) == ("absent", (), ())


def test_another_files_sighting_says_nothing_of_this_one():
    """The emitter chooses the path of its annotation; the sighting says which file it is of."""
    assert judge(["contains(a)"], "a", path="a.py").outcome == "corroborates"
    assert judge(["contains(a)"], "a", path="b.py").outcome == "absent"
    assert judge(["contains(a)"], "a", path="").outcome == "absent"
    assert judge(["contains(a, path=b.py)"], "a", path="a.py").outcome == "absent"
    assert judge(["contains(a, path=b.py)"], "a", path="b.py").outcome == "corroborates"


def test_a_result_is_read_as_json():
    """Keys and values of `substrate.mcp.brief`; another value is exactly false."""
    content = '{"ticket": {"state": "closed", "votes": 3}}'

    assert judge(["equals(ticket.state, closed)", "compare(ticket.votes, >=, 3)"], content, BRIEF).verified == (0, 1)
    assert judge(["equals(ticket.state, open)"], content, BRIEF).outcome == "contradicts"
    assert judge(["equals(ticket.state, open)"], "no JSON", BRIEF).outcome == "absent"


def test_a_time_is_compared():
    """Of the file that the check names, at the precision given."""
    time = "2026-05-25T10:00:00Z"

    assert judge(["modified(a.py, =, 2026-05-25)"], time, MTIME).outcome == "corroborates"
    assert judge(["modified(a.py, <, 2026-05-25)"], time, MTIME).outcome == "contradicts"
    assert judge(["not modified(a.py, <, 2026-05-25)"], time, MTIME).outcome == "corroborates"
    assert judge(["modified(b.py, =, 2026-05-25)"], time, MTIME).outcome == "absent"
    assert judge(["modified(a.py, =, 2026-05-25)"], "yesterday", MTIME).outcome == "absent"


def test_a_count_is_compared():
    """Of subscribers, and of nothing else; a number that is none, or has a fraction, decides nothing."""
    assert judge(["count(subscribers, >=, 5)"], 5, COUNT).outcome == "corroborates"
    assert judge(["count(subscribers, >=, 5)"], "4", COUNT).outcome == "contradicts"
    assert judge(["count(visitors, >=, 5)"], 5, COUNT).outcome == "absent"
    assert judge(["count(subscribers, =, 5)"], 5.5, COUNT).outcome == "absent"
    assert judge(["count(subscribers, =, 5)"], "many", COUNT).outcome == "absent"


def test_a_denial_is_borne_out_by_nothing_that_is_there():
    """A positive check on a denial decides nothing, and nothing is decided without a check."""
    assert judge(["contains(a)"], "a", kind="denial").outcome == "absent"
    assert judge(None, "nothing of it", kind="denial").outcome == "absent"
    assert judge(["not count(subscribers, >=, 5)"], 4, COUNT, kind="denial").outcome == "corroborates"


def test_a_content_that_may_have_been_cut_ends_nowhere():
    """A number at its end may go on."""
    assert judge(["contains(42)"], "x" * 100 + " 42").outcome == "corroborates"
    assert judge(["contains(42)"], "x" * 63_997 + " 42").outcome == "absent"


def test_an_unknown_check_is_undecided():
    """It is told as such, and keeps nothing else from being verified here."""
    found = judge(["levitates(a)", "contains(a)"], "a")

    assert found.helds[0].reason == "unknown-check"
    assert found.verified == (1,)


@given(st.integers(0, 4_000_000_000 * 10**9))
def test_a_time_is_read_as_fine_as_it_is_written(nanoseconds: int):
    """Nothing that a file system tells is lost."""
    assert time_of(format_ns(nanoseconds)) == nanoseconds
