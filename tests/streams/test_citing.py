"""What the adjudicating lane tells of an assertion that cites an observation, and what a sighting says of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.records import Emission
from sluice.codecs.sightings import MAX_TERMS, decode_citation
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams import citing
from sluice.streams.citing import Citing, cited_terms
from sluice.streams.matching import match, time_of
from sluice.streams.moments import format_ns, moments
from sluice.streams.terms import presence, terms_of
from sluice.topology.observers.access import SseChannel
from sluice.topology.observers.ask import Ask, Budget, judge
from sluice.topology.observers.fs_mtime import _judge as judge_mtime
from sluice.topology.observers.sse_channel import Report
from sluice.topology.observers.sse_count import claim_of, judge_count

T = 1_800_000_000_000
READ, GREP, LOG = "substrate.code.read", "substrate.grep", "substrate.git.log"
MTIME, COUNT, BRIEF = "substrate.fs.mtime", "substrate.do.sse-count", "substrate.mcp.brief"
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."


def emission(*provenance: dict[str, Any], text: str = TEXT, **fields: Any) -> Emission:
    assertion = {"span": {"chars": [0, len(text)]}, "provenance": list(provenance), **fields}
    value = {"emission_id": "em-1", "emitted_at": T, "text": text, "attempt": 2, "assertions": [assertion]}
    found = decode_emission(msgspec.json.encode(value))
    assert not isinstance(found, Fault), found
    return found


def cited(one: Emission, classes: tuple[str, ...] = (READ,)) -> list[tuple[bytes, dict[str, Any]]]:
    """Keys and values of an emission's citations; every one of them is a citation."""
    wire = [pair for assertion in one.assertions or () for pair in Citing(one, classes, T).of(assertion)]
    assert not any(isinstance(decode_citation(value), Fault) for _, value in wire)
    return [(key, msgspec.json.decode(value)) for key, value in wire]


def said(text: str, substrate_class: str, kind: str = "assertion", **locator: Any) -> list[str]:
    return [term.wire() for term in cited_terms(text, substrate_class, kind, locator)]


# ---------------------------------------------------------------- what is cited


def test_a_citation_says_what_the_test_needs():
    """The assertion, the bare class, the terms; keyed by what it cites."""
    ((key, value),) = cited(emission({"substrate_class": f"1.0.{READ}", "observation_id": "sha256:e3b0"}))

    assert key == b"sha256:e3b0"
    assert value == {
        "observation_id": "sha256:e3b0",
        "substrate_class": READ,
        "emission_id": "em-1",
        "attempt": 2,
        "span": {"chars": [0, 43]},
        "kind": "assertion",
        "terms": ["moment:2026-05-25"],
        "cited_at": "2027-01-15T08:00:00Z",
    }


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
    assert cited(emission(annotation)) == []


def test_annotations_that_cite_the_same_are_one_citation():
    """Other terms are another one: each place that is named has its own."""
    one = {"substrate_class": READ, "observation_id": "o-1"}
    other = one | {"locator": {"path": "docs/a.md"}}

    assert len(cited(emission(one, one))) == 1
    assert len(cited(emission(one, other))) == 2


def test_an_emission_is_cited_within_bounds(monkeypatch: pytest.MonkeyPatch):
    """Of text that is read, and of what is written; what lies beyond is told."""
    provenance = [{"substrate_class": READ, "observation_id": f"o-{number}"} for number in range(9)]
    one = emission(*provenance)
    (assertion,) = one.assertions or ()
    for name, most in (("MAX_READ", 3 * len(TEXT)), ("MAX_OCTETS", 900)):
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


# ---------------------------------------------------------------- terms by class


def test_terms_are_those_of_the_observers():
    """A place is none."""
    assert said(TEXT, READ, path="CHANGELOG.md") == ["moment:2026-05-25"]
    assert said("`a_b` is 5 in x.py", READ) == ["code:a_b", "number:5"]


def test_a_pattern_has_to_be_found_as_well():
    """And to be about the assertion; what only an expression finds cannot be looked for."""
    assert said(TEXT, GREP, pattern="entry dated") == ["moment:2026-05-25", "code:entry dated"]
    assert said(TEXT, GREP, pattern="the") == []
    assert said(TEXT, GREP, pattern="2026-05-..", regex=True) == []
    assert said(TEXT, GREP, pattern=7) == []
    assert said(TEXT, GREP, "denial", pattern="2026-05-25") == ["moment:2026-05-25"]


