"""docs/checks.md: what is admitted when observers verify checks, told through `sluice fold`.

The observations are given: what makes an observer say so is tested where observers are (test_judging_observers.py).
"""

from __future__ import annotations

import json

import pytest
from fold_lines import adjudicate, at, emission, nothing_discarded, observation, review

CODE, GIT, GREP, MCP = "substrate.code.read", "substrate.git.log", "substrate.grep", "substrate.mcp.brief"
PENDING_ENDS = 600.001
CHECK = "defines(2026-05-25, section, path=CHANGELOG.md)"
OTHER = "exists(CHANGELOG.md)"
EXTERNAL = {"effect": "external"}


def saw(when, cls, verified=(0,), coverage="whole", lines=(3, 3), commit=None, check=CHECK, **fields):
    """`saw(when, class, verified=[0], …)`: an observation that verifies checks, with where it saw them hold. It names
    the first one, which is nearly always the only one."""
    decided = {"holds": True, "path": "CHANGELOG.md", "lines": list(lines)}
    if commit is not None:
        decided["commit"] = commit
    detail = {"checks": [decided | {"holds": place in verified} for place in range(20)]}
    detail["checks"][0]["check"] = check
    return observation(when, cls, verified=list(verified), coverage=coverage, detail=detail, **fields)


# ---------------------------------------------------------------- admission


def test_an_assertion_is_admitted_when_k_classes_verified_its_check():
    """Coverage, checks and their counts stand outside the frame; what was checked, and where, inside."""
    outputs = adjudicate([emission(0, checks=[CHECK]), saw(1, CODE), saw(2, GIT, lines=(3, 4), commit="4f2a91c" * 5)])

    (word,) = outputs.on("admitted")
    assert (word["status"], word["basis"], word["k"]) == ("admitted", "corroboration", 2)
    assert word["coverage"] == "whole"
    assert word["unchecked"] == []
    assert word["checks"] == [{"name": "defines", "classes": 2}]
    frame = word["_untrusted_text"]
    assert frame["checked"] == [
        {"check": CHECK, "path": "CHANGELOG.md", "lines": [3, 4], "commit": "4f2a91c" * 5}  # of what completed it
    ]
    (sentence,) = frame["rendered"]
    assert "CHANGELOG.md" in sentence
    assert "2026-05-25" in sentence
    assert frame["assertion"] == "CHANGELOG.md has an entry dated 2026-05-25."


def test_every_check_has_to_be_verified_by_k_classes():
    """Two classes that verify one check each bring nothing about; it is below the floor at the end."""
    lines = [emission(0, checks=[CHECK, OTHER]), saw(1, CODE, [0]), saw(2, GIT, [1])]

    outputs = adjudicate(lines, until=PENDING_ENDS)
    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]
    assert outputs.on("review-requests")[0]["missing_floor"] == 1

    outputs = adjudicate([*lines, saw(3, GREP, [0, 1])])
    assert outputs.words == [("admitted", "admitted", None)]
    assert outputs.on("admitted")[0]["checks"] == [{"name": "defines", "classes": 2}, {"name": "exists", "classes": 2}]


def test_evidence_that_waits_for_its_emission_is_counted_the_same():
    """What was verified before the emission came admits it on arrival."""
    outputs = adjudicate([saw(1, CODE), saw(2, GIT), emission(3, checks=[CHECK])])

    assert outputs.words == [("admitted", "admitted", None)]
    assert outputs.on("admitted")[0]["coverage"] == "whole"


def test_an_unknown_check_keeps_the_assertion_out():
    """Malformed or of a later list: the others cannot admit it, whatever an observer says of it."""
    seen = [saw(n, cls, [0, 1]) for n, cls in enumerate((CODE, GIT, GREP), 1)]
    lines = [emission(0, checks=[CHECK, "levitates(x)"]), *seen]

    assert adjudicate(lines, until=PENDING_ENDS).words == [("inadmissible", "below-floor", "below-floor")]


@pytest.mark.parametrize("fields", [{"verified": []}, {"verified": [5]}, {"verified": [0], "refuted": [0]}])
def test_an_observation_that_verifies_nothing_counts_for_nothing(fields):
    """It corroborates by its outcome alone: no check, one that is not there, or one that it refutes as well."""
    lines = [emission(0, checks=[CHECK]), saw(1, CODE), observation(2, GIT, coverage="whole", **fields)]

    outputs = adjudicate(lines, until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]
    assert outputs.on("inadmissible")[0]["classes"] == [CODE]


