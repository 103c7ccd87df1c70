"""What the compiled core does with checks, against Python: what is told, what counts, and what it leaves to Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import assertion_value
from fold_histories import (
    CHECKS,
    CLASSES,
    COMMIT,
    COMMITS,
    LINES,
    MINUTE,
    NAMES_OF_CHECKS,
    ODD_CHECKS,
    PATHS,
    SHA,
    TEXTS,
    Raw,
    Step,
    T,
    fold,
    handed_to_python,
    same,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from native_records import LATER, VERIFIED, WIDE, checked, raw_emission, raw_observation
from search import examples

from sluice.codecs.identifiers import digest_of
from sluice.streams.adjudication import decision_json, fold_layout
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication.emission_state import Place
from sluice.streams.judging.checks import TABLE
from sluice.streams.policy import policy
from sluice.streams.policy.policy import (
    Admissibility,
    Floor,
    FloorOfCheck,
    Judging,
    LeastCoverage,
    PerEffect,
    Policy,
    PrivacyRules,
)
from sluice.streams.sanitise import Trace


def _last(checks: list[str] | None, *seen: dict[str, Any], **judging: Any) -> dict[str, Any]:
    """What is said of an assertion at its end, or when it is admitted, once each class has spoken."""
    records: list[Raw | Policy] = [("emissions", *checked(1, checks))]
    records += [("observations", *raw_observation(1, cls, **one)) for cls, one in zip(CLASSES, seen, strict=False)]
    ends = {status: policy.PerEffect(internal="review", external="review") for status in Policy().disposition}

    found = same([(T, T, records), *LATER[:2]], Policy(judging=Judging(**judging), disposition=ends))

    decided = ("admitted", "inadmissible")
    return json.loads(next(one.value for block in found.outputs for one in block if one.topic in decided))


def test_what_is_admitted_says_what_was_checked() -> None:
    """The sentence of each check stands in the frame, with lines and commit, and how many classes verified it."""
    said = _last([CHECKS[0]], VERIFIED, VERIFIED)

    assert said["status"] == "admitted"
    assert said["checks"] == [{"name": "equals", "classes": 2}]
    assert said["_untrusted_text"]["rendered"] == [
        f"`MAX` in `a/b.py` equals 1000 (lines 3 to 9, commit {COMMIT[:7]})."
    ]
    assert said["_untrusted_text"]["checked"][0]["commit"] == COMMIT


def test_each_check_needs_its_own_evidence() -> None:
    """Two classes that verify one check each admit nothing together."""
    said = _last(list(CHECKS[:2]), VERIFIED, {**VERIFIED, "verified": [1]})

    assert (said["status"], said["reason"]) == ("below-floor", "below-floor")


def test_what_covers_too_little_is_partly_checked() -> None:
    """Below the policy's `min_coverage`, though all checks stand; above it the rest of the prose gives way."""
    part = {**VERIFIED, "coverage": "part", "unchecked": [[1, 3]]}

    said = _last([CHECKS[0]], part, VERIFIED, min_coverage=LeastCoverage(internal="whole"))
    assert (said["status"], said["reason"]) == ("below-floor", "partly-checked")

    said = _last([CHECKS[0]], part, VERIFIED, min_coverage=LeastCoverage(internal="part"))
    assert said["status"] == "admitted"
    assert said["unchecked"] == [[1, 3]]
    assert said["_untrusted_text"]["assertion"] == "F[unchecked]st"


