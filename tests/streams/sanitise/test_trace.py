"""The record of what sanitation changed."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.sanitise import SANITATION_REVISION, SANITATION_VERSION, UNICODE_VERSION, Trace, _trace, clean
from sluice.streams.sanitise._trace import MAX_ENTRIES, MAX_NAMES


def test_an_empty_trace_has_every_member():
    """The block [V §5.1] is complete also when nothing happened."""
    assert msgspec.to_builtins(Trace().meta()) == {
        "sanitation_version": SANITATION_VERSION,
        "unicode_version": UNICODE_VERSION,
        "truncated": [],
        "confusables_replaced": [],
        "stripped_positions": [],
        "markup_stripped": [],
        "uris_rejected": [],
        "normalised": [],
        "scripts": [],
        "confusables_present": False,
        "sanitation_revision": SANITATION_REVISION,
    }


def test_a_field_and_a_script_are_named_once():
    """However often a step comes back to the field."""
    trace = Trace()
    for _ in range(2):
        trace.normalise("a")
        trace.name_scripts(["Latin", "Greek"])
    assert trace.meta().normalised == ["a"]
    assert trace.meta().scripts == ["Greek", "Latin"]


def test_a_flood_is_counted():
    """Beyond its bound a list has one entry a root, with the number of changes that it stands for."""
    trace = Trace()
    for field in ("a", "b"):
        clean("\u00ada" * MAX_ENTRIES, field, 1_000_000, "replace", trace)
    entries = trace.meta().stripped_positions
    assert len(entries) == MAX_ENTRIES + 1
    assert entries[-1] == {"field": "b", "omitted": MAX_ENTRIES}


def test_a_flood_of_markup_is_counted():
    """The same for markup, which is recorded piece by piece."""
    trace = Trace()
    clean("<b>" * (MAX_ENTRIES + 2), "a", 1_000_000, "replace", trace)
    assert trace.meta().markup_stripped[-1] == {"field": "a", "omitted": 2}


def test_a_full_attestation_is_recorded_stretch_by_stretch():
    """All the fields of the contract together stay within the bound."""
    trace = Trace()
    for field, cap in [("rationale", 2000), ("qualifications", 2000), *((f"evidence[{n}]", 1000) for n in range(5))]:
        clean("\u00ada" * 2000, field, cap, "replace", trace)
    assert len(trace.meta().stripped_positions) == 2999
    assert all("position" in entry for entry in trace.meta().stripped_positions)


FIELDS = st.sampled_from(["a", "b", "b[0].c", "b[1]"])
WORK = st.lists(
    st.tuples(FIELDS, st.sampled_from(["а\u200d", "<b>", "ﬁ", "Ж", "\u00ad" * 5, "[x](y:z)", "é" * 9])), max_size=8
)


def recorded(work, trace):
    for field, text in work:
        clean(text, field, 16, "replace", trace)
    return trace


@given(WORK, WORK, WORK, st.sampled_from([(4, 1000), (1000, 4), (5, 13)]))
def test_taking_over_is_recording(first, second, third, most):
    """One trace after another is as one trace of everything, and so where lists are full."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_trace, "MAX_ENTRIES", most[0])
        patched.setattr(_trace, "MAX_NAMES", most[1])
        patched.setattr(_trace, "LONG_NAME", 0)
        trace = recorded(first, Trace())
        trace.take_over(recorded(second, Trace()))
        assert recorded(third, trace).meta() == recorded([*first, *second, *third], Trace()).meta()


@given(WORK)
def test_a_dictionary_of_a_trace_is_its_meta(work):
    """With the members in the same order."""
    trace = recorded(work, Trace())
    assert list(trace.as_dict().items()) == list(msgspec.to_builtins(trace.meta()).items())