def test_an_echo_proves_nothing():
    """What a locator's arguments say is a place; then the words count."""
    assert said("Ticket 4711 is closed.", BRIEF, server="tracker", tool="brief", arguments={"id": 4711}) == [
        "word:ticket",
        "word:closed",
    ]
    assert said("Ticket 4711 is closed.", BRIEF, arguments={"id": "x" * 20_000}) == []
    assert said("4711 and 4712", BRIEF, arguments={"ids": [4711]}) == ["number:4712"]


def test_that_a_place_is_not_there_is_for_a_denial_to_say():
    """The place must not bear the opposite of itself out."""
    assert said("a.py exists.", MTIME) == ["path:a.py"]
    assert said("a.py does not exist.", MTIME) == []
    assert said("a.py does not exist.", MTIME, "denial") == ["path:a.py"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("There are 5 subscribers.", ["number:5 subscribers"]),
        ("There are at least 5.", ["number:at least 5"]),
        ("There are no fewer than 5.", ["number:at least 5"]),
        ("There are up to 5.", ["number:at most 5"]),
        ("There are more than 5.", ["number:more than 5"]),
        ("There are below 5.", ["number:less than 5"]),
        ("There are 5 on `prod`.", ["number:5", "code:prod"]),
        ("There are 5 or 6.", []),
        ("There are not 5.", []),
        ("There are some.", []),
    ],
)
def test_a_count_comes_with_its_relation(text: str, terms: list[str]):
    """One number, or none."""
    assert said(text, COUNT) == terms


# ---------------------------------------------------------------- the test itself


def outcome(text: str, substrate_class: str, content: str | float, kind: str = "assertion", **locator: Any) -> str:
    path = str(locator.get("path", ""))
    return match(substrate_class, kind, said(text, substrate_class, kind, **locator), content, path).outcome  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        ("## 2026-05-25", "assertion", "corroborates"),
        ("25 May 2026", "assertion", "corroborates"),
        ("## 2026-05-26", "assertion", "absent"),
        ("", "assertion", "absent"),
        ("## 2026-05-25", "denial", "contradicts"),
        ("## 2026-05-26", "denial", "corroborates"),
        ("## 2026-05-25", "refusal", "absent"),
        (2026, "assertion", "absent"),
    ],
)
def test_text_is_searched_for_the_terms(content: str | int, kind: str, expected: str):
    """A denial is turned round, a refusal states nothing."""
    assert outcome(TEXT, READ, content, kind) == expected


def test_of_mere_words_none_may_be_there_for_a_denial():
    """Any word too many would bear it out."""
    assert outcome("the release is late", READ, "the release came", "denial") == "absent"
    assert outcome("the release is late", READ, "nothing", "denial") == "corroborates"


def test_without_terms_nothing_is_borne_out():
    """Nothing is not borne out by anything, denied or not."""
    for kind in ("assertion", "denial"):
        assert match(READ, kind, [], "anything").outcome == "absent"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "content", "kind", "expected"),
    [
        ("a.py was modified on 2026-05-25.", "2026-05-25T10:00:00Z", "assertion", "corroborates"),
        ("a.py was modified on 2026-05-25.", "2026-05-25T23:59:59.999999999Z", "assertion", "corroborates"),
        ("a.py was modified on 2026-05-25.", "2026-05-26T00:00:00Z", "assertion", "contradicts"),
        ("a.py was modified before 2026-05-25.", "2026-05-24T10:00:00Z", "assertion", "corroborates"),
        ("a.py was modified before 2026-05-25.", "2026-05-25T00:00:00Z", "assertion", "contradicts"),
        ("a.py was not modified after 2026-05-25.", "2026-05-25T10:00:00Z", "assertion", "corroborates"),
        ("a.py was not modified after 2026-05-25.", "2026-05-26T10:00:00Z", "assertion", "contradicts"),
        ("a.py was not modified after 2026-05-25.", "2026-05-26T10:00:00Z", "denial", "contradicts"),
        ("a.py was modified on 2026-05-25.", "2026-05-26T10:00:00Z", "denial", "corroborates"),
        ("a.py was modified on 2026-05-25.", 1_779_703_200_000, "assertion", "corroborates"),
        ("a.py was modified on 2026-05-25.", "yesterday", "assertion", "absent"),
        ("a.py was modified on 2026-05-25 by `joe`.", "2026-05-25T10:00:00Z", "assertion", "absent"),
    ],
)
def test_a_time_is_held_against_the_times_that_are_named(text: str, content: str | int, kind: str, expected: str):
    """As the observer of modification times does it."""
    assert outcome(text, MTIME, content, kind) == expected