def test_renewal_keeps_what_was_rendered():
    """`renewed` carries the sentences of the admission; later coverage changes nothing."""
    lines = [emission(0, checks=[CHECK]), saw(1, CODE), saw(2, GIT), saw(60, CODE, coverage="part"), saw(61, GIT)]

    first, *renewed = adjudicate(lines).on("admitted")

    assert [word["status"] for word in renewed][-1] == "renewed"
    assert all(word["coverage"] == "whole" for word in renewed)
    assert all(word["_untrusted_text"]["rendered"] == first["_untrusted_text"]["rendered"] for word in renewed)


# ---------------------------------------------------------------- coverage


def part(saw, when, cls, **fields):
    return saw(when, cls, coverage="part", unchecked=[[13, 43]], **fields)


PARTS = '[judging]\nmin_coverage = { internal = "part" }\n'


def test_a_part_is_shown_as_one_where_the_policy_admits_it():
    """The prose has `[unchecked]` in place of what no check speaks of."""
    outputs = adjudicate([emission(0, checks=[CHECK]), part(saw, 1, CODE), saw(2, GIT)], PARTS)

    (word,) = outputs.on("admitted")
    assert (word["coverage"], word["unchecked"]) == ("part", [[13, 43]])
    assert word["_untrusted_text"]["assertion"] == "CHANGELOG.md [unchecked]"


def test_a_part_is_not_enough_for_external_effects():
    """Its checks stand: `below-floor`, reason `partly-checked`; the reviewer sees the whole prose."""
    lines = [emission(0, checks=[CHECK], fields=EXTERNAL), part(saw, 1, CODE), saw(2, GIT), saw(3, GREP)]

    outputs = adjudicate(lines, until=PENDING_ENDS)

    assert outputs.words == [("inadmissible", "below-floor", "partly-checked")]
    (word,) = outputs.on("inadmissible")
    assert word["coverage"] == "part"
    assert word["_untrusted_text"]["assertion"] == "CHANGELOG.md has an entry dated 2026-05-25."


def test_min_coverage_is_the_policys():
    """`whole` for internal effects asks for the whole sentence there as well; `part` for external lets parts in."""
    lines = [part(saw, 1, CODE), saw(2, GIT), saw(3, GREP)]
    whole = '[judging]\nmin_coverage = { internal = "whole", external = "whole" }\n'
    half = '[judging]\nmin_coverage = { internal = "part", external = "part" }\n'

    internal = adjudicate([emission(0, checks=[CHECK]), *lines], whole, until=PENDING_ENDS)
    external = adjudicate([emission(0, checks=[CHECK], fields=EXTERNAL), *lines], half)

    assert internal.words == [("inadmissible", "below-floor", "partly-checked")]
    assert external.words[0] == ("admitted", "admitted", None)


def test_a_hostile_span_hides_nothing_and_shows_nothing():
    """Spans out of the text, reversed or overlapping: what is told as unchecked is never shown as checked."""
    spans = [[30, 9999], [20, 5], [13, 32]]
    outputs = adjudicate(
        [emission(0, checks=[CHECK]), saw(1, CODE, coverage="part", unchecked=spans), saw(2, GIT)], PARTS
    )

    (word,) = outputs.on("admitted")
    assert word["unchecked"] == [[13, 43]]
    assert word["_untrusted_text"]["assertion"] == "CHANGELOG.md [unchecked]"


def test_a_mark_makes_no_link_of_what_stands_behind_it():
    """Else the sanitiser takes the mark away, and what was not checked stands there like what was."""
    text = "The limit is never(42) raised [at] all."
    fields = {"span": {"chars": [0, len(text)]}, "coverage": "part", "verified": [0], "unchecked": [[13, 18], [23, 29]]}
    lines = [emission(0, text=text, checks=[OTHER]), observation(1, CODE, **fields), observation(2, GIT, **fields)]

    (word,) = adjudicate(lines, PARTS).on("admitted")

    assert word["_untrusted_text"]["assertion"].count("[unchecked]") == 2


@pytest.mark.parametrize("shown", ["hashed", "omitted"])
def test_commits_leave_only_where_observation_ids_leave_in_clear(shown):
    """[S §12]: the commit that decided is the observation's id."""
    lines = [emission(0, checks=[CHECK]), saw(1, CODE, commit="4f2a91c" * 5), saw(2, GIT, commit="4f2a91c" * 5)]

    (word,) = adjudicate(lines, f'[privacy]\nobservation_ids = "{shown}"\n').on("admitted")

    assert "4f2a91c" not in json.dumps(word)
    assert word["_untrusted_text"]["checked"] == [{"check": CHECK, "path": "CHANGELOG.md", "lines": [3, 3]}]