def test_to_flag_is_taken_over():
    """Under `flag` one look-alike marks the whole record."""
    trace, later = Trace(), Trace()
    clean("а", "a", 10, "flag", later)
    trace.take_over(later)
    trace.take_over(Trace())
    assert trace.meta().confusables_present


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_the_record_is_no_second_way_in(text):
    """Outside the frame stands nothing of a stranger's text: only ASCII names, numbers and code points."""
    trace = Trace()
    clean(f"<x {text}>[{text}](javascript:{text})", "f", 40, "replace", trace)
    assert msgspec.json.encode(trace.meta()).isascii()


def test_a_flood_of_fields_is_counted_by_its_root():
    """However many items a list had: their changes are one count."""
    trace = Trace()
    for place in range(MAX_ENTRIES + 7):
        trace.cut(f"evidence[{place}].quote", 3, 0)
        trace.reject_uri(f"cited_works[{place}].uri" if place % 2 else f"chain[{place}].left[0].source", "scheme")
    trace.cut("rationale", 9, 5)
    meta = trace.meta()
    assert meta.truncated[MAX_ENTRIES:] == [{"field": "evidence", "omitted": 7}, {"field": "rationale", "omitted": 1}]
    assert meta.uris_rejected[MAX_ENTRIES:] == [
        {"field": "chain", "omitted": 4},
        {"field": "cited_works", "omitted": 3},
    ]


def test_the_fields_that_nfkc_changed_are_bounded():
    """Past the bound stand the roots, each once: no change goes unsaid."""
    trace = Trace()
    for _ in range(2):
        for place in range(MAX_ENTRIES + 7):
            trace.normalise(f"chain[{place}].source")
    trace.normalise("rationale")
    fields = trace.meta().normalised
    assert len(fields) == MAX_ENTRIES + 2
    assert fields[MAX_ENTRIES:] == ["chain", "rationale"]


@pytest.mark.parametrize("one", ["\ufb01", "\u0430", "\u200b", "<b>", "a" * 50, "[x](javascript:1)"])
def test_long_names_fill_no_record(one):
    """Deep in a chain a field's name has 1,500 characters, in every entry about it."""
    trace = Trace()
    for place in range(1000):
        clean(one, "chain" + ".metadata" * 160 + f"[{place}]", 40, "replace", trace)
    meta = msgspec.to_builtins(trace.meta())
    entries = [entry for name in KINDS for entry in meta[name]]
    assert sum(entry.get("omitted", 1) for entry in entries) in (1000, 2000) or len(meta["normalised"]) > 1
    assert len(msgspec.json.encode(meta)) < 3 * MAX_NAMES


KINDS = ("truncated", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected")


@given(WORK)
def test_every_change_is_an_entry_or_in_a_count(work):
    """A full list takes no entries and loses none."""
    whole = recorded(work, Trace())
    for limit in ({"MAX_ENTRIES": 3}, {"MAX_NAMES": 3, "LONG_NAME": 0}):
        with pytest.MonkeyPatch.context() as patched:
            for name, value in limit.items():
                patched.setattr(_trace, name, value)
            bounded = recorded(work, Trace())
        for kind in KINDS:
            entries = getattr(bounded, kind)
            assert sum(entry.get("omitted", 1) for entry in entries) == len(getattr(whole, kind))
            kept = [one for one in entries if "omitted" not in one]
            assert kept == getattr(whole, kind)[: len(kept)]
            assert len(kept) <= 3
            counted = [one["field"] for one in entries if "omitted" in one]
            assert len(counted) == len(set(counted))


def test_time_is_linear_in_the_fields():
    """90,000 titles that NFKC changes took 9 s."""

    def seconds(fields: int) -> float:
        trace = Trace()
        start = time.process_time()
        for place in range(fields):
            trace.normalise(f"cited_works[{place}].title")
            trace.cut(f"cited_works[{place}].title", 301, 300)
        return time.process_time() - start

    few = min(seconds(9_000) for _ in range(3))
    assert seconds(90_000) < 40 * few  # ten times as many; where the cost is quadratic, a hundred times as long