def test_that_a_file_exists_is_borne_out_by_its_own_sighting():
    """Of that file, and of no other one."""
    terms = said("src/a.py exists.", MTIME)

    assert match(MTIME, "assertion", terms, "2026-05-25T10:00:00Z", "src/a.py").outcome == "corroborates"
    assert match(MTIME, "assertion", terms, "2026-05-25T10:00:00Z", "src/b.py").outcome == "absent"


@pytest.mark.parametrize(
    ("text", "content", "kind", "expected"),
    [
        ("There are 5 subscribers.", 5, "assertion", "corroborates"),
        ("There are 5 subscribers.", "5", "assertion", "corroborates"),
        ("There are 5 subscribers.", 5.0, "assertion", "corroborates"),
        ("There are 5 subscribers.", 6, "assertion", "contradicts"),
        ("There are 5 subscribers.", 6, "denial", "corroborates"),
        ("There are at least 5.", 6, "assertion", "corroborates"),
        ("There are less than 5.", 5, "assertion", "contradicts"),
        ("There are 5 on `prod`.", 5, "assertion", "absent"),
        ("There are 5 on `prod`.", 6, "assertion", "contradicts"),
        ("There are 5 on `prod`.", 6, "denial", "absent"),
        ("There are not 5.", 6, "assertion", "absent"),
        ("There are 5 subscribers.", "many", "assertion", "absent"),
        ("There are 5 subscribers.", 2**60, "assertion", "absent"),
    ],
)
def test_a_number_is_held_against_the_one_that_is_named(text: str, content: str | float, kind: str, expected: str):
    """As the observer of subscriber counts does it, without a tolerance."""
    assert outcome(text, COUNT, content, kind) == expected


@given(st.integers(0, 4_000_000_000 * 10**9))
def test_a_time_is_read_as_fine_as_it_is_written(nanoseconds: int):
    """Nothing that a file system tells is lost."""
    assert time_of(format_ns(nanoseconds)) == nanoseconds


# ---------------------------------------------------------------- the observers as oracles

DAYS = st.integers(20, 30)
RELATED = st.sampled_from(["on", "before", "after", "since", "until", "not before", "not after"])
KINDS = st.sampled_from(["assertion", "denial"])


def asked(text: str, substrate_class: str, kind: Any) -> Ask:
    return Ask(substrate_class, kind, text, terms_of(text, substrate_class, {}), {}, None, None, Budget(9, 9), None)


@given(RELATED, DAYS, DAYS, st.integers(0, 86_399), KINDS)
def test_times_are_judged_as_the_observer_judges_them(relation: str, day: int, seen: int, second: int, kind: str):
    """Whatever relation the sentence names."""
    text = f"a.py was modified {relation} 2026-05-{day}."
    time = int(datetime(2026, 5, seen, tzinfo=UTC).timestamp() + second) * 10**9
    named = {one.text: one for one in reversed(moments(text))}

    finding = judge_mtime(asked(text, MTIME, kind), "a.py", named, time, "")

    assert outcome(text, MTIME, format_ns(time), kind) == finding.outcome


@given(
    st.sampled_from(["", "at least ", "at most ", "more than ", "fewer than ", "no more than "]),
    st.integers(0, 9),
    st.integers(0, 9),
    KINDS,
    st.sampled_from(["", " on `prod`"]),
)
def test_counts_are_judged_as_the_observer_judges_them(words: str, number: int, count: int, kind: str, more: str):
    """One that allows no tolerance."""
    url, text = "https://example.org/events", f"There are {words}{number} subscribers{more}."
    listed = SseChannel(url, "message", "", False, 0, 1000, {})

    finding = judge_count(asked(text, COUNT, kind), claim_of(text, url), Report(count, T), listed)

    assert outcome(text, COUNT, count, kind) == finding.outcome


@given(
    st.lists(st.sampled_from(["alpha", "beta", "`gamma_1`", "2026-05-25", '"quoted text"', "12 kB"]), min_size=1),
    st.lists(st.sampled_from(["alpha", "beta", "gamma_1", "25 May 2026", "quoted text", "12 kB", "other"])),
    st.sampled_from(sorted(CLASSES_1_0 - {MTIME, COUNT})),
    KINDS,
)
def test_text_is_judged_as_observers_judge_a_region(words: list[str], there: list[str], name: str, kind: str):
    """Read whole; what an observer does not judge is absent."""
    text, content = " ".join(words), " / ".join(there)
    question = asked(text, name, kind)

    finding = judge(question, presence(question.terms.terms, content), "seen")

    assert outcome(text, name, content, kind) == finding.outcome