@pytest.mark.parametrize(
    ("text", "spans", "shown"),
    [
        ("First(other) of it", [[0, 5]], "[unchecked] (other) of it"),
        ("First: other [of] it", [[0, 5], [7, 13]], "[unchecked] : [unchecked] [of] it"),
        ("Ünï — cödé", [[1, 3], [7, 99]], "Ü[unchecked] — c[unchecked]"),
        ("First", [], "[unchecked]"),
        ("First", [[0, 5]], "[unchecked]"),
    ],
)
def test_what_is_not_checked_gives_way(text: str, spans: list[list[int]], shown: str) -> None:
    """In characters; what stands behind makes no link of it."""
    seen = {**VERIFIED, "coverage": "part", "unchecked": spans}
    made = checked(1, [CHECKS[0]], text, span={"chars": [0, len(text)]})
    subject = {"emission_id": "em-1", "span": {"chars": [0, len(text)]}}
    spoken: Raw = ("observations", *raw_observation(1, CLASSES[0], **seen, subject=subject))
    judging = Judging(min_coverage=LeastCoverage(internal="part"))
    rules = Policy(admissibility=Admissibility(k=Floor(internal=1)), judging=judging)

    found = same([(T, T, [("emissions", *made), spoken])], rules)

    assert json.loads(found.outputs[0][0].value)["_untrusted_text"]["assertion"] == shown


def test_words_alone_are_not_checked() -> None:
    """Where only its words were found it is `not-checked`, which is not the same as without corroboration."""
    said = _last(None, {"outcome": "terms-present"}, {"outcome": "absent"})
    assert (said["status"], said["reason"]) == ("unverified-inference", "not-checked")


@pytest.mark.parametrize("unknown", ["levitates(a)", "equals(MAX", ""])
def test_what_cannot_be_read_admits_nothing(unknown: str) -> None:
    """Whoever verifies it, and the others beside it, by name or as a whole."""
    for seen in (VERIFIED, {**VERIFIED, "verified": [0, 1]}, {}):
        said = _last([CHECKS[0], unknown], seen, seen, seen)
        assert said["status"] == "below-floor"


def test_who_verifies_nothing_of_it_is_not_heard() -> None:
    """No check, one that it does not have, a contradiction in itself, or checks that are not bound to the sentence."""
    for odd in ({"verified": []}, {"verified": [7]}, {"refuted": [0]}, {"coverage": "none"}):
        assert _last([CHECKS[0]], VERIFIED, {**VERIFIED, **odd})["status"] == "below-floor"
    assert _last([CHECKS[0]], VERIFIED, VERIFIED, accept=[])["reason"] == "not-looked-at"


def test_a_commit_is_reported_only_where_ids_are() -> None:
    """It is an observation id: where the policy hashes or omits these it stands nowhere."""
    for shown in ("clear", "omitted", "hashed"):
        rules = Policy(admissibility=Admissibility(k=Floor(internal=1)), privacy=PrivacyRules(observation_ids=shown))
        records: list[Raw | Policy] = [("emissions", *checked(1, [CHECKS[0]]))]
        records.append(("observations", *raw_observation(1, CLASSES[0], **VERIFIED)))

        found = same([(T, T, records)], rules)

        assert (COMMIT.encode() in found.outputs[0][0].value) == (shown == "clear")


def _at(path: str | None, *lines: int, **more: Any) -> dict[str, Any]:
    reported = {"lines": list(lines), **({} if path is None else {"path": path})}
    return {**VERIFIED, "detail": {"checks": [reported]}, **more}


_EQUALS = "equals(MAX, 1000)"


def _looking(path: Any, **more: Any) -> dict[str, Any]:
    """A foreign observer's answer, which says of no check where it holds."""
    return {"verified": [0], "coverage": "whole", "looked_at": {"path": path}, **more}