# ---------------------------------------------------------------- words, and foreign observers


def test_words_alone_are_not_checked():
    """Only `terms-present` came: `unverified-inference`, `not-checked`; absent and unavailable change nothing."""
    seen = [observation(1, CODE, "terms-present"), observation(2, GIT, "absent"), observation(3, GREP, "unavailable")]

    after = adjudicate([emission(0), *seen], nothing_discarded, until=PENDING_ENDS)
    before = adjudicate([*seen, emission(4)], nothing_discarded, until=PENDING_ENDS + 10)

    assert after.words == before.words == [("inadmissible", "unverified-inference", "not-checked")]


def test_words_in_any_number_admit_nothing():
    """Seven classes find the words, and still nothing is admitted."""
    classes = [CODE, GIT, GREP, MCP, "substrate.fs.mtime", "substrate.do.sse-count", "substrate.unix.peercred"]
    seen = [observation(n, cls, "terms-present") for n, cls in enumerate(classes, 1)]

    assert adjudicate([emission(0), *seen], nothing_discarded, until=PENDING_ENDS).words == [
        ("inadmissible", "unverified-inference", "not-checked")
    ]


def test_a_foreign_observation_counts_in_reference_and_not_where_checks_are_required():
    """Without `verified` it is counted as before, nothing is rendered; `require_checks` counts it not at all."""
    lines = [emission(0, checks=[CHECK]), observation(1, CODE), observation(2, GIT)]

    (word,) = adjudicate(lines).on("admitted")
    assert not {"coverage", "unchecked", "checks"} & word.keys()
    assert not {"rendered", "checked"} & word["_untrusted_text"].keys()

    required = '[judging]\nrequire_checks = true\n[disposition]\nunverified-inference = "review"\n'
    assert adjudicate(lines, required, until=PENDING_ENDS).words == [
        ("inadmissible", "unverified-inference", "not-looked-at")
    ]


def test_a_review_renders_nothing():
    """A person admitted the sentence: that stands there, whole, and no check is named."""
    lines = [emission(0, checks=[CHECK]), part(saw, 1, CODE), {"at": at(601)}, review(602)]

    (word,) = adjudicate(lines).on("admitted")

    assert word["basis"] == "review"
    assert "checks" not in word
    assert word["_untrusted_text"]["assertion"] == "CHANGELOG.md has an entry dated 2026-05-25."


def test_a_judge_counts_only_where_it_is_accepted():
    """`[judging] accept` names whose word counts; the built-in checks are `checks`."""
    lines = [emission(0, checks=[CHECK]), saw(1, CODE), saw(2, GIT, judge="arbiter")]

    assert adjudicate(lines).words == []
    assert adjudicate(lines, '[judging]\naccept = ["arbiter", "checks"]\n').words == [("admitted", "admitted", None)]


# ---------------------------------------------------------------- k by check, and independence


def test_k_by_check_lowers_the_floor_of_what_one_class_decides():
    """An entry for the effect goes before that effect's k; empty in the reference profile."""
    policy = "[admissibility.k_by_check]\ncommit = { internal = 1 }\n"
    seen = saw(1, GIT, check="commit(4f2a91c)")
    lines = [emission(0, checks=["commit(4f2a91c)"]), seen]

    assert adjudicate(lines).words == []
    (word,) = adjudicate(lines, policy).on("admitted")
    assert (word["k"], word["checks"]) == (1, [{"name": "commit", "classes": 1}])
    assert adjudicate([emission(0, checks=["commit(4f2a91c)"], fields=EXTERNAL), seen], policy).words == []


def seen_in(root, content=None):
    looked = {"root": root, "path": "CHANGELOG.md"}
    return {"looked_at": looked if content is None else looked | {"content": content}}


def test_grep_and_code_read_of_one_content_count_once():
    """`same_bytes = true`; of two contents they are two kinds of evidence."""
    policy = "[judging]\nsame_bytes = true\n"
    one = [saw(1, CODE, **seen_in("a", "sha256:1")), saw(2, GREP, **seen_in("a", "sha256:1"))]
    two = [saw(1, CODE, **seen_in("a", "sha256:1")), saw(2, GREP, **seen_in("b", "sha256:2"))]

    assert adjudicate([emission(0, checks=[CHECK]), *one], policy).words == []
    assert adjudicate([emission(0, checks=[CHECK]), *two], policy).words == [("admitted", "admitted", None)]
    assert adjudicate([emission(0, checks=[CHECK]), *one]).words == [("admitted", "admitted", None)]


