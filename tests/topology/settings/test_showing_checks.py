"""What is shown first of a record: the sentences that were verified, or in our words why there are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.settings.showing import WORDS_ALONE, basis_of

SENTENCE = "`MAX` in `limits.py` equals 5 (line 1, commit 4f2a91c)."
PROSE = "The limit is 5, and nobody may change it."


def record(status: str = "admitted", basis: str | None = "corroboration", **fields: Any) -> dict[str, Any]:
    rendered = fields.pop("rendered", None)
    frame: dict[str, Any] = {"assertion": PROSE} | ({} if rendered is None else {"rendered": rendered})
    return {"status": status, "basis": basis, "_untrusted_text": frame, **fields}


def test_of_an_admission_by_checks_their_sentences_come_first():
    """Whole and in order; the prose is called the emitter's words."""
    shown = basis_of(record(rendered=[SENTENCE, "`f` in `x.py` calls `g`."]))

    assert shown.sentences == [SENTENCE, "`f` in `x.py` calls `g`."]
    assert (shown.before_prose, shown.prose) == ("in the emitter's words", PROSE)


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        (record(basis="review"), "a reviewer admitted"),
        (record("renewed", basis="review"), "a reviewer admitted"),
        (record(basis="declaration"), "declared by the emitter"),
        (record(classes=["substrate.grep", "substrate.code.read"]), "borne out, not checked"),
        (record(basis="magic"), "nothing verified"),
        (record(basis=None), "nothing verified"),
        (record("refused", basis="emitter"), "declined"),
        (record("refused", basis="policy", reason="below-floor"), "withheld by the policy"),
        (record("decayed-to-uncertainty", reason="validity-ended"), "no longer admitted"),
        (record("contradicted", reason="contradicted"), "no longer admitted"),
        (record("rejected", reason="review", basis="review"), "a reviewer refused"),
        (record("rejected", reason="review", disposition="review"), "a reviewer refused"),
        (record("unverified-inference", reason="not-checked", disposition="review"), WORDS_ALONE),
        (record("unverified-inference", reason="no-corroboration", disposition="review"), "nothing verified"),
        (record("below-floor", classes=["substrate.grep"], disposition="review"), "borne out by 1 class, not checked"),
        (record("contradicted", classes=["a", "b"], disposition="review"), "borne out by 2 classes, not checked"),
    ],
)
def test_where_nothing_was_checked_it_is_said_whose_word_it_is(value: dict[str, Any], mark: str):
    """No admission on a person's or an emitter's word looks like one that observers verified."""
    shown = basis_of(value)

    assert (list(shown.sentences), shown.mark, shown.before_prose) == ([], mark, mark)


@pytest.mark.parametrize("basis", ["review", "declaration", "emitter", "policy", "magic"])
def test_sentences_beside_another_basis_are_not_shown_as_admitted(basis: str):
    """Whoever wrote such a record: it was not admitted by what they say."""
    assert list(basis_of(record(basis=basis, rendered=[SENTENCE])).sentences) == []


def test_what_was_verified_and_not_admitted_says_so_in_each_sentence():
    """With how many classes verified it, which is not what was needed."""
    checks = [{"name": "equals", "classes": 1}, {"name": "unknown", "classes": 0}, {"name": "calls", "classes": 2}]
    value = record("below-floor", None, rendered=[SENTENCE, "B."], checks=checks, disposition="review")

    assert basis_of(value).sentences == [
        f"verified by 1 class, not admitted: {SENTENCE}",
        "verified by 2 classes, not admitted: B.",
    ]
    assert basis_of(value | {"checks": None}).sentences[0] == f"verified, not admitted: {SENTENCE}"


def test_the_end_of_an_admission_repeats_none_of_its_sentences():
    """They hold no more."""
    value = record("decayed-to-uncertainty", rendered=[SENTENCE], checks=[{"name": "equals", "classes": 2}])

    assert list(basis_of(value).sentences) == []


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "status": _json | st.sampled_from(["admitted", "below-floor"]),
            "basis": _json | st.just("corroboration"),
            "reason": _json,
            "checks": _json | st.lists(st.fixed_dictionaries({"classes": _json})),
            "classes": _json,
            "disposition": _json,
            "_untrusted_text": _json | st.fixed_dictionaries({}, optional={"rendered": _json, "assertion": _json}),
        },
    )
)
def test_a_record_of_any_shape_is_reported_of(value: dict[str, Any]):
    """A stranger may have written it: what is no text is passed over."""
    shown = basis_of(value)

    assert all(isinstance(one, str) for one in (*shown.sentences, shown.mark, shown.prose))
    assert shown.before_prose