_FIRST, _OTHER, _NOWHERE = _at("a/b.py", 3, 3), _at("other.py", 7, 7), _at(None, 5, 5, looked_at={"root": "default"})


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("seen", "lines"),
    [
        ((_FIRST, _OTHER), None),  # an emitter who names a file for each class
        ((_OTHER, _FIRST), None),
        ((_NOWHERE, _OTHER), [7, 7]),  # what names no file counts for each
        ((_FIRST, _NOWHERE), [3, 3]),  # and replaces none that was named
        ((_FIRST, _OTHER, _FIRST), [3, 3]),
        ((_FIRST, _OTHER, _OTHER), [7, 7]),
        ((_FIRST, _OTHER, {}), [3, 3]),
    ],
)
def test_two_files_bear_no_check_out_together(
    seen: tuple[dict[str, Any], ...], lines: list[int] | None, early: bool
) -> None:
    """Before and behind the emission, and behind its admission: what is told of another file Python weighs."""
    reported: list[Raw | Policy] = [
        ("observations", *raw_observation(1, cls, **one)) for cls, one in zip(CLASSES, seen, strict=False)
    ]
    emissions: list[Raw | Policy] = [("emissions", *checked(1, [CHECKS[1]]))]
    renewing: list[Step] = [
        (T + minutes * MINUTE, T, [("observations", *raw_observation(1, CLASSES[0], **one, observed_at=T + minutes))])
        for minutes, one in enumerate((_OTHER, _FIRST, _NOWHERE, {}), 1)
    ]

    found = same([(T, T, reported + emissions if early else emissions + reported), *renewing, *LATER], Policy())

    first = json.loads(found.outputs[0][0].value) if found.outputs[0] else None
    assert (first and first["_untrusted_text"]["checked"][0]["lines"]) == lines


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("seen", "path"),
    [
        ((_looking("a/b.py"), _looking("other.py")), None),
        ((_looking("a/b.py"), _looking("a/b.py")), "a/b.py"),
        ((_looking("a/b.py"), _looking(None)), "a/b.py"),
        ((_looking(None), _looking("")), ""),
        ((_looking("a/b.py"), _looking("./a/b.py")), None),
        ((_looking("a/b.py"), _looking("a//b.py")), None),
        ((_looking("a/b.py"), _looking("/a/b.py")), None),
        ((_looking("a/b.py"), _looking("a%2Fb.py")), None),
        ((_looking("a/b.py"), _looking(["a/b.py"])), None),  # a dead letter
        ((_looking("a/b.py"), _looking("é" * 4096)), None),
        ((_looking("a/b.py"), _OTHER), None),
        ((_OTHER, _looking("a/b.py")), None),
        ((_looking("a/b.py"), _FIRST), "a/b.py"),
        ((_looking("a/b.py"), _NOWHERE), "a/b.py"),
        ((_looking("a/b.py"), _looking("other.py"), _looking("other.py")), "other.py"),
        ((_looking("a/b.py"), _looking("other.py"), {}), "a/b.py"),  # as a whole: it counts for each
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": []})), None),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": [None]})), None),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": {}})), None),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": [{}]})), None),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": [{"holds": True, "lines": [1, 2]}]})), None),
        ((_looking("a/b.py"), _looking("a/b.py", detail={"checks": [{"path": None, "lines": [1, 2]}]})), "a/b.py"),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": [{"path": "", "commit": ""}]})), None),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": [{"path": "x" * 5000}]})), None),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": [{"commit": "4f2a91c"}]})), "a/b.py"),
        ((_looking("a/b.py"), _looking("other.py", detail={"checks": [{"commit": "4" * 65}]})), None),
        ((_looking("a/b.py"), _looking("other.py", detail={"reason": "x", "missing": ["x"]})), None),
    ],
)
def test_two_files_that_were_looked_at_bear_no_check_out_together(
    seen: tuple[dict[str, Any], ...], path: str | None, early: bool
) -> None:
    """Where observers say nothing of the check; before and behind the emission, and behind its admission."""
    reported: list[Raw | Policy] = [
        ("observations", *raw_observation(1, cls, **one)) for cls, one in zip(CLASSES, seen, strict=False)
    ]
    emissions: list[Raw | Policy] = [("emissions", *checked(1, [_EQUALS]))]
    renewing: list[Step] = [
        (T + minutes * MINUTE, T, [("observations", *raw_observation(1, CLASSES[0], **one, observed_at=T + minutes))])
        for minutes, one in enumerate((_looking("other.py"), _looking("a/b.py"), _looking(None), {}), 1)
    ]
    steps = [(T, T, reported + emissions if early else emissions + reported), *renewing, *LATER]

    found = same(steps, Policy())

    said = [json.loads(output.value) for output in found.outputs[0] if output.topic == "admitted"]
    assert ([one["_untrusted_text"]["checked"][0].get("path", "") for one in said] or [None]) == [path]