def test_one_root_gives_at_most_two_of_k():
    """`same_root = 2`: an external admission needs something outside the checkout."""
    policy = "[judging]\nsame_root = 2\n"
    inside = [saw(n, cls, **seen_in("a")) for n, cls in enumerate((CODE, GIT, GREP), 1)]
    lines = [emission(0, checks=[CHECK], fields=EXTERNAL), *inside]

    assert adjudicate(lines, policy).words == []
    assert adjudicate([*lines, saw(4, MCP)], policy).words == [("admitted", "admitted", None)]


def test_a_group_counts_once():
    """`groups` names classes that are one kind of evidence."""
    policy = f'[judging]\ngroups = [["{GIT}", "{GREP}"]]\n'
    lines = [emission(0, checks=[CHECK]), saw(1, GIT), saw(2, GREP)]

    assert adjudicate(lines, policy).words == []
    assert adjudicate([*lines, saw(3, CODE)], policy).words == [("admitted", "admitted", None)]


# ---------------------------------------------------------------- what strangers write


def test_nothing_hostile_in_a_check_leaves_the_frame():
    """Text that looks like a frame's end, markup, bidi and control characters stand in the frame, made inert."""
    text = '\u202e"}],"status":"admitted" <script>alert(1)</script> [x](javascript:1)'
    hostile = f"contains({json.dumps(text)}, path=CHANGELOG.md)"
    lines = [emission(0, checks=[hostile]), saw(1, CODE, check=hostile), saw(2, GIT, check=hostile)]

    (word,) = adjudicate(lines).on("admitted")

    frame = json.dumps(word.pop("_untrusted_text"), ensure_ascii=False)
    assert "<script" not in frame
    assert "](" not in frame
    assert "\u202e" not in frame
    assert "alert" not in json.dumps(word)
    assert word["checks"] == [{"name": "contains", "classes": 2}]


def test_who_names_no_root_is_of_no_other_one():
    """Evidence without a root may be of the same checkout: leaving it out makes no third kind of evidence."""
    policy = "[judging]\nsame_root = 2\n"
    inside = seen_in("a")
    for order in ((inside, inside, {}), ({}, inside, inside), ({}, {}, inside), ({}, {}, {})):
        seen = [
            saw(when, cls, **looked) for when, (cls, looked) in enumerate(zip((CODE, GIT, GREP), order, strict=True))
        ]
        assert adjudicate([emission(0, checks=[CHECK], fields=EXTERNAL), *seen], policy).words == []
    apart = [
        saw(when, cls, **seen_in(root)) for when, (cls, root) in enumerate(zip((CODE, GIT, GREP), "aab", strict=True))
    ]
    assert adjudicate([emission(0, checks=[CHECK], fields=EXTERNAL), *apart], policy).words == [
        ("admitted", "admitted", None)
    ]
    mixed = [saw(0, CODE, **seen_in("a")), saw(1, GIT, **seen_in("b")), saw(2, GREP)]
    assert adjudicate([emission(0, checks=[CHECK], fields=EXTERNAL), *mixed], policy).words == [
        ("admitted", "admitted", None)
    ]


@pytest.mark.parametrize(
    ("checks", "where"),
    [
        (["exists(a)"] * 21, "$.assertions[0].checks"),
        (["contains(" + "a" * 2000 + ")"], "$.assertions[0].checks"),
        (["exists(a)", 7], "$.assertions[0].checks"),
        ("exists(a)", "$.assertions[0].checks"),
    ],
)
def test_too_many_or_too_long_checks_are_a_schema_fault(checks, where):
    """At most 20 of at most 2,000 characters each; the record is a dead letter, and the lane goes on."""
    outputs = adjudicate([emission(0, checks=checks)])

    (letter,) = outputs.lines_on("dead-letters")
    assert letter["headers"]["sluice-reason"] == "schema"
    assert where in letter["headers"]["sluice-detail"]


def test_the_fold_does_not_depend_on_the_compiled_core(monkeypatch):
    """The same bytes with and without it, for assertions with checks beside those without."""
    lines = [
        emission(0, checks=[CHECK]),
        emission(0, "em-2"),
        saw(1, CODE),
        saw(1, CODE, emission_id="em-2", verified=[0]),
        saw(2, GIT),
        saw(3, GREP, coverage="part"),
    ]
    with_core = adjudicate(lines, until=PENDING_ENDS)
    monkeypatch.setattr("sluice.streams.adjudication.fold_layout.core", None)

    assert adjudicate(lines, until=PENDING_ENDS) == with_core
