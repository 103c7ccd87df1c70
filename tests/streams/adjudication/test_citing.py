"""What the adjudicating lane tells of an assertion that cites an observation, and what a sighting says of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import decoded, emission_value
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import Fault
from sluice.codecs.records import Citation, Emission
from sluice.codecs.sightings import MAX_TERMS, decode_citation
from sluice.streams.adjudication import citing
from sluice.streams.adjudication.citing import Citing, cited_terms
from sluice.streams.judging.matching import match, time_of
from sluice.streams.judging.moments import format_ns
from sluice.streams.judging.outcomes import Judged

T = 1_800_000_000_000
READ, LOG = "substrate.code.read", "substrate.git.log"
MTIME, COUNT, BRIEF = "substrate.fs.mtime", "substrate.do.sse-count", "substrate.mcp.brief"
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."


def declaring(*provenance: dict[str, Any], text: str = TEXT, **fields: Any) -> Emission:
    return decoded(emission_value(text=text, attempt=2, claim={"provenance": list(provenance), **fields}))


def cited(one: Emission, classes: tuple[str, ...] = (READ,)) -> list[tuple[bytes, dict[str, Any]]]:
    """Keys and values of an emission's citations; every one of them is a citation."""
    wire = [pair for assertion in one.assertions or () for pair in Citing(one, classes, T).of(assertion)]
    assert not any(isinstance(decode_citation(value), Fault) for _, value in wire)
    return [(key, msgspec.json.decode(value)) for key, value in wire]


def said(text: str, substrate_class: str, **locator: Any) -> list[str]:
    return [term.wire() for term in cited_terms(text, substrate_class, locator)]


# ---------------------------------------------------------------- what is cited


def test_a_citation_says_what_the_test_needs():
    """The assertion, the bare class, the terms; keyed by what it cites."""
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
        "terms": [],
        "checks": ["contains(2026-05-25, path=CHANGELOG.md)"],
        "coverage": "whole",
        "form": "claim",
        "unchecked": [],
    }


def test_declared_checks_go_along_with_what_they_cover():
    """No words then; the path that the annotation names, so that another file's sighting says nothing of it."""
    checks = ["defines(2026-05-25, section)"]
    annotation = {"substrate_class": READ, "observation_id": "o-1", "locator": {"path": "CHANGELOG.md"}}

    ((_, value),) = cited(declaring(annotation, checks=checks))

    assert value["checks"] == checks
    assert value["form"] == "declared"
    assert value["path"] == "CHANGELOG.md"
    assert value["terms"] == []
    assert value["coverage"] in ("whole", "part")


def test_a_statement_too_short_for_a_check_has_its_words_alone():
    """They never count."""
    ((_, value),) = cited(declaring({"substrate_class": READ, "observation_id": "o-1"}, text="It is `a_b`."))

    assert value["terms"] == ["code:a_b"]
    assert "checks" not in value


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
    """Of text that is read, and of what is written; what lies beyond is told."""
    provenance = [{"substrate_class": READ, "observation_id": f"o-{number}"} for number in range(9)]
    one = declaring(*provenance)
    (assertion,) = one.assertions or ()
    for name, most in (("MAX_READ", 3 * len(TEXT)), ("MAX_BYTES", 900)):
        with monkeypatch.context() as patched:
            patched.setattr(citing, name, most)
            within = Citing(one, [READ], T)

            found = list(within.of(assertion))

            assert 0 < len(found) < 9
            assert within.left_out == 9 - len(found)


def test_too_many_terms_are_none():
    """Nothing bears such a citation out."""
    assert len(said(" ".join(f"`a{n}`" for n in range(MAX_TERMS)), READ)) == MAX_TERMS
    assert said(" ".join(f"`a{n}`" for n in range(MAX_TERMS + 1)), READ) == []
    assert said("word " * 4001, READ) == []


# ---------------------------------------------------------------- what a sighting says


def test_terms_are_those_of_the_observers():
    """A place is none."""
    assert said(TEXT, READ, path="CHANGELOG.md") == ["moment:2026-05-25"]
    assert said("`a_b` is 5 in x.py", READ) == ["code:a_b", "number:5"]


def judge(
    checks: list[str] | None,
    content: str | float,
    substrate_class: str = READ,
    path: str = "a.py",
    kind: str = "assertion",
    **fields: Any,
) -> Judged:
    """What comes of a citation with declared checks and a sighting of `content` at `path`."""
    value = {
        "observation_id": "o-1",
        "substrate_class": substrate_class,
        "emission_id": "em-1",
        "span": {"chars": [0, 9]},
        "kind": kind,
        "terms": [],
        "cited_at": T,
        "checks": checks,
        "coverage": "whole",
        "form": "declared",
        "path": "a.py",
        **fields,
    }
    citation = msgspec.convert(value, Citation, strict=False)
    return match(substrate_class, citation, content, path).judged


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


def test_words_are_reported_of_and_do_not_count():
    """A citation without checks: its words are there or not; on a refusal nothing is."""
    words: dict[str, Any] = {"form": "none", "coverage": None, "terms": ["moment:2026-05-25"]}

    assert judge(None, "## 25 May 2026", **words).outcome == "terms-present"
    assert judge(None, "## 26 May 2026", **words).outcome == "absent"
    assert judge(None, "## 25 May 2026", kind="refusal", **words).outcome == "absent"
    assert judge(None, "## 25 May 2026", **{**words, "terms": []}).outcome == "absent"


def test_a_denial_is_borne_out_by_nothing_that_is_there():
    """A positive check on a denial decides nothing, and missing words bear no denial out."""
    words: dict[str, Any] = {"form": "none", "coverage": None, "terms": ["moment:2026-05-25"]}

    assert judge(["contains(a)"], "a", kind="denial").outcome == "absent"
    assert judge(None, "nothing of it", kind="denial", **words).outcome == "absent"
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