@pytest.mark.parametrize(
    ("seen", "python"),
    [
        ((_looking("a/b.py"), _looking("a/b.py")), 0),
        ((_looking("a/b.py"), _FIRST), 0),
        ((_looking("a/b.py"), _looking("other.py")), 1),
        ((_FIRST, _FIRST), 0),
        ((_FIRST, _NOWHERE), 0),
        ((_NOWHERE, _FIRST), 0),
        ((_FIRST, _OTHER, {}), 2),
    ],
)
def test_one_file_is_the_cores(seen: tuple[dict[str, Any], ...], python: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence of one file, or of none that is named, never reaches Python; that of another one does, and what its
    assertion is told while both are kept."""
    asked: list[str] = []
    for topic, take in list(core._APPLIERS.items()):
        monkeypatch.setitem(
            core._APPLIERS, topic, lambda *given, topic=topic, take=take: (asked.append(topic), take(*given))[1]
        )
    records: list[Raw | Policy] = [("emissions", *checked(1, [CHECKS[1]]))]
    records += [("observations", *raw_observation(1, cls, **one)) for cls, one in zip(CLASSES, seen, strict=False)]

    fold([(T, T, records)], Policy())

    assert asked == (["observations"] * python if fold_layout.core is not None else [record[0] for record in records])


_COMMIT = "commit(4f2a91c)"
_ALONE = {"commit": FloorOfCheck(internal=1)}
"""A check that one class alone can decide (docs/checks.md)."""


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("checks", "k_by_check", "verified", "k"),
    [
        ([_COMMIT], _ALONE, [[0]], 1),
        ([_COMMIT], {}, [[0]], None),  # the effect's k is 2
        ([_EQUALS, _COMMIT], _ALONE, [[0, 1]], None),
        ([_EQUALS, _COMMIT], _ALONE, [[0, 1], [0]], 2),
        ([_EQUALS, _COMMIT], _ALONE, [[0], [0]], None),  # nobody verified the commit
        ([_EQUALS, _COMMIT], _ALONE, [None, None], 2),  # as a whole
        ([f"not {_COMMIT}"], _ALONE, [[0]], 1),
        ([_EQUALS], {"equals": FloorOfCheck(internal=3)}, [[0], [0]], None),
        ([_EQUALS], {"equals": FloorOfCheck(internal=3)}, [[0], [0], [0]], 3),
        ([_EQUALS], {"equals": FloorOfCheck(external=3)}, [[0], [0]], 2),
        (None, _ALONE, [None, None], 2),
    ],
)
def test_checks_with_a_k_of_their_own_are_the_cores(
    early: bool,
    checks: list[str] | None,
    k_by_check: dict[str, FloorOfCheck],
    verified: list[list[int] | None],
    k: int | None,
) -> None:
    """Lower and higher than the effect's, of declared checks and without any, before and behind the emission; with the
    renewal and the end. Nothing of it reaches Python. `k` None: it is not admitted."""
    text = "`MAX` equals 1000."
    about = {"emission_id": "em-1", "span": {"chars": [0, len(text)]}}
    declared = {} if checks is None else {"checks": checks}
    emitted: Raw = (
        "emissions",
        *raw_emission(1, text=text, assertions=[assertion_value(text, {"substrate_class": CLASSES[0]}, **declared)]),
    )

    def spoken(at: int) -> list[Raw | Policy]:
        return [
            ("observations", *raw_observation(1, cls, **{**VERIFIED, "verified": one}, subject=about, observed_at=at))
            for cls, one in zip(CLASSES, verified, strict=False)
        ]

    steps: list[Step] = [
        (T, T, [*spoken(T), emitted] if early else [emitted, *spoken(T)]),
        (T + MINUTE, T, spoken(T + MINUTE)),
        *LATER,
    ]
    discarded = PerEffect(internal="discard", external="discard")
    rules = Policy(
        admissibility=Admissibility(k=Floor(internal=2), k_by_check=k_by_check),
        disposition=dict.fromkeys(Policy().disposition, discarded),
    )

    found = same(steps, rules)

    reported = [json.loads(one.value) for block in found.outputs for one in block if one.topic == "admitted"]
    expected = [] if k is None else ["admitted", "renewed", "decayed-to-uncertainty"]
    assert [(one["status"], one["k"]) for one in reported] == [(status, k) for status in expected]
    if fold_layout.core is not None:
        assert handed_to_python(steps, rules) == []


def test_what_was_looked_at_is_kept_alike() -> None:
    """Of the newest evidence of each check, root and content, in the snapshot; what names neither replaces nothing."""
    rules = Policy(admissibility=Admissibility(k=Floor(internal=3), k_by_check=_ALONE))
    looked = [{"root": "main", "content": SHA}, {}, {"path": "x"}, {"content": "é"}, {"root": ""}, None]
    seen: list[Raw | Policy] = [
        ("observations", *raw_observation(1, CLASSES[0], verified=[at % 2], looked_at=one, observed_at=T + at))
        for at, one in enumerate(looked)
    ]
    steps: list[Step] = [(T, T, [("emissions", *checked(1, [_EQUALS, _COMMIT])), *seen]), (T + 1, T, [])]

    found = same(steps, rules)

    assert SHA.encode() in found.snapshot


@pytest.mark.parametrize(
    ("most", "emission", "seen"),
    [
        (20, lambda n: {"checks": [CHECKS[0]] * n}, lambda n: {}),
        (2000, lambda n: {"checks": ["x" * n]}, lambda n: {}),
        (2000, lambda n: {"checks": ["é" * n]}, lambda n: {}),
        (20, lambda n: {}, lambda n: {"verified": [0] * n}),
        (19, lambda n: {}, lambda n: {"verified": [n]}),
        (20, lambda n: {}, lambda n: {"refuted": [0] * n}),
        (1000, lambda n: {}, lambda n: {"coverage": "part", "unchecked": [[0, 1]] * n}),
        (256, lambda n: {}, lambda n: {"looked_at": {"root": "é" * n}}),
        (4096, lambda n: {}, lambda n: {"looked_at": {"path": "é" * n}}),
        (256, lambda n: {}, lambda n: {"looked_at": {"content": "x" * n}}),
        (64, lambda n: {}, lambda n: {"looked_at": {"commit": "x" * n}}),
    ],
)
def test_bounds_are_alike(most: int, emission: Any, seen: Any) -> None:
    """What is just within them is taken, what is just beyond them is a dead letter; in characters, not in bytes."""
    for length in (most, most + 1):
        made = checked(1, **{"checks": [CHECKS[0]], **emission(length)})
        records: list[Raw | Policy] = [("emissions", *made)]
        records.append(("observations", *raw_observation(1, CLASSES[0], **{**VERIFIED, **seen(length)})))

        found = same([(T, T, records), *LATER[:1]], Policy())

        assert any(output.topic == "dead-letters" for output in found.outputs[0]) == (length > most)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b'"lines": [3, 9]', b'"lines": [3, 9], "lines": "x"'),
        (b'"lines": [3, 9]', b'"lines": "x", "lines": [4, 5]'),
        (b'"path": "a/b.py", "lines"', b'"path": "x", "path": 7, "lines"'),
        (b'"commit":', b'"commit": "x", "comm\\u0069t":'),
        (b'"detail": {', b'"detail": {"checks": [{"path": "x"}], '),
        (b'"detail": {"checks": [', b'"detail": {"checks": [{"path": "x"}], "checks": ['),
        (b'"detail": {"checks": [{', b'"detail": {"checks": [{"path": "x"}], "checks": {"x": [{'),
        (b'"verified": [0]', b'"verified": [0], "verified": [0]'),
        (b'"verified"', b'"verifi\\u0065d"'),
        (b'"coverage": "whole"', b'"coverage": "part", "coverage": "whole"'),
        (b'"looked_at": {', b'"looked_at": {"root": "x", '),
    ],
)
def test_members_that_stand_there_twice_fare_alike(was: bytes, now: bytes) -> None:
    """The last one holds, or it is a fault, as for Python; however JSON writes their names."""
    key, value, headers = raw_observation(1, CLASSES[0], **VERIFIED)
    assert value.count(was) == 1
    if b'{"x": [{' in now:
        value = value.replace(b'}]}, "looked_at"', b'}]}}, "looked_at"')
    spoken: list[Raw | Policy] = [("observations", key, value.replace(was, now), headers)]

    same(
        [(T, T, [("emissions", *checked(1, [CHECKS[0]])), *spoken]), *LATER[:1]],
        Policy(admissibility=Admissibility(k=Floor(internal=1))),
    )


_ID = st.sampled_from([SHA, "o1", "abcdef1"])
_SPANS = st.lists(st.tuples(st.integers(0, 30), st.one_of(st.integers(0, 30), st.just(10**14))), max_size=6)
_PLACES = st.lists(st.integers(0, 20), max_size=21)
_CHECKS = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(["checks", "more"]), st.sampled_from([None, {}, "x", [1], [[]]])),
    st.builds(
        lambda reported: {"checks": reported},
        st.lists(
            st.one_of(
                st.none(),
                st.fixed_dictionaries(
                    {},
                    optional={
                        "path": st.sampled_from([*PATHS, None, 7]),
                        "lines": st.sampled_from([*LINES, None]),
                        "commit": st.sampled_from([*COMMITS, None, 7]),
                    },
                ),
            ),
            max_size=21,
        ),
    ),
)
_SEEN = st.fixed_dictionaries(
    {
        "substrate_class": st.sampled_from(CLASSES),
        "observation_id": _ID,
        "observed_at": st.sampled_from([T, T + 1000, T + MINUTE, T + 5 * MINUTE, T - 61 * MINUTE]),
        "outcome": st.sampled_from(["corroborates"] * 6 + ["terms-present", "terms-present", "absent", "contradicts"]),
    },
    optional={
        "verified": st.one_of(st.none(), st.sampled_from([[0], [0, 1], [1], [0, 1, 2]]), _PLACES),
        "refuted": st.one_of(st.none(), st.just(list[int]()), _PLACES),
        "coverage": st.sampled_from(["whole", "part", "part", "none", None, "half"]),
        "unchecked": st.one_of(st.none(), _SPANS),
        "detail": _CHECKS,
        "looked_at": st.sampled_from(
            [None, {}, VERIFIED["looked_at"], {"root": 1}, {"commit": "c" * 65}, {"path": "c.py"}, {"path": ""}]
        ),
        "attestation": st.just({"verdict": "VERIFIED"}),
        "judge": st.sampled_from([None, "arbiter"]),
    },
)
_DECLARED = st.one_of(
    st.none(),
    st.lists(st.sampled_from(CHECKS), max_size=3),
    st.lists(st.one_of(st.sampled_from(CHECKS), st.sampled_from(ODD_CHECKS), st.text(max_size=40)), max_size=21),
)


_K_BY_CHECK = st.dictionaries(
    st.sampled_from(NAMES_OF_CHECKS),
    st.builds(FloorOfCheck, internal=st.integers(1, 3), external=st.one_of(st.none(), st.integers(1, 4))),
)


@settings(WIDE, max_examples=examples(150))
@given(
    checks=_DECLARED,
    k_by_check=_K_BY_CHECK,
    text=st.sampled_from(TEXTS),
    kind=st.sampled_from(["assertion", "denial"]),
    effect=st.sampled_from(["internal", "external"]),
    least=st.sampled_from(["none", "part", "whole"]),
    early=st.lists(_SEEN, max_size=4),
    late=st.lists(_SEEN, max_size=6),
    renewing=st.lists(_SEEN, max_size=3),
)
def test_checks_are_counted_alike(
    checks: list[str] | None,
    k_by_check: dict[str, FloorOfCheck],
    text: str,
    kind: str,
    effect: str,
    least: Any,
    early: list[dict[str, Any]],
    late: list[dict[str, Any]],
    renewing: list[dict[str, Any]],
) -> None:
    """Evidence before and behind an emission and its admission, by name and as a whole, honest and hostile."""
    rules = Policy(
        admissibility=Admissibility(k=Floor(internal=1, external=2), max_validity=60 * MINUTE, k_by_check=k_by_check),
        judging=Judging(min_coverage=LeastCoverage(internal=least, external=least)),
    )
    whole = {"chars": [0, len(text)]}

    def observed(seen: list[dict[str, Any]]) -> list[Raw | Policy]:
        subject = {"emission_id": "em-1", "span": whole}
        return [("observations", *raw_observation(1, CLASSES[0], **{**one, "subject": subject})) for one in seen]

    made = checked(1, checks, text, span=whole, kind=kind, effect=effect)
    steps: list[Step] = [
        (T, T, [*observed(early), ("emissions", *made)]),
        (T + MINUTE, T, observed(late)),
        (T + 5 * MINUTE, T + MINUTE, observed(renewing)),
    ]

    same([*steps, *LATER], rules)


@given(
    st.one_of(st.sampled_from(CHECKS), st.sampled_from(ODD_CHECKS)),
    st.sampled_from([path for path in PATHS if len(path) <= 4096]),
    st.sampled_from([(0, 0), (3, 3), (3, 9), (1, 2**31 - 1)]),
    st.one_of(st.just(""), st.text("0123456789abcdef", min_size=7, max_size=64), st.just(COMMIT)),
)
def test_a_check_in_pieces_is_the_same_check(text: str, path: str, lines: tuple[int, int], commit: str) -> None:
    """What the core puts together is what the sentence and the canonical form are when they are made at once."""
    pieces, trace = decision_json.pieces_of(text, path or None), Trace()
    shown = decision_json.shown_at([(text, Place(path, *lines, commit))])
    framed = json.loads("{" + shown.framed("replace", trace).rstrip(",") + "}")
    if pieces is None:
        assert framed == {"rendered": [], "checked": []}
        return
    name, asked, canonical, said = pieces
    assert name.decode() in (text.partition("(")[0], "unknown")
    if not said:
        return  # Python says all of it

    reported = [f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} to {lines[1]}"] if lines[0] else []
    reported += [f"commit {commit[:7]}"] if commit and not (asked and commit.startswith(asked.decode())) else []
    opened = said.decode()
    sentence = (
        f"{opened}{', '.join(reported)})." if reported else opened[:-2] + ("." if opened.endswith(" (") else ").")
    )
    more = (f',"lines":[{lines[0]},{lines[1]}]' if lines[0] else "") + (f',"commit":"{commit}"' if commit else "")
    assert framed == {
        "rendered": [json.loads(f'"{sentence}"')],
        "checked": [json.loads(f"{canonical.decode()}{more}}}")],
    }
    assert trace.meta() == Trace().meta()


_WORDS = (
    "x user system A_b.c-d a/b ./a a//b a.b/ src/x-1/y.py 0 1 12 007 1.5 -3 1e5 0x1f true None nil function section "
    "subscribers f() C::m a->b a#b = == != <= m! @x $y «z» ü x: https://x 2026-05-25 HEAD abcdef0 ABCDEF0 {} {0} "
    "a=b path=src/x.py lines=3 lines=3-9 in=f argument=4 default=none kind=method"
)
_WORD = st.sampled_from([*_WORDS.split(), "a" * 64, "a" * 65, "[a, b]", "[]", "a b", ""])
_QUOTE = st.lists(
    st.sampled_from(
        [
            *"ab ._(){}[]<>=!'`«», :;|#&%$*/\\-\"",
            "system",
            "user:",
            "<b>",
            "](",
            "[INST]",
            "()",
            " < ",
            "{0}",
            "\u200b",
            "é",
        ]
    ),
    max_size=9,
).map(lambda parts: json.dumps("".join(parts), ensure_ascii=False))
_ARGUMENT = st.one_of(
    _WORD, _QUOTE, st.tuples(st.sampled_from(["path=", "argument=", "quote=", "what="]), _QUOTE).map("".join)
)


@settings(max_examples=examples(600))
@given(
    st.sampled_from(["", "not ", "not  "]),
    st.one_of(st.sampled_from([*TABLE]), st.just("claims")),
    st.lists(_ARGUMENT, max_size=4),
    st.sampled_from([", ", ",", " , "]),
    st.one_of(st.none(), _WORD),
)
def test_a_shape_gives_the_pieces_of_each_of_its_checks(
    negated: str, name: str, arguments: list[str], between: str, path: str | None
) -> None:
    """Pieces that are filled with words are those of reading and rendering the check."""
    text = f"{negated}{name}({between.join(arguments)})"
    for told in (path, next((one.removeprefix("path=") for one in arguments if "/" in one), None)):
        assert decision_json.pieces_of(text, told) == decision_json._pieces.__wrapped__(text, told)


def test_checks_of_real_answers_have_few_shapes() -> None:
    """Of what two proposers said of real answers, four checks of five are filled in, and all come to the same."""
    corpus = Path(__file__).parents[3] / "benchmarks" / "yield" / "corpus"
    lines = [line for name in "ab" for line in (corpus / f"proposals-{name}.jsonl").read_text("utf-8").splitlines()]
    checks = [check for line in lines for check in json.loads(line)["proposal"]["checks"]]
    decision_json._pieces.cache_clear()
    for check in checks:
        found = decision_json.pieces_of(check, "src/x.py")
        assert found == decision_json._pieces.__wrapped__(check, "src/x.py")
    rendered = decision_json._pieces.cache_info()
    assert rendered.hits + rendered.misses < len(checks) / 5


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("digest", "named", "python"), [("own", "own", 0), ("other", "own", 0), ("own", "other", 2), (None, "no check", 2)]
)
def test_what_names_its_record_and_checks_is_the_cores(
    monkeypatch: pytest.MonkeyPatch,
    early: bool,
    digest: str | None,
    named: str,
    python: int,
) -> None:
    """Before and after the emission. Another record's evidence that waited, and texts that differ, Python looks at."""
    text = "First other, and more."
    left: list[int] = []
    fold_block = core.fold

    def noting(state: Any, block: Any) -> Any:
        outputs = fold_block(state, block)
        left.append(state.left_to_python)
        return outputs

    record = raw_emission(
        1,
        text=text,
        assertions=[assertion_value(text, {"substrate_class": CLASSES[0]}, checks=["equals(MAX, 1000)"])],
    )
    texts = {"own": "equals(MAX, 1000)", "other": "equals(MAX, 1001)", "no check": "…"}
    about = {"emission_id": "em-1", "span": {"chars": [0, len(text)]}}
    if digest is not None:
        about["digest"] = digest_of(record[1]) if digest == "own" else SHA
    detail = {"checks": [{"check": texts[named], "holds": True, "path": "a/b.py"}]}
    seen: list[Raw | Policy] = [
        ("observations", *raw_observation(1, cls, subject=about, verified=[0], coverage="whole", detail=detail))
        for cls in CLASSES[:2]
    ]
    emitted: Raw = ("emissions", *record)
    monkeypatch.setattr(core, "fold", noting)

    discarded = PerEffect(internal="discard", external="discard")
    # Else Python keeps what did not count.
    unreviewed = Policy(disposition=dict.fromkeys(Policy().disposition, discarded))

    found = same([(T, T, [*seen, emitted] if early else [emitted, *seen]), *LATER[:1]], unreviewed)

    admitted = digest != "other" and named != "other"
    assert [
        output.topic == "admitted" for block in found.outputs[:1] for output in block if output.topic != "verdicts"
    ] == ([True] if admitted else [])
    if fold_layout.core is not None:
        told = 1 if early and (digest == "other" or python) else 0 if early else python
        assert left[1] == told
